//! Lost time and its denominator, without which a share means nothing.

use serde::Serialize;

/// Share of time lost from which a finding is a note.
pub(crate) const NOTE_SHARE: f64 = 0.01;
/// Share from which it is a warning, and evidence for a finding about processes.
pub(crate) const LOST_SHARE: f64 = 0.05;

/// Whose time was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Denominator {
    /// This many threads, excluding their waits for a CPU.
    Threads(u64),
    /// This many CPUs, while they were wanted.
    Cpus(u64),
    /// Wall-clock time in which at least one thread waited.
    Wall,
}

/// Lost time, at most the time of its owners.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LostTime {
    /// The time lost in ns, summed over its owners.
    pub lost_ns: u64,
    /// The time lost as a share of the owners' time (0 to 1).
    pub lost_share: f64,
    /// Whose time it was.
    pub lost_of: Denominator,
    /// Their time in ns.
    pub lost_of_ns: u64,
    /// Whether it is an upper bound.
    pub is_bound: bool,
}

impl LostTime {
    /// Time that threads lost, out of their common `of_ns`.
    pub fn of_threads(lost_ns: f64, threads: u64, of_ns: f64) -> Self {
        Self::new(lost_ns, Denominator::Threads(threads), of_ns)
    }

    /// CPU time lost while CPUs together were wanted for `of_ns`.
    pub fn of_cpus(lost_ns: f64, cpus: u64, of_ns: f64) -> Self {
        Self::new(lost_ns, Denominator::Cpus(cpus), of_ns)
    }

    /// Wall-clock time, out of an interval.
    pub fn of_wall(lost_ns: f64, interval_ns: u64) -> Self {
        Self::new(lost_ns, Denominator::Wall, interval_ns as f64)
    }

    fn new(lost_ns: f64, lost_of: Denominator, of_ns: f64) -> Self {
        let of_ns = of_ns.max(0.0);
        // `as` saturates, and NaN becomes 0.
        let (lost_ns, lost_of_ns) = (lost_ns.clamp(0.0, of_ns) as u64, of_ns as u64);
        let lost_share = if lost_of_ns == 0 { 0.0 } else { lost_ns as f64 / lost_of_ns as f64 };
        Self { lost_ns, lost_share, lost_of, lost_of_ns, is_bound: false }
    }

    /// Marks the lost time as an upper bound.
    pub fn at_most(self) -> Self {
        Self { is_bound: true, ..self }
    }
}

/// The cost of a condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Price {
    /// A value or an upper bound.
    Known(LostTime),
    /// Not measured.
    Unknown {
        /// What is missing.
        price_unknown: &'static str,
        /// A lower bound, by pressure (PSI).
        #[serde(skip_serializing_if = "Option::is_none")]
        at_least: Option<LostTime>,
    },
}

impl Price {
    /// An unknown price; a lower bound of 0 is none.
    pub(crate) fn unknown(price_unknown: &'static str, at_least: Option<LostTime>) -> Self {
        Self::Unknown { price_unknown, at_least: at_least.filter(|lost| lost.lost_ns > 0) }
    }

    /// Whether it is known to be negligible, which a lower bound cannot show.
    pub(crate) fn is_negligible(&self) -> bool {
        matches!(self, Self::Known(lost) if lost.lost_share < NOTE_SHARE)
    }

    /// The time lost, or its lower bound; `None` if neither is known.
    pub fn lost(&self) -> Option<LostTime> {
        match self {
            Self::Known(lost) => Some(*lost),
            Self::Unknown { at_least, .. } => *at_least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_those_who_lost_the_time() {
        let lost = LostTime::of_threads(6.4e9, 64, 64e9);
        assert_eq!((lost.lost_ns, lost.lost_share), (6_400_000_000, 0.1));
        assert_eq!(LostTime::of_cpus(1e9, 4, 4e9).lost_share, 0.25);
        assert_eq!(LostTime::of_wall(9e9, 2_000_000_000).lost_share, 1.0, "never more than all");
        assert_eq!(LostTime::of_wall(1.0, 0).lost_share, 0.0);
        assert_eq!(LostTime::of_threads(f64::NAN, 1, 1.0).lost_share, 0.0);
    }

    #[test]
    fn json_has_the_denominator_and_what_is_unknown_is_absent() {
        let json = |price: &Price| serde_json::to_value(price).unwrap();
        let known = json(&Price::Known(LostTime::of_threads(1e9, 4, 4e9)));
        assert_eq!((&known["lost_of"]["threads"], &known["lost_share"]), (&4.into(), &0.25.into()));
        let unknown = json(&Price::unknown("no cost", Some(LostTime::of_wall(1.0, 4))));
        assert!(unknown.get("lost_ns").is_none(), "{unknown}");
        assert_eq!(unknown["at_least"]["lost_of"], "wall");
        let nothing = json(&Price::unknown("no cost", Some(LostTime::of_wall(0.0, 4))));
        assert!(nothing.get("at_least").is_none(), "{nothing}");
    }
}
