//! Progress on standard error: a moving line and the responses so far on a terminal, a line a minute
//! elsewhere.

mod live;
mod screen;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use experiment::{Event, Segment};
use model::units::format_duration;
use model::{EndStatus, Line, Phase};
use render::format::counted;

use crate::complain;
use live::Live;
use screen::{Screen, Size, wrapped};

/// Why the first event that is lost was not written.
static EVENTS_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Why the file of events is incomplete, if it is.
pub(crate) fn events_error() -> Option<&'static io::Error> {
    EVENTS_ERROR.get()
}

/// Elsewhere than on a terminal a line says which run has begun at most this often.
const RUNS_EVERY: Duration = Duration::from_secs(60);
/// And how sure a comparison is at most this often.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

struct Active {
    begun: Instant,
    samples: u32,
    /// What of a job was done last: `user 3: compile`.
    work: Option<String>,
    phase: &'static str,
    /// What ended it, if anything did.
    death: Option<String>,
}

pub(crate) struct Progress {
    /// `None` = a line a minute, or quiet.
    screen: Option<Screen>,
    live: Live,
    quiet: bool,
    /// The file of events as JSON lines.
    events: Option<File>,
    segments: Vec<Segment>,
    /// Names of segments need their seed.
    seeded: bool,
    is_virtual: bool,
    running: BTreeMap<usize, Active>,
    done: usize,
    cached: usize,
    planned: Instant,
    /// How runs have ended otherwise than they should.
    ends: BTreeSet<String>,
    /// How sure a comparison or a search is so far.
    look: Option<String>,
    /// Whether a plan was shown.
    has_plan: bool,
    /// When the last line about a run, and about a look, was written.
    run_line: Option<Instant>,
    look_line: Instant,
}

impl Progress {
    /// A display on standard error, or none; events go to a file, too, if there is one.
    pub(crate) fn new(quiet: bool, events: Option<File>) -> Self {
        Self {
            screen: Screen::new().filter(|_| !quiet),
            live: Live::default(),
            quiet,
            events,
            segments: Vec::new(),
            seeded: false,
            is_virtual: false,
            running: BTreeMap::new(),
            done: 0,
            cached: 0,
            planned: Instant::now(),
            ends: BTreeSet::new(),
            look: None,
            has_plan: false,
            run_line: None,
            look_line: Instant::now(),
        }
    }

    /// Writes an event; a reader that went away is no reason to stop.
    fn write(&self, event: &Event<'_>) {
        if let (Some(mut file), Ok(json)) = (self.events.as_ref(), serde_json::to_string(event))
            && let Err(error) = file.write_all((json + "\n").as_bytes())
            && error.kind() != ErrorKind::BrokenPipe
        {
            let _ = EVENTS_ERROR.set(error);
        }
    }

    /// A sentence that stays, unless the user wants quiet.
    pub(crate) fn say(&self, text: &str) {
        self.write(&Event::Note { text });
        self.show_sentence(text);
    }

    /// A warning, which `--quiet` does not hide: what the user requested was not done.
    pub(crate) fn warn(&self, text: &str) {
        self.write(&Event::Note { text });
        match &self.screen {
            None if self.quiet => complain(&format!("thrashlab: {text}")),
            _ => self.show_sentence(text),
        }
    }

    fn show_sentence(&self, text: &str) {
        let text = format!("thrashlab: {text}");
        match &self.screen {
            Some(screen) => screen.say(&text),
            None if !self.quiet => complain(&text),
            None => {}
        }
    }

    pub(crate) fn on(&mut self, event: &Event<'_>) {
        self.write(event);
        match event {
            Event::Planned { segments, is_virtual } => {
                self.segments = segments.to_vec();
                self.seeded = segments.iter().any(|other| other.seed != segments[0].seed);
                self.is_virtual = *is_virtual;
                (self.done, self.cached, self.planned) = (0, 0, Instant::now());
                self.show_plan();
                self.has_plan = true;
            }
            Event::Started { index } => {
                let (begun, phase) = (Instant::now(), "starting");
                let active = Active { begun, samples: 0, work: None, phase, death: None };
                self.running.insert(*index, active);
                self.show_run(*index);
            }
            Event::Look { text } => self.show_look(text),
            Event::Line { index, line } => {
                if let (Some(_), Some(segment)) = (&self.screen, self.segments.get(*index)) {
                    self.live.on_line(*index, &segment.label, line);
                }
                self.on_line(*index, line);
            }
            Event::Note { text } => self.show_sentence(text),
            Event::Ended { index, status, path, cached } => {
                let death = self.over(*index).and_then(|active| active.death);
                self.cached += usize::from(*cached);
                let why = death.map_or_else(String::new, |cause| format!(" ({cause})"));
                let how = format!("ended as {status:?}{why}");
                // The result says at which levels; the same end is a line once.
                let kind = how.split(": ").next().unwrap_or(&how).to_owned();
                if *status != EndStatus::Complete && self.ends.insert(kind) {
                    let name = self.name(*index);
                    self.show_sentence(&format!("{name} {how}; see {}", path.display()));
                }
            }
            Event::Skipped { index, reason } => {
                self.over(*index);
                self.show_sentence(&format!("{} skipped: {reason}", self.name(*index)));
            }
            Event::Curve { row, curve, found } => {
                let row = if row.is_empty() { String::new() } else { format!("{row}: ") };
                self.show_look(&format!("{row}{}", curves::sweep_so_far(curve, found)));
            }
            Event::Likely { axis, steps, first_changed, no_change } => {
                let probabilities = steps.iter().zip(first_changed.iter());
                let best = probabilities.max_by(|(_, one), (_, other)| one.total_cmp(other));
                self.show_sentence(&match best {
                    Some((step, likely)) if likely > no_change => format!(
                        "{axis} {step} is most likely the first changed one: {:.0} %",
                        100.0 * likely
                    ),
                    _ => format!("most likely there is no change: {:.0} %", 100.0 * no_change),
                });
            }
        }
        self.redraw();
    }

    /// How many runs there are, and how long they may take; of the later batches of a search only if
    /// that is long.
    fn show_plan(&self) {
        let kind = if self.is_virtual { " of virtual time" } else { "" };
        let longest_ns: u64 = self.segments.iter().map(|segment| segment.longest_ns).sum();
        if self.has_plan && Duration::from_nanos(longest_ns) < RUNS_EVERY {
            return;
        }
        let longest = match longest_ns {
            0 => String::new(),
            ns => format!(", planned for {}{kind}", format_duration(ns)),
        };
        self.show_sentence(&format!("{}{longest}", counted(self.segments.len(), "run")));
    }

    /// Where it is, elsewhere than on a terminal.
    fn show_run(&mut self, index: usize) {
        let Some(segment) = self.segments.get(index) else { return };
        let is_due = self.run_line.is_none_or(|last| last.elapsed() >= RUNS_EVERY);
        if !is_due || self.quiet || self.screen.is_some() {
            return;
        }
        let pieces = match segment.points {
            0 => segment.unit.to_owned(),
            // Units are plurals.
            points => counted(points as usize, segment.unit.trim_end_matches('s')),
        };
        complain(&format!("{}{pieces}", self.place(index)));
        self.run_line = Some(Instant::now());
    }

    /// How sure a comparison is: in the moving line, or a line of its own from time to time.
    fn show_look(&mut self, text: &str) {
        if self.screen.is_none() && self.look_line.elapsed() >= LOOKS_EVERY {
            self.look_line = Instant::now();
            self.show_sentence(text);
        }
        self.look = Some(text.to_owned());
    }

    fn over(&mut self, index: usize) -> Option<Active> {
        self.live.over(index);
        self.done += 1;
        self.running.remove(&index)
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
                    self.show_sentence(&format!("{name} did not reach its warm state in time"));
                }
            }
            Line::Death(death) => active.death = Some(death.cause.clone()),
            Line::Sample(_) | Line::Histogram(_) => active.samples += 1,
            // A session has its commands counted instead.
            Line::Pass(_) if active.work.is_none() => active.samples += 1,
            Line::Work(work) => {
                // Points do not include what is done for the load alone.
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

    fn redraw(&mut self) {
        if self.running.is_empty() {
            return;
        }
        let Some(Size { columns, rows }) = self.screen.as_mut().and_then(Screen::size_if_due)
        else {
            return;
        };
        let Some(moving) = self.moving_line() else { return };
        let columns = columns.saturating_sub(1);
        let mut lines = wrapped(&moving, columns);
        let worst = self.live.worst().map_or_else(Vec::new, |worst| wrapped(&worst, columns));
        let room = rows.saturating_sub(1 + lines.len() + worst.len());
        lines.extend(self.live.sparklines(columns, room));
        lines.extend(worst);
        if let Some(screen) = &mut self.screen {
            screen.show(lines);
        }
    }

    /// `[3/13] largewrite: measuring, 2 of 5 points, about 6.16s left`; `None` if nothing runs.
    fn moving_line(&self) -> Option<String> {
        // The run that was started first is shown.
        let (index, active) = self.running.first_key_value()?;
        let segment = self.segments.get(*index)?;
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
            false => match self.left().map(|left| left.as_nanos() as u64) {
                None => String::new(),
                Some(0) => ", longer than planned".to_owned(),
                Some(left_ns) => format!(", about {} left", format_duration(left_ns)),
            },
        };
        let done = match segment.points {
            0 => format!("{} {}", active.samples, segment.unit),
            points => format!("{} of {points} {}", active.samples, segment.unit),
        };
        let state = match &active.work {
            Some(work) => format!("{work} ({done})"),
            None => format!("{}, {done}", active.phase),
        };
        Some(match &self.look {
            Some(look) => format!("{look} ({state})"),
            None => format!("{}{state}{others}{left}", self.place(*index)),
        })
    }

    /// The time that the rest takes at the pace so far; `None` before any guest has ended.
    fn left_by_pace(&self) -> Option<Duration> {
        let run = u32::try_from(self.done - self.cached).ok().filter(|run| *run > 0)?;
        let rest = u32::try_from(self.segments.len() - self.done).ok()?;
        Some(self.planned.elapsed() / run * rest)
    }

    /// The time that the rest takes by the times of the plan, if nothing stalls; `None` if the plan
    /// has no time for one of these runs, as for the user's own commands.
    fn left(&self) -> Option<Duration> {
        let rest = self.segments.iter().skip(self.done);
        let known_ns = rest.map(|segment| Some(segment.longest_ns).filter(|ns| *ns > 0));
        let rest_ns: u64 = known_ns.sum::<Option<u64>>()?;
        let begun = self.running.values().map(|active| active.begun.elapsed()).max();
        Some(Duration::from_nanos(rest_ns).saturating_sub(begun.unwrap_or_default()))
    }

    /// Removes the moving lines.
    pub(crate) fn finish(&mut self) {
        self.screen.iter_mut().for_each(|screen| screen.show(Vec::new()));
        if self.cached > 0 {
            let all = self.segments.len();
            self.say(&format!("{} of {all} cells were in the cache", self.cached));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moving line of the first of these runs, which began a while ago.
    fn moving_line(longest_ns: &[u64], begun_before: Duration) -> String {
        let segment = |longest_ns: &u64| Segment {
            label: "noload".to_owned(),
            seed: 1,
            points: 5,
            unit: "points",
            longest_ns: *longest_ns,
        };
        let segments: Vec<Segment> = longest_ns.iter().map(segment).collect();
        let mut progress = Progress::new(true, None);
        progress.on(&Event::Planned { segments: &segments, is_virtual: false });
        progress.on(&Event::Started { index: 0 });
        progress.running.get_mut(&0).unwrap().begun -= begun_before;
        progress.moving_line().unwrap()
    }

    #[test]
    fn only_a_run_with_a_planned_time_takes_longer_than_planned() {
        let (minute_ns, now) = (60_000_000_000, Duration::ZERO);
        let place = "[1/1] noload: starting, 0 of 5 points";
        // Nothing limits the user's own commands: neither at their start nor after hours.
        for begun_before in [now, Duration::from_secs(3)] {
            assert_eq!(moving_line(&[0], begun_before), place);
        }
        let planned = moving_line(&[minute_ns], now);
        assert!(planned.starts_with(&format!("{place}, about ")), "{planned}");
        let late = Duration::from_nanos(minute_ns + 1);
        assert_eq!(moving_line(&[minute_ns], late), format!("{place}, longer than planned"));
        // The next run has time left, and one without a planned time may take any.
        assert!(moving_line(&[minute_ns, minute_ns], late).contains("about "));
        for longest_ns in [[0, minute_ns], [minute_ns, 0]] {
            assert!(moving_line(&longest_ns, now).ends_with("points"), "{longest_ns:?}");
        }
    }
}
