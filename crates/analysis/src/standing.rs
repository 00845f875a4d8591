//! What a trial is good for: one policy for everything that reads trials, that is comparison,
//! attribution, sweeps and bisection.

use model::EndStatus;

use crate::{Ending, Trial};

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
