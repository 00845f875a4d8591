//! Rules: the rows of the table.

use crate::lost_time::NOTE_SHARE;
use crate::{Confidence, Family, Finding, Interval, Price, SampledCode, Scope, UnitCosts};

/// Events (pages read again, stalled allocations) per second from which a condition without a price
/// is reported: at a slow disk's 10 ms each, they take a tenth of a thread's time.
const UNPRICED_PER_S: f64 = 10.0;
/// Share of a group's loss from which it is attributed to a child group.
const BELOW_SHARE: f64 = 0.5;

/// One condition: its trigger, cost and remedy.
pub struct Rule {
    /// Name, also of its page in `docs/findings/`.
    pub name: &'static str,
    /// Kind of trouble: findings of one family may occur together.
    pub family: Family,
    /// One line for the list of rules.
    pub about: &'static str,
    /// The formula of the lost time, and the source of its terms.
    pub cost: &'static str,
    /// How to provoke it.
    pub provocation: Provocation,
    pub(crate) remedy: &'static str,
    /// The command that confirms it; `PID` is the process that lost most.
    pub(crate) confirm: &'static str,
    pub(crate) look: fn(&Interval<'_>, &UnitCosts) -> RuleResult,
}

/// How a condition is provoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provocation {
    /// By the load of this name.
    Load(&'static str),
    /// Not by thrashlab, for this reason.
    None(&'static str),
}

/// The condition, for the machine or each group or process, or why there is none.
pub(crate) type RuleResult = Result<Vec<Finding>, NoFinding>;

/// Why a rule finds nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NoFinding {
    /// What rules out the condition, with the figure.
    RuledOut(String),
    /// It cannot be judged: what is missing, and how to get it.
    Unable(String),
}

pub(crate) fn ruled_out<T>(reason: impl Into<String>) -> Result<T, NoFinding> {
    Err(NoFinding::RuledOut(reason.into()))
}

/// The condition cannot be judged, because `missing`.
pub(crate) fn unable(missing: &str) -> NoFinding {
    NoFinding::Unable(missing.to_owned())
}

impl Interval<'_> {
    /// The increase of a `/proc/vmstat` counter that the rule requires.
    pub(crate) fn needed(&self, name: &str, missing: &str) -> Result<f64, NoFinding> {
        self.vmstat(name).ok_or_else(|| unable(missing))
    }
}

impl Rule {
    /// A finding of this rule, without counters.
    pub(crate) fn finding(&self, scope: Scope, price: Price, condition: String) -> Finding {
        Finding {
            rule: self.name,
            family: self.family,
            scope,
            condition,
            price,
            confidence: Confidence { agreeing: 0, asked: 0 },
            evidence: Vec::new(),
            counterfactual: None,
            remedy: self.remedy.to_owned(),
            confirm: self.confirm.to_owned(),
            processes: Vec::new(),
            code: SampledCode::NotSampled,
        }
    }

    /// A finding about the whole machine, supported by a lost time of 1 %.
    pub(crate) fn of_machine(&self, price: Price, condition: String) -> Finding {
        self.finding(Scope::Machine, price, condition).lost_from(NOTE_SHARE)
    }

    /// The findings that cost enough to matter, each for the group that loses.
    pub(crate) fn verdict(&self, interval: &Interval<'_>, costs: &UnitCosts) -> RuleResult {
        let found = (self.look)(interval, costs)?;
        let (little, matter): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| found.price.is_negligible());
        match &little[..] {
            [little, ..] if matter.is_empty() => {
                ruled_out(format!("{}; that costs less than 1 %", little.condition))
            }
            _ => Ok(without_ancestors(matter)),
        }
    }
}

impl Finding {
    /// Without any price it counts only if every counter agrees and the events are frequent.
    pub(crate) fn if_frequent(self, interval: &Interval<'_>, events: f64) -> RuleResult {
        match &self.price {
            Price::Unknown { price_unknown: missing, at_least: None }
                if events / interval.seconds() < UNPRICED_PER_S || !self.is_unanimous() =>
            {
                Err(unable(missing))
            }
            _ => Ok(vec![self]),
        }
    }
}

/// Findings of one rule without those of groups that repeat the loss of a group below them: most
/// counters of a group include the groups below it (`Documentation/admin-guide/cgroup-v2.rst`).
fn without_ancestors(findings: Vec<Finding>) -> Vec<Finding> {
    let is_below = |path: &str, above: &str| {
        path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
    };
    // What has no price may be all of a group's loss, or none.
    let is_most_of = |below: &Finding, above: &Finding| match (below.lost(), above.lost()) {
        (Some(below), Some(above)) => below.lost_ns as f64 >= BELOW_SHARE * above.lost_ns as f64,
        (below, above) => below.is_none() && above.is_none(),
    };
    let repeats = |found: &Finding| {
        let Scope::Group(above) = &found.scope else { return false };
        findings.iter().any(|other| match &other.scope {
            Scope::Group(path) => is_below(path, above) && is_most_of(other, found),
            _ => false,
        })
    };
    findings.iter().filter(|found| !repeats(found)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LostTime, Severity};

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
            processes: Vec::new(),
            code: SampledCode::NotSampled,
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
