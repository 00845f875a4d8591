//! The times of a run: a profile, and what the arguments change of it.

use anyhow::anyhow;
use experiment::{CLASSIC, Changes, DEFAULT, Profile, QUICK};
use model::Timing;
use vm::VmRequest;

use crate::Failure;
use crate::args::TimingArgs;

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
