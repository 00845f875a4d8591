//! Timing profiles: how long a whole matrix takes against how much it can tell.

use model::Timing;
use model::units::format_duration;

use crate::subject_arg::SubjectArg;

/// A named choice of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name in run files.
    pub name: &'static str,
    /// Time between two intended starts, in ns.
    pub interval_ns: u64,
    /// Interactions under each load.
    pub points: u32,
    /// Longest time to a load's warm state, in ns.
    pub warmup_ns: u64,
    /// Longest time of one interaction, in ns.
    pub timeout_ns: u64,
}

const SECOND_NS: u64 = 1_000_000_000;

/// All seven loads in less than three minutes.
pub const DEFAULT: Profile = Profile {
    name: "default",
    interval_ns: 2 * SECOND_NS,
    points: 5,
    warmup_ns: 6 * SECOND_NS,
    timeout_ns: 10 * SECOND_NS,
};

/// All seven loads in less than a minute.
pub const QUICK: Profile = Profile {
    name: "quick",
    interval_ns: SECOND_NS * 7 / 10,
    points: 5,
    warmup_ns: 3 * SECOND_NS,
    timeout_ns: 4 * SECOND_NS,
};

/// For machines as slow as those of 2003, in virtual time: long enough for a disk of 100 requests
/// a second, a quarter of resp1's times.
pub const SLOW: Profile = Profile {
    name: "slow",
    interval_ns: 5 * SECOND_NS,
    points: 5,
    warmup_ns: 90 * SECOND_NS,
    timeout_ns: 120 * SECOND_NS,
};

/// The times of resp1: 20 s of other work before each of five interactions.
pub const CLASSIC: Profile = Profile {
    name: "classic",
    interval_ns: 20 * SECOND_NS,
    points: 5,
    warmup_ns: 30 * SECOND_NS,
    timeout_ns: 120 * SECOND_NS,
};

/// Shortest time between two interactions, in ns.
const SMALLEST_NS: u64 = 1_000_000;
/// Longest time of one run, in ns.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// What is to be different from a profile; `None` = as the profile has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Time between two intended starts, in ns.
    pub interval_ns: Option<u64>,
    /// Interactions under each load.
    pub points: Option<u32>,
    /// Longest time to a load's warm state, in ns.
    pub warmup_ns: Option<u64>,
    /// Longest time of one interaction, in ns.
    pub timeout_ns: Option<u64>,
}

impl Profile {
    /// The profile of a name, else that of the subject's machine, else the usual one.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn chosen(name: Option<&str>, subject: Option<&SubjectArg>) -> Result<Self, String> {
        let of_machine = match subject {
            Some(SubjectArg::Vm(request)) => request.profile.as_deref(),
            _ => None,
        };
        let name = name.or(of_machine).unwrap_or(DEFAULT.name);
        [DEFAULT, QUICK, SLOW, CLASSIC].into_iter().find(|profile| profile.name == name).ok_or_else(
            || format!("profile: there is no {name:?}; there are default, quick, slow and classic"),
        )
    }

    /// The profile as the timing of a run.
    #[must_use]
    pub fn timing(&self) -> Timing {
        Timing {
            profile: self.name.to_owned(),
            interval_ns: self.interval_ns,
            points: self.points,
            warmup_ns: self.warmup_ns,
            timeout_ns: self.timeout_ns,
        }
    }

    /// The profile with changes; its name is then `custom`.
    ///
    /// # Errors
    /// When a time is too short to be kept or longer than a day.
    pub fn with(&self, changes: &Changes) -> Result<Timing, String> {
        let custom = *changes != Changes::default();
        let timing = Timing {
            profile: if custom { "custom" } else { self.name }.to_owned(),
            interval_ns: changes.interval_ns.unwrap_or(self.interval_ns),
            points: changes.points.unwrap_or(self.points),
            warmup_ns: changes.warmup_ns.unwrap_or(self.warmup_ns),
            timeout_ns: changes.timeout_ns.unwrap_or(self.timeout_ns),
        };
        if timing.interval_ns < SMALLEST_NS || timing.timeout_ns < SMALLEST_NS {
            let least = format_duration(SMALLEST_NS);
            return Err(format!("interval and timeout are at least {least}"));
        }
        let points_ns = timing.interval_ns.saturating_mul(u64::from(timing.points));
        if [points_ns, timing.warmup_ns, timing.timeout_ns].iter().any(|time| *time > LONGEST_NS) {
            return Err(
                "interval times points, warmup and timeout are at most a day each".to_owned()
            );
        }
        Ok(timing)
    }
}
