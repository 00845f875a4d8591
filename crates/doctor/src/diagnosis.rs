//! All rules over one interval.

use serde::Serialize;

use crate::rule::NoFinding;
use crate::{ALL, Finding, Interval, LeftOut, UnitCosts};

/// The results of all rules for an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Length of the interval in ns.
    pub elapsed_ns: u64,
    /// What was not read.
    #[serde(skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
    /// Conditions that cost at least 1 % of the time of those affected, by [`Finding::rank`].
    pub findings: Vec<Finding>,
    /// Rules whose condition is absent, with the reason.
    pub ruled_out: Vec<(&'static str, String)>,
    /// Rules that could not be judged.
    pub unable: Vec<Unable>,
}

/// A rule that could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unable {
    /// Name of the rule.
    pub rule: &'static str,
    /// What is missing, and how to get it.
    pub reason: String,
}

/// Applies all rules.
pub fn diagnose(interval: &Interval<'_>, costs: &UnitCosts) -> Diagnosis {
    let (elapsed_ns, left_out) = (interval.elapsed_ns(), interval.left_out());
    let mut diagnosis = Diagnosis { elapsed_ns, left_out, ..Diagnosis::default() };
    for rule in ALL {
        match rule.verdict(interval, costs) {
            Ok(findings) => diagnosis.findings.extend(findings),
            Err(NoFinding::RuledOut(reason)) => diagnosis.ruled_out.push((rule.name, reason)),
            Err(NoFinding::Unable(reason)) => {
                diagnosis.unable.push(Unable { rule: rule.name, reason });
            }
        }
    }
    diagnosis.findings.sort_by_cached_key(|it| (it.rank(), it.rule, it.scope.clone()));
    diagnosis
}
