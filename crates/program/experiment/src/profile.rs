//! Timing profiles: duration of a whole matrix against its precision.

use clap::Args;
use model::Timing;
use model::units::{format_duration, parse_duration_ns};

use crate::subject_arg::SubjectArg;

const SECOND_NS: u64 = 1_000_000_000;
const POINTS: u32 = 5;
/// The profiles by name: time between two intended starts, longest time to a load's warm state, and
/// longest time of one interaction, in ns.
const PROFILES: [(&str, [u64; 3]); 4] = [
    // All seven loads in less than three minutes.
    ("default", [2 * SECOND_NS, 6 * SECOND_NS, 10 * SECOND_NS]),
    // All seven loads in less than a minute.
    ("quick", [SECOND_NS * 7 / 10, 3 * SECOND_NS, 4 * SECOND_NS]),
    // For machines as slow as those of 2003, in virtual time: long enough for a disk of 100
    // requests per second, a quarter of resp1's times.
    ("slow", [5 * SECOND_NS, 90 * SECOND_NS, 120 * SECOND_NS]),
    // The times of resp1: 20 s of other work before each of five interactions.
    ("classic", [20 * SECOND_NS, 30 * SECOND_NS, 120 * SECOND_NS]),
];

/// Shortest time between two interactions, in ns.
const SMALLEST_NS: u64 = 1_000_000;
/// Longest time of one run, in ns.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// Typed changes to a profile; times in ns, `None` = the profile's.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimingChanges {
    /// Time between two interactions, such as 2s
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) interval: Option<u64>,

    /// Interactions under each load
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) points: Option<u32>,

    /// Maximum time to wait for a load to become warm
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) warmup: Option<u64>,

    /// Maximum time of one interaction; a longer one is recorded as unfinished and ends its load
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ns)]
    pub(crate) timeout: Option<u64>,
}

/// The named profile's times, else those of the subject's machine, else the default, with changes;
/// a changed one is named `custom`. Fails for an unknown profile, or a time that is too short to
/// keep or longer than a day.
pub(crate) fn timing(
    name: Option<&str>,
    subject: Option<&SubjectArg>,
    changes: &TimingChanges,
) -> Result<Timing, String> {
    let of_machine = match subject {
        Some(SubjectArg::Vm(request)) => request.profile.as_deref(),
        _ => None,
    };
    let name = name.or(of_machine).unwrap_or(PROFILES[0].0);
    let found = PROFILES.iter().find(|(known, _)| *known == name);
    let (_, [interval_ns, warmup_ns, timeout_ns]) = found.ok_or_else(|| {
        format!(
            "profile: no profile is named {name:?}; choose from default, quick, slow and classic"
        )
    })?;
    let is_changed = *changes != TimingChanges::default();
    let timing = Timing {
        profile: if is_changed { "custom" } else { name }.to_owned(),
        interval_ns: changes.interval.unwrap_or(*interval_ns),
        points: changes.points.unwrap_or(POINTS),
        warmup_ns: changes.warmup.unwrap_or(*warmup_ns),
        timeout_ns: changes.timeout.unwrap_or(*timeout_ns),
    };
    if timing.interval_ns < SMALLEST_NS || timing.timeout_ns < SMALLEST_NS {
        let least = format_duration(SMALLEST_NS);
        return Err(format!("interval and timeout are at least {least}"));
    }
    let points_ns = timing.interval_ns.saturating_mul(u64::from(timing.points));
    if [points_ns, timing.warmup_ns, timing.timeout_ns].iter().any(|time| *time > LONGEST_NS) {
        return Err("interval times points, warmup and timeout are at most a day each".to_owned());
    }
    Ok(timing)
}
