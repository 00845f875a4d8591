//! All rules over one interval.

use serde::Serialize;

use crate::finding::NOTE_SHARE;
use crate::{ALL, Finding, Interval, Scope, UnitCosts, Verdict};

/// What all rules say of an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Length of the interval in ns.
    pub elapsed_ns: u64,
    /// The conditions that cost at least 1 % of somebody's time, the most costly first.
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

/// Asks all rules; findings come ranked by time lost.
#[must_use]
pub fn diagnose(interval: &Interval<'_>, costs: &UnitCosts) -> Diagnosis {
    let mut diagnosis = Diagnosis { elapsed_ns: interval.elapsed_ns(), ..Diagnosis::default() };
    for rule in ALL {
        match (rule.look)(interval, costs) {
            Verdict::Found(findings) => {
                let matter = findings.into_iter().filter(|found| found.lost_share >= NOTE_SHARE);
                diagnosis.findings.extend(without_ancestors(matter.collect()));
            }
            Verdict::RuledOut(reason) => diagnosis.ruled_out.push((rule.name, reason)),
            Verdict::Unable(reason) => diagnosis.unable.push(Unable { rule: rule.name, reason }),
        }
    }
    diagnosis.findings.sort_by(|a, b| {
        let known_first = a.is_bound.cmp(&b.is_bound);
        let most_first = known_first.then(b.lost_ns.cmp(&a.lost_ns));
        most_first.then_with(|| (a.rule, &a.scope).cmp(&(b.rule, &b.scope)))
    });
    diagnosis
}

/// From this share of a group's loss on, a group below it is the one that loses.
const BELOW_SHARE: f64 = 0.5;

/// Findings of one rule without those of groups that only repeat what a group below them loses:
/// most counters of a group are those of all groups below it too
/// (`Documentation/admin-guide/cgroup-v2.rst`).
fn without_ancestors(findings: Vec<Finding>) -> Vec<Finding> {
    let is_below = |path: &str, above: &str| {
        path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
    };
    let repeats = |found: &Finding| {
        let Scope::Group(above) = &found.scope else { return false };
        findings.iter().any(|other| match &other.scope {
            Scope::Group(path) => {
                is_below(path, above) && other.lost_ns as f64 >= BELOW_SHARE * found.lost_ns as f64
            }
            _ => false,
        })
    };
    let kept: Vec<bool> = findings.iter().map(|found| !repeats(found)).collect();
    findings.into_iter().zip(kept).filter_map(|(found, keep)| keep.then_some(found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, Family};

    fn found(path: &str, lost_ns: u64) -> Finding {
        Finding {
            rule: "a",
            family: Family::Reclaim,
            scope: Scope::Group(path.to_owned()),
            condition: String::new(),
            lost_ns,
            lost_share: 1.0,
            is_bound: false,
            confidence: Confidence { agreeing: 1, asked: 1 },
            evidence: Vec::new(),
            counterfactual: None,
            remedy: String::new(),
            confirm: String::new(),
        }
    }

    #[test]
    fn a_group_is_not_named_for_what_a_group_below_it_loses() {
        let findings = vec![found("/a", 10), found("/a/b", 9), found("/a/c", 1), found("/ab", 1)];
        let paths: Vec<_> = without_ancestors(findings).into_iter().map(|it| it.scope).collect();
        let expected = ["/a/b", "/a/c", "/ab"].map(|path| Scope::Group(path.to_owned()));
        assert_eq!(paths, expected);
        assert_eq!(without_ancestors(vec![found("/a", 10), found("/a/b", 4)]).len(), 2);
    }
}
