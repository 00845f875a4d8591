//! The times of a run: a profile, and what the arguments change of it.

use clap::Args;
use experiment::{SubjectArg, TimingChanges};
use model::Timing;

use crate::{Failure, wrong};

#[derive(Args)]
pub(crate) struct TimingArgs {
    /// The times of resp1: 20 s intervals, five points
    #[arg(long, conflicts_with = "quick")]
    classic: bool,

    /// Less than a minute for all loads
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    changes: TimingChanges,
}

impl TimingArgs {
    pub(crate) fn timing(&self, subject: Option<&SubjectArg>) -> Result<Timing, Failure> {
        let name = match (self.classic, self.quick) {
            (true, _) => Some("classic"),
            (_, true) => Some("quick"),
            _ => None,
        };
        experiment::timing(name, subject, &self.changes).map_err(wrong)
    }
}
