//! How a trial ended, and what that means for its values.
//!
//! One policy for everything that reads trials: comparison, attribution, sweeps and bisection.

use model::{EndStatus, Line, Run};
use serde::Serialize;

use crate::Trial;

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
    /// Whether its file has no end at all: what wrote it was killed, and nothing is known of the
    /// system.
    pub is_cut_off: bool,
}

/// What a trial is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its values count; those that are lower bounds count as such.
    Counts,
    /// It failed: that is its result. It has no values to compare, because those from before its
    /// end are not those of a whole run.
    Failed,
    /// It says nothing about the system: the user stopped it, or its file was changed or cut off.
    Excluded,
}

impl Ending {
    /// How a run ended.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let death = run.lines.iter().find_map(|line| match line {
            Line::Death(record) => Some(record.cause.clone()),
            _ => None,
        });
        let former = run.lines.iter().find_map(|line| match line {
            Line::Warning(warning) => warning.text.strip_prefix(KERNEL_DIED).map(str::to_owned),
            _ => None,
        });
        let status = match run.status() {
            EndStatus::Killed if former.is_some() => EndStatus::KernelDied,
            status => status,
        };
        let cause = death.or(former);
        let is_cut_off = run.end().is_none() && cause.is_none();
        Self { status, cause, is_cut_off }
    }

    /// Whether the run failed: it neither came to its end nor was stopped by the user.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !self.is_cut_off && !matches!(self.status, EndStatus::Complete | EndStatus::Interrupted)
    }

    /// In a few words, such as `the kernel died: BUG: …`; `None` of a complete run.
    #[must_use]
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

impl Trial {
    /// What the trial is good for.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let is_cut_off = self.ending.as_ref().is_some_and(|ending| ending.is_cut_off);
        match self.ending.as_ref().map(|ending| ending.status) {
            _ if self.is_altered || is_cut_off => Standing::Excluded,
            // What a timeout cut off is in the values, as lower bounds.
            None | Some(EndStatus::Complete | EndStatus::Timeout) => Standing::Counts,
            Some(EndStatus::Interrupted) => Standing::Excluded,
            Some(
                EndStatus::LoadDied
                | EndStatus::Killed
                | EndStatus::KernelDied
                | EndStatus::OutOfMemory,
            ) => Standing::Failed,
        }
    }

    /// Whether the trial failed, as an outcome; `None` if it says nothing about the system.
    #[must_use]
    pub fn failed(&self) -> Option<bool> {
        let is_failure = self.ending.as_ref().is_some_and(Ending::is_failure);
        (self.standing() != Standing::Excluded).then_some(is_failure)
    }

    /// How it ended unless as it should, and what else casts doubt on it.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        let altered = self.is_altered.then(|| "the file was changed after the run".to_owned());
        let ending = self.ending.as_ref().and_then(Ending::text);
        let all: Vec<String> =
            ending.into_iter().chain(altered).chain(self.problem.clone()).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}
