//! What a rule is: the row of the table.

use serde::{Deserialize, Serialize};

use crate::{Finding, Interval, UnitCosts};

/// One condition: what triggers it, what it costs, what to do.
pub struct Rule {
    /// Its name, which is also that of its page in `docs/findings/`.
    pub name: &'static str,
    /// What kind of trouble it is: findings of one family may come together.
    pub family: Family,
    /// One line for the list of rules.
    pub about: &'static str,
    /// The formula of the time lost, and where it comes from.
    pub cost: &'static str,
    /// How it is provoked.
    pub provocation: Provocation,
    /// Looks for the condition.
    pub look: fn(&Interval<'_>, &UnitCosts) -> Verdict,
}

/// Kinds of trouble. A machine with one of them may show others of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Pages are evicted and come back.
    Reclaim,
    /// Pages are written back faster than the device takes them.
    Writeback,
    /// Faults that need no device: first touches, copies, maps.
    Faults,
    /// Page tables and their copies in hardware.
    Translation,
    /// Physical memory is moved about.
    Compaction,
    /// The CPU is given to somebody else.
    Cpu,
}

/// How a condition is provoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provocation {
    /// By the load of this name.
    Load(&'static str),
    /// Not by thrashlab, for this reason.
    None(&'static str),
}

/// What a rule says of an interval.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The condition is there, once or for several control groups or processes.
    Found(Vec<Finding>),
    /// It is not there: what rules it out, with the figure.
    RuledOut(String),
    /// It cannot be told: what is missing, and how to get it.
    Unable(String),
}
