//! The times of a run: a profile, and what the arguments change of it.

use anyhow::anyhow;
use experiment::{CLASSIC, DEFAULT, Profile, QUICK};
use model::Timing;
use model::units::format_duration;
use vm::VmRequest;

use crate::Failure;
use crate::args::TimingArgs;

/// Shortest time between two interactions, in ns.
const SMALLEST_NS: u64 = 1_000_000;
/// Longest time of one run, in ns.
const LONGEST_NS: u64 = 86_400_000_000_000;

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
    let mut timing = profile.timing();
    let changes = [
        (args.interval, &mut timing.interval_ns),
        (args.warmup, &mut timing.warmup_ns),
        (args.timeout, &mut timing.timeout_ns),
    ];
    let mut custom = args.points.is_some();
    for (wanted, value) in changes {
        if let Some(wanted) = wanted {
            *value = wanted;
            custom = true;
        }
    }
    timing.points = args.points.unwrap_or(timing.points);
    if custom {
        timing.profile = "custom".to_owned();
    }
    if timing.interval_ns < SMALLEST_NS || timing.timeout_ns < SMALLEST_NS {
        let least = format_duration(SMALLEST_NS);
        return Err(Failure::WrongUse(anyhow!("--interval and --timeout are at least {least}")));
    }
    let points_ns = timing.interval_ns.saturating_mul(u64::from(timing.points));
    if [points_ns, timing.warmup_ns, timing.timeout_ns].iter().any(|time| *time > LONGEST_NS) {
        return Err(Failure::WrongUse(anyhow!(
            "--interval times --points, --warmup and --timeout are at most a day each"
        )));
    }
    Ok(timing)
}
