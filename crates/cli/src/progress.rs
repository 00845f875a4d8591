//! Progress on standard error: a line that moves on a terminal, one line a load elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use experiment::{Event, Segment};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::units::format_duration;
use model::{EndStatus, Line, Phase};

use crate::complain;

/// How often the moving line is drawn at most.
const DRAWS_PER_SECOND: u8 = 5;

/// Shows what happens.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// One line a load, where there is no terminal to move a line on.
    plain: bool,
    quiet: bool,
    segments: Vec<Segment>,
    current: usize,
    begun: Instant,
    samples: u32,
    phase: &'static str,
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
            plain: !terminal && !quiet,
            quiet,
            segments: Vec::new(),
            current: 0,
            begun: Instant::now(),
            samples: 0,
            phase: "starting",
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
            Event::Planned { segments, longest_ns } => {
                self.segments = segments.to_vec();
                self.say(&format!(
                    "{} runs, at most about {}",
                    segments.len(),
                    format_duration(*longest_ns)
                ));
            }
            Event::Started { index, segment } => {
                self.current = *index;
                self.begun = Instant::now();
                self.samples = 0;
                self.phase = "starting";
                if self.plain {
                    complain(&format!("{}{} points", self.place(), segment.points));
                }
            }
            Event::Line { line } => self.on_line(line),
            Event::Ended { status, path, .. } => {
                if *status != EndStatus::Complete {
                    let name = &self.segments[self.current].load;
                    self.say(&format!("{name} ended as {status:?}; see {}", path.display()));
                }
            }
            Event::Skipped { load, reason } => self.say(&format!("{load} skipped: {reason}")),
        }
        self.redraw();
    }

    fn on_line(&mut self, line: &Line) {
        match line {
            Line::Phase(record) => {
                self.phase = match record.phase {
                    Phase::Warming => "warming up",
                    Phase::Warm => "warm",
                    Phase::NotWarm => "not warm in time",
                    Phase::Measuring => "measuring",
                    Phase::Stopped => "stopping",
                };
                if record.phase == Phase::NotWarm {
                    let name = &self.segments[self.current].load;
                    self.say(&format!("{name} did not reach its warm state in time"));
                }
            }
            Line::Sample(_) | Line::Histogram(_) => self.samples += 1,
            _ => {}
        }
    }

    /// `[3/13] largewrite: ` of the current segment.
    fn place(&self) -> String {
        let load = self.segments.get(self.current).map_or("", |segment| &segment.load);
        format!("[{}/{}] {load}: ", self.current + 1, self.segments.len())
    }

    fn redraw(&self) {
        let Some(segment) = self.segments.get(self.current) else { return };
        self.bar.set_message(format!(
            "{}{}, point {}/{}, at most {} left",
            self.place(),
            self.phase,
            self.samples,
            segment.points,
            format_duration(self.left().as_nanos() as u64)
        ));
    }

    /// The longest time that the rest may take.
    fn left(&self) -> Duration {
        let rest_ns: u64 =
            self.segments.iter().skip(self.current).map(|segment| segment.longest_ns).sum();
        Duration::from_nanos(rest_ns).saturating_sub(self.begun.elapsed())
    }

    /// Takes the moving line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
