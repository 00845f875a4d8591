//! How a trial ended.

use model::{EndStatus, Line, Run};
use serde::Serialize;

/// The name of a trial's ending as a response.
pub const OUTCOME: &str = "outcome";
/// Older builds recorded the death of a guest's kernel as a warning.
const KERNEL_DIED: &str = "the guest's kernel died: ";

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// How its run ended.
    pub status: EndStatus,
    /// The cause of a failure, in one line, if known.
    pub cause: Option<String>,
    /// Whether its file is truncated, which shows nothing about the system.
    pub is_cut_off: bool,
}

impl Ending {
    /// How a run ended.
    pub fn from_run(run: &Run) -> Self {
        let mut lines = run.lines.iter();
        let former = lines.clone().find_map(|line| match line {
            Line::Warning(warning) => warning.text.strip_prefix(KERNEL_DIED),
            _ => None,
        });
        let death = lines.find_map(|line| match line {
            Line::Death(record) => Some(&*record.cause),
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

    /// A failure that another program reports.
    pub fn failed(cause: impl Into<String>) -> Self {
        Self { status: EndStatus::Failed, cause: Some(cause.into()), is_cut_off: false }
    }

    /// Whether the run failed: it was neither completed nor interrupted.
    pub fn is_failure(&self) -> bool {
        !self.is_cut_off && !matches!(self.status, EndStatus::Complete | EndStatus::Interrupted)
    }

    /// In a few words, such as `the kernel died: BUG: …`; `None` if complete.
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
            EndStatus::Failed => "the command failed",
        };
        Some(match &self.cause {
            Some(cause) => format!("{words}: {cause}"),
            None => words.to_owned(),
        })
    }
}
