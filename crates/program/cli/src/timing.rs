//! The timing of a run: a profile, and the arguments that override parts of it.

use clap::Args;
use experiment::TimingChanges;

#[derive(Args)]
pub(crate) struct TimingArgs {
    /// Use the timing of resp1: 20 s intervals, five points
    #[arg(long, conflicts_with = "quick")]
    classic: bool,

    /// Use short timing: all loads in less than a minute, a command three times
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    pub(crate) changes: TimingChanges,
}

impl TimingArgs {
    pub(crate) fn is_quick(&self) -> bool {
        self.quick
    }

    pub(crate) fn profile(&self) -> Option<&'static str> {
        match (self.classic, self.quick) {
            (true, _) => Some("classic"),
            (_, true) => Some("quick"),
            _ => None,
        }
    }
}
