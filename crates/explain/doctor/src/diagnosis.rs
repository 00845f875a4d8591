//! All rules over one interval.

use serde::Serialize;

use crate::rule::NoFinding;
use crate::{ALL, Finding, Interval, LeftOut, Rule, UnitCosts};

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
            // Absence shows nothing where not all could be seen.
            Err(NoFinding::RuledOut(reason))
                if left_out.hides_processes && is_of_processes(rule, interval, costs, &reason) =>
            {
                let reason = format!(
                    "{reason}, of those that this user can see: /proc hides the processes of \
                     others (hidepid); be root"
                );
                diagnosis.unable.push(Unable { rule: rule.name, reason });
            }
            Err(NoFinding::RuledOut(reason)) => diagnosis.ruled_out.push((rule.name, reason)),
            Err(NoFinding::Unable(reason)) => {
                diagnosis.unable.push(Unable { rule: rule.name, reason });
            }
        }
    }
    diagnosis.findings.sort_by_cached_key(|it| (it.rank(), it.rule, it.scope.clone()));
    diagnosis
}

/// Whether what rules out a condition is a figure of processes: without any it would be another.
fn is_of_processes(rule: &Rule, interval: &Interval<'_>, costs: &UnitCosts, reason: &str) -> bool {
    match rule.verdict(&interval.without_tasks(), costs) {
        Err(NoFinding::RuledOut(without)) => without != reason,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Second, microseconds};

    #[test]
    fn hidden_processes_rule_out_nothing() {
        let names = |hides: bool| {
            let grown = [("vmstat", "pgfault", 1000), ("vmstat", "pgalloc_normal", 1000)];
            let of_task = [
                ("task_stat", "minflt", 100),
                ("task_stat", "rss_pages", 100),
                ("task_stat", "stime_ticks", 60),
            ];
            let second = Second::of_machine(&grown).with_task(7, None, &of_task);
            let second = if hides { second.with_hidden_processes() } else { second };
            let found = diagnose(&second.interval(), &microseconds());
            let ruled_out: Vec<&str> = found.ruled_out.iter().map(|(name, _)| *name).collect();
            let unable: Vec<&str> = found.unable.iter().map(|it| it.rule).collect();
            (ruled_out.contains(&"minor-faults"), unable.contains(&"minor-faults"))
        };
        assert_eq!(names(false), (true, false));
        assert_eq!(names(true), (false, true));
    }
}
