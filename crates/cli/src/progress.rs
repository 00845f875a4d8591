//! Progress on standard error: a line that moves on a terminal with the responses so far below it,
//! one line a load elsewhere.

mod live;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use experiment::{Event, Segment};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::units::format_duration;
use model::{EndStatus, Line, Phase};

use crate::complain;
use live::Live;

/// How often the moving line is drawn at most.
const DRAWS_PER_SECOND: u8 = 5;

/// A segment that runs.
struct Active {
    begun: Instant,
    samples: u32,
    /// What of a job was done last: `user 3: compile`.
    work: Option<String>,
    phase: &'static str,
}

/// Shows what happens.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The responses so far, where there is a terminal to show them on.
    live: Option<Live>,
    /// One line a load, where there is no terminal to move a line on.
    plain: bool,
    quiet: bool,
    segments: Vec<Segment>,
    /// Several seeds: the name of a segment needs its own.
    seeded: bool,
    is_virtual: bool,
    running: BTreeMap<usize, Active>,
    done: usize,
    cached: usize,
    /// When the segments were planned.
    planned: Instant,
}

impl Progress {
    /// A display on standard error, or none.
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal && !quiet {
            ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        // The template has no field that could be unknown.
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            live: (terminal && !quiet).then(Live::default),
            plain: !terminal && !quiet,
            quiet,
            segments: Vec::new(),
            seeded: false,
            is_virtual: false,
            running: BTreeMap::new(),
            done: 0,
            cached: 0,
            planned: Instant::now(),
        }
    }

    /// A sentence that stays, unless the user wants quiet.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| complain(&format!("thrashlab: {text}")));
        }
    }

    /// Shows an event.
    pub(crate) fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned { segments, longest_ns, is_virtual } => {
                self.segments = segments.to_vec();
                self.seeded = segments.iter().any(|other| other.seed != segments[0].seed);
                self.is_virtual = *is_virtual;
                (self.done, self.cached, self.planned) = (0, 0, Instant::now());
                let kind = if *is_virtual { " of virtual time" } else { "" };
                let longest = match longest_ns {
                    0 => String::new(),
                    ns => format!(", at most about {}{kind}", format_duration(*ns)),
                };
                self.say(&format!("{} runs{longest}", segments.len()));
            }
            Event::Started { index, segment } => {
                let begun = Instant::now();
                self.running
                    .insert(*index, Active { begun, samples: 0, work: None, phase: "starting" });
                if self.plain {
                    let pieces = match segment.points {
                        0 => String::new(),
                        points => format!("{points} "),
                    };
                    complain(&format!("{}{pieces}{}", self.place(*index), segment.unit));
                }
            }
            Event::Line { index, line } => {
                if let (Some(live), Some(segment)) = (&mut self.live, self.segments.get(*index)) {
                    live.on_line(*index, &segment.label, line);
                }
                self.on_line(*index, line);
            }
            Event::Note { text } => self.say(text),
            Event::Ended { index, status, path, cached } => {
                self.over(*index);
                self.cached += usize::from(*cached);
                if *status != EndStatus::Complete {
                    let name = self.name(*index);
                    self.say(&format!("{name} ended as {status:?}; see {}", path.display()));
                }
            }
            Event::Skipped { index, reason } => {
                self.over(*index);
                self.say(&format!("{} skipped: {reason}", self.name(*index)));
            }
        }
        self.redraw();
    }

    fn over(&mut self, index: usize) {
        self.running.remove(&index);
        if let Some(live) = &mut self.live {
            live.over(index);
        }
        self.done += 1;
    }

    fn on_line(&mut self, index: usize, line: &Line) {
        let Some(active) = self.running.get_mut(&index) else { return };
        match line {
            Line::Phase(record) => {
                active.phase = match record.phase {
                    Phase::Warming => "warming up",
                    Phase::Warm => "warm",
                    Phase::NotWarm => "not warm in time",
                    Phase::Measuring => "measuring",
                    Phase::Stopped => "stopping",
                };
                if record.phase == Phase::NotWarm {
                    let name = self.name(index);
                    self.say(&format!("{name} did not reach its warm state in time"));
                }
            }
            Line::Sample(_) | Line::Histogram(_) => active.samples += 1,
            // A session has its commands counted instead.
            Line::Pass(_) if active.work.is_none() => active.samples += 1,
            Line::Work(work) => {
                // What is done for the load's sake alone is not of the points.
                active.samples += u32::from(work.pass == 0);
                active.work = Some(format!("user {}: {}", work.worker, work.item));
            }
            Line::Pass(pass) if active.work.is_none() || active.samples == 0 => {
                active.work = Some(format!("pass {}", pass.pass + 1));
            }
            _ => {}
        }
    }

    /// `largewrite`, with its seed where there are several.
    fn name(&self, index: usize) -> String {
        let Some(segment) = self.segments.get(index) else { return String::new() };
        match self.seeded {
            true => format!("{} (seed {})", segment.label, segment.seed),
            false => segment.label.clone(),
        }
    }

    /// `[3/13] largewrite: ` of a segment.
    fn place(&self, index: usize) -> String {
        format!("[{}/{}] {}: ", index + 1, self.segments.len(), self.name(index))
    }

    fn redraw(&self) {
        // Of several, the one that was started first.
        let Some((index, active)) = self.running.first_key_value() else { return };
        let Some(segment) = self.segments.get(*index) else { return };
        let others = match self.running.len() {
            0 | 1 => String::new(),
            running => format!(", {running} at a time"),
        };
        let left = match self.is_virtual {
            true => {
                let about = self.left_by_pace().map_or_else(String::new, |left| {
                    format!(", about {} left", format_duration(left.as_nanos() as u64))
                });
                format!(", {} of {} done{about}", self.done, self.segments.len())
            }
            false => format!(", at most {} left", format_duration(self.left().as_nanos() as u64)),
        };
        let done = match segment.points {
            0 => format!("{} {}", active.samples, segment.unit),
            points => format!("{} of {points} {}", active.samples, segment.unit),
        };
        let state = match &active.work {
            Some(work) => format!("{work} ({done})"),
            None => format!("{}, {done}", active.phase),
        };
        let line = format!("{}{state}{others}{left}", self.place(*index));
        let below = self.live.iter().flat_map(Live::lines);
        self.bar.set_message(std::iter::once(line).chain(below).collect::<Vec<_>>().join("\n"));
    }

    /// The time that the rest takes at the pace so far; `None` before any guest has run to its end.
    /// How long virtual time takes depends on what is done in it.
    fn left_by_pace(&self) -> Option<Duration> {
        let run = u32::try_from(self.done - self.cached).ok().filter(|run| *run > 0)?;
        let rest = u32::try_from(self.segments.len() - self.done).ok()?;
        Some(self.planned.elapsed() / run * rest)
    }

    /// The longest time that the rest may take, by the times of the plan.
    fn left(&self) -> Duration {
        let rest_ns: u64 =
            self.segments.iter().skip(self.done).map(|segment| segment.longest_ns).sum();
        let begun = self.running.values().map(|active| active.begun.elapsed()).max();
        Duration::from_nanos(rest_ns).saturating_sub(begun.unwrap_or_default())
    }

    /// Takes the moving line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
        if self.cached > 0 {
            let all = self.segments.len();
            self.say(&format!("{} of {all} cells were in the cache", self.cached));
        }
    }
}
