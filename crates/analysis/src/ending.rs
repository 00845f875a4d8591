//! How a trial ended.

use model::{EndStatus, Line, Run};
use serde::Serialize;

/// The name by which the way a trial ended is asked for as a response.
pub const OUTCOME: &str = "outcome";
/// How older builds wrote the death of a guest's kernel: as a warning.
const KERNEL_DIED: &str = "the guest's kernel died: ";

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// How its run ended.
    pub status: EndStatus,
    /// What it died of, in one line, if that is known.
    pub cause: Option<String>,
    /// Whether its file has no end at all, so that nothing is known of the system.
    pub is_cut_off: bool,
}

impl Ending {
    /// How a run ended.
    pub fn of(run: &Run) -> Self {
        let find = |cause: fn(&Line) -> Option<&str>| run.lines.iter().find_map(cause);
        let death = find(|line| match line {
            Line::Death(record) => Some(&record.cause),
            _ => None,
        });
        let former = find(|line| match line {
            Line::Warning(warning) => warning.text.strip_prefix(KERNEL_DIED),
            _ => None,
        });
        let status = match run.status() {
            EndStatus::Killed if former.is_some() => EndStatus::KernelDied,
            status => status,
        };
        let cause = death.or(former).map(str::to_owned);
        let is_cut_off = run.end().is_none() && cause.is_none();
        Self { status, cause, is_cut_off }
    }

    /// Whether the run failed: it neither came to its end nor was stopped by the user.
    pub fn is_failure(&self) -> bool {
        !self.is_cut_off && !matches!(self.status, EndStatus::Complete | EndStatus::Interrupted)
    }

    /// In a few words, such as `the kernel died: BUG: …`; `None` of a complete run.
    pub fn text(&self) -> Option<String> {
        let words = match self.status {
            EndStatus::Complete => return None,
            _ if self.is_cut_off => "cut off before its end",
            EndStatus::Interrupted => "interrupted",
            EndStatus::Timeout => "ended by a timeout",
            EndStatus::LoadDied => "its load died",
            EndStatus::Killed => "killed",
            EndStatus::KernelDied => "the kernel died",
            EndStatus::OutOfMemory => "out of memory",
        };
        Some(match &self.cause {
            Some(cause) => format!("{words}: {cause}"),
            None => words.to_owned(),
        })
    }
}
