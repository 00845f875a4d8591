//! What a rule is: the row of the table.

use crate::{Family, Finding, Interval, Price, UnitCosts};

/// From so many events a second on (pages that are read again, allocations that stall) a condition
/// is found even if its price is unknown: at a disk's slowest, 10 ms each, they take a tenth of a
/// thread's time.
const UNPRICED_PER_S: f64 = 10.0;

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

impl Finding {
    /// Found; but without any price only if every counter speaks for it and it comes often enough,
    /// else it cannot be told.
    pub(crate) fn verdict(self, interval: &Interval<'_>, events: f64) -> Verdict {
        let per_s = events * 1e9 / interval.elapsed_ns().max(1) as f64;
        match &self.price {
            Price::Unknown { price_unknown, at_least: None }
                if per_s < UNPRICED_PER_S || !self.confidence.is_unanimous() =>
            {
                Verdict::Unable(price_unknown.clone())
            }
            _ => Verdict::Found(vec![self]),
        }
    }
}
