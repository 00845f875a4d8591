//! The times of a run: a profile, and what the arguments change of it.

use anyhow::anyhow;
use clap::Args;
use experiment::{CLASSIC, Changes, Profile, QUICK, SubjectArg};
use model::Timing;
use model::units::parse_duration_ns;

use crate::Failure;

/// When interactions start and how long anything may take.
#[derive(Args)]
pub(crate) struct TimingArgs {
    /// The times of resp1: 20 s intervals, five points
    #[arg(long, conflicts_with = "quick")]
    pub(crate) classic: bool,

    /// Less than a minute for all loads
    #[arg(long)]
    pub(crate) quick: bool,

    /// Time between two interactions, such as 2s
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) interval: Option<u64>,

    /// Interactions under each load
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) points: Option<u32>,

    /// Longest wait for a load to become warm
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) warmup: Option<u64>,

    /// Longest time of one interaction; a longer one is kept as unfinished and ends its load
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) timeout: Option<u64>,
}

impl TimingArgs {
    /// The times that the arguments ask for, on top of the profile that suits the subject.
    pub(crate) fn timing(&self, subject: Option<&SubjectArg>) -> Result<Timing, Failure> {
        let name = match (self.classic, self.quick) {
            (true, _) => Some(CLASSIC.name),
            (_, true) => Some(QUICK.name),
            _ => None,
        };
        let changes = Changes {
            interval_ns: self.interval,
            points: self.points,
            warmup_ns: self.warmup,
            timeout_ns: self.timeout,
        };
        let timing = Profile::chosen(name, subject).and_then(|profile| profile.with(&changes));
        timing.map_err(|why| Failure::WrongUse(anyhow!(why)))
    }
}
