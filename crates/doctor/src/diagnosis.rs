//! All rules over one interval.

use serde::Serialize;

use crate::{ALL, Finding, Interval, Scope, UnitCosts, Verdict};

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

/// Asks all rules; findings come ranked by [`Finding::rank`].
#[must_use]
pub fn diagnose(interval: &Interval<'_>, costs: &UnitCosts) -> Diagnosis {
    let mut diagnosis = Diagnosis { elapsed_ns: interval.elapsed_ns(), ..Diagnosis::default() };
    for rule in ALL {
        match (rule.look)(interval, costs) {
            Verdict::Found(findings) => {
                let matter: Vec<Finding> =
                    findings.into_iter().filter(|found| !found.price.is_negligible()).collect();
                if matter.is_empty() {
                    diagnosis.ruled_out.push((rule.name, NEGLIGIBLE.to_owned()));
                }
                diagnosis.findings.extend(without_ancestors(matter));
            }
            Verdict::RuledOut(reason) => diagnosis.ruled_out.push((rule.name, reason)),
            Verdict::Unable(reason) => diagnosis.unable.push(Unable { rule: rule.name, reason }),
        }
    }
    diagnosis.findings.sort_by(|a, b| {
        a.rank().cmp(&b.rank()).then_with(|| (a.rule, &a.scope).cmp(&(b.rule, &b.scope)))
    });
    diagnosis
}

/// Why a rule is ruled out of which all that was found is too little to matter.
const NEGLIGIBLE: &str = "what there is of it costs less than 1 % of the time";

/// From this share of a group's loss on, a group below it is the one that loses.
const BELOW_SHARE: f64 = 0.5;

/// Findings of one rule without those of groups that only repeat what a group below them loses:
/// most counters of a group are those of all groups below it too
/// (`Documentation/admin-guide/cgroup-v2.rst`).
fn without_ancestors(findings: Vec<Finding>) -> Vec<Finding> {
    let is_below = |path: &str, above: &str| {
        path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
    };
    // What has no price may be all of a group's loss, or none of it.
    let is_most_of = |below: &Finding, above: &Finding| match (below.lost(), above.lost()) {
        (Some(below), Some(above)) => {
            below.lost_ns() as f64 >= BELOW_SHARE * above.lost_ns() as f64
        }
        (below, above) => below.is_none() && above.is_none(),
    };
    let repeats = |found: &Finding| {
        let Scope::Group(above) = &found.scope else { return false };
        findings.iter().any(|other| match &other.scope {
            Scope::Group(path) => is_below(path, above) && is_most_of(other, found),
            _ => false,
        })
    };
    let kept: Vec<bool> = findings.iter().map(|found| !repeats(found)).collect();
    findings.into_iter().zip(kept).filter_map(|(found, keep)| keep.then_some(found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, Family, LostTime, Price, Severity};

    fn found(path: &str, lost_ns: u64) -> Finding {
        Finding {
            rule: "a",
            family: Family::Reclaim,
            scope: Scope::Group(path.to_owned()),
            condition: String::new(),
            price: Price::Known(LostTime::of_wall(lost_ns as f64, lost_ns)),
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
        // What has no price may be larger than all that has one.
        let unknown = Finding { price: Price::unknown("no cost", None), ..found("/a", 0) };
        assert_eq!(without_ancestors(vec![unknown, found("/a/b", 9)]).len(), 2);
    }

    #[test]
    fn what_has_no_price_stands_first_and_upper_bounds_last() {
        let priced = |path, price| Finding { price, ..found(path, 0) };
        let known = |ns| LostTime::of_wall(ns, 100);
        let mut findings = [
            priced("/bound", Price::Known(known(90.0).at_most())),
            priced("/little", Price::Known(known(5.0))),
            priced("/much", Price::Known(known(50.0))),
            priced("/none", Price::unknown("no cost", None)),
            priced("/least", Price::unknown("no cost", Some(known(2.0)))),
        ];
        findings.sort_by_key(Finding::rank);
        let ranked = ["/least", "/none", "/much", "/little", "/bound"];
        assert_eq!(
            findings.iter().map(|found| found.scope.clone()).collect::<Vec<_>>(),
            ranked.map(|path| Scope::Group(path.to_owned()))
        );
        let severities: Vec<Severity> = findings.iter().map(Finding::severity).collect();
        let [note, warning, severe] = [Severity::Note, Severity::Warning, Severity::Severe];
        assert_eq!(severities, [warning, warning, severe, warning, note]);
    }
}
