//! The times of a run: a profile, and what the arguments change of it.

use anyhow::anyhow;
use clap::Args;
use experiment::{CLASSIC, Changes, DEFAULT, Profile, QUICK};
use model::Timing;
use model::units::parse_duration_ns;
use vm::VmRequest;

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

/// The profile that suits a machine.
pub(crate) fn of_machine(request: &VmRequest) -> Result<Profile, Failure> {
    let name = request.profile.as_deref().unwrap_or(DEFAULT.name);
    Profile::of_name(name)
        .ok_or_else(|| Failure::WrongUse(anyhow!("the machine's profile {name:?} is unknown")))
}

/// The times that the arguments ask for, on top of a profile.
pub(crate) fn timing(args: &TimingArgs, profile: Profile) -> Result<Timing, Failure> {
    let profile = match (args.classic, args.quick) {
        (true, _) => CLASSIC,
        (_, true) => QUICK,
        _ => profile,
    };
    let changes = Changes {
        interval_ns: args.interval,
        points: args.points,
        warmup_ns: args.warmup,
        timeout_ns: args.timeout,
    };
    profile.with(&changes).map_err(|why| Failure::WrongUse(anyhow!("{why}")))
}
