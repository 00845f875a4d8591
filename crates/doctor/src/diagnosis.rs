//! All rules over one interval.

use serde::Serialize;

use crate::rule::NoFinding;
use crate::{ALL, Finding, Interval, UnitCosts};

/// What all rules say of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Length of the interval in ns.
    pub elapsed_ns: u64,
    /// The conditions that cost at least 1 % of the time of those whom they affect: first those
    /// whose price is not known, then the most costly, then those of which only an upper bound is
    /// known.
    pub findings: Vec<Finding>,
    /// The conditions that are not there: rule and reason.
    pub ruled_out: Vec<(&'static str, String)>,
    /// Rules that could not be asked.
    pub unable: Vec<Unable>,
}

/// A rule that could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unable {
    /// Name of the rule.
    pub rule: &'static str,
    /// What is missing, and how to get it.
    pub reason: String,
}

/// Asks all rules; findings come ranked: those without a price first, upper bounds last, and among
/// them by the time lost.
pub fn diagnose(interval: &Interval<'_>, costs: &UnitCosts) -> Diagnosis {
    let mut diagnosis = Diagnosis { elapsed_ns: interval.elapsed_ns(), ..Diagnosis::default() };
    for rule in ALL {
        match rule.verdict(interval, costs) {
            Ok(findings) => diagnosis.findings.extend(findings),
            Err(NoFinding::RuledOut(reason)) => diagnosis.ruled_out.push((rule.name, reason)),
            Err(NoFinding::Unable(reason)) => {
                diagnosis.unable.push(Unable { rule: rule.name, reason });
            }
        }
    }
    diagnosis.findings.sort_by(|a, b| {
        a.rank().cmp(&b.rank()).then_with(|| (a.rule, &a.scope).cmp(&(b.rule, &b.scope)))
    });
    diagnosis
}
