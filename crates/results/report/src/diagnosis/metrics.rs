//! A diagnosis in the text format of OpenMetrics, for the textfile collector of a node exporter.

use doctor::{Diagnosis, Finding, LostTime, Price, Scope, Severity};

use super::{bound_word, denominator_word, severity_word};
use formats::openmetrics::{Family, Kind, exposition};

const FAMILIES: [(&str, &str); 6] = [
    ("interval_seconds", "Length of the interval that was watched."),
    ("lost_seconds", "Time lost to a condition in the interval."),
    ("lost_ratio", "Time lost as a share of the time of those that the condition affects."),
    ("affected_seconds", "Time of those that the condition affects."),
    ("price_unknown", "Conditions found whose price is not known."),
    ("rule_unable", "Rules that lacked a counter."),
];

/// Diagnoses as gauges, one per finding, with the run as a label unless it is the running machine.
pub fn doctor_metrics(found: &[(Option<&str>, &Diagnosis)]) -> String {
    let mut families = Families::new();
    for (run, found) in found {
        let of_run: Vec<_> = run.map(|run| ("run", run)).into_iter().collect();
        families.push(&of_run, found, &found.findings.iter().map(Loss::new).collect::<Vec<_>>());
    }
    exposition(&families.0)
}

/// The families of a diagnosis.
pub(super) struct Families(pub(super) [Family; FAMILIES.len()]);

impl Families {
    pub(super) fn new() -> Self {
        Self(FAMILIES.map(|(name, help)| {
            Family::new(&format!("thrashlab_doctor_{name}"), Kind::Gauge, help)
        }))
    }

    /// Adds a diagnosis whose findings are these losses.
    pub(super) fn push(&mut self, of_run: &[(&str, &str)], found: &Diagnosis, losses: &[Loss<'_>]) {
        let [interval, lost, share, had, unpriced, unable] = &mut self.0;
        interval.push("", of_run, found.elapsed_ns as f64 / 1e9);
        for loss in losses {
            let of_finding = [
                ("rule", loss.rule),
                ("scope", loss.scope),
                ("name", &loss.name),
                ("severity", severity_word(loss.severity).0),
            ];
            let labels = [of_run, &of_finding].concat();
            if loss.is_unpriced {
                unpriced.push("", &labels, 1.0);
            }
            if let Some(time) = &loss.time {
                let labels = [&labels[..], &[("of", time.of), ("bound", loss.bound)]].concat();
                lost.push("", &labels, time.lost_ns as f64 / 1e9);
                share.push("", &labels, time.lost_ns as f64 / time.had_ns.max(1) as f64);
                had.push("", &labels, time.had_ns as f64 / 1e9);
            }
        }
        for rule in &found.unable {
            unable.push("", &[of_run, &[("rule", rule.rule)]].concat(), 1.0);
        }
    }
}

/// What one finding, or several together, lost.
#[derive(Clone, Debug)]
pub(super) struct Loss<'a> {
    pub(super) rule: &'a str,
    pub(super) scope: &'static str,
    pub(super) name: String,
    pub(super) severity: Severity,
    pub(super) is_unpriced: bool,
    pub(super) bound: &'static str,
    pub(super) time: Option<Time>,
}

/// Lost time, the time out of which it was lost, and whose that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    pub(super) lost_ns: u64,
    pub(super) had_ns: u64,
    pub(super) of: &'static str,
}

impl<'a> Loss<'a> {
    pub(super) fn new(finding: &'a Finding) -> Self {
        let (scope, name) = match &finding.scope {
            Scope::Machine => ("machine", String::new()),
            Scope::Group(path) => ("group", path.clone()),
            Scope::Process { pid, name } => ("process", format!("{pid} {name}")),
        };
        let time = |lost: LostTime| Time {
            lost_ns: lost.lost_ns,
            had_ns: lost.lost_of_ns,
            of: denominator_word(&lost),
        };
        Self {
            rule: finding.rule,
            scope,
            name,
            severity: finding.severity(),
            is_unpriced: matches!(finding.price, Price::Unknown { .. }),
            bound: bound_word(&finding.price),
            time: finding.lost().map(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::tests::thrashing;

    #[test]
    fn every_finding_is_a_gauge() {
        let mut found = thrashing();
        found.findings[0].scope = Scope::Group("/a\"b\\c".to_owned());
        insta::assert_snapshot!(doctor_metrics(&[(None, &found)]), @r#"
        # TYPE thrashlab_doctor_interval_seconds gauge
        # UNIT thrashlab_doctor_interval_seconds seconds
        # HELP thrashlab_doctor_interval_seconds Length of the interval that was watched.
        thrashlab_doctor_interval_seconds 10
        # TYPE thrashlab_doctor_lost_seconds gauge
        # UNIT thrashlab_doctor_lost_seconds seconds
        # HELP thrashlab_doctor_lost_seconds Time lost to a condition in the interval.
        thrashlab_doctor_lost_seconds{rule="memcg-refault",scope="group",name="/a\"b\\c",severity="severe",of="threads",bound="exact"} 9.62
        # TYPE thrashlab_doctor_lost_ratio gauge
        # UNIT thrashlab_doctor_lost_ratio ratio
        # HELP thrashlab_doctor_lost_ratio Time lost as a share of the time of those that the condition affects.
        thrashlab_doctor_lost_ratio{rule="memcg-refault",scope="group",name="/a\"b\\c",severity="severe",of="threads",bound="exact"} 0.962
        # TYPE thrashlab_doctor_affected_seconds gauge
        # UNIT thrashlab_doctor_affected_seconds seconds
        # HELP thrashlab_doctor_affected_seconds Time of those that the condition affects.
        thrashlab_doctor_affected_seconds{rule="memcg-refault",scope="group",name="/a\"b\\c",severity="severe",of="threads",bound="exact"} 10
        # TYPE thrashlab_doctor_price_unknown gauge
        # HELP thrashlab_doctor_price_unknown Conditions found whose price is not known.
        # TYPE thrashlab_doctor_rule_unable gauge
        # HELP thrashlab_doctor_rule_unable Rules that lacked a counter.
        thrashlab_doctor_rule_unable{rule="steal"} 1
        # EOF
        "#);
    }

    #[test]
    fn runs_are_told_apart_and_each_family_stands_once() {
        let found = thrashing();
        let text = doctor_metrics(&[(Some("a.run.jsonl"), &found), (Some("b.run.jsonl"), &found)]);
        assert_eq!(text.matches("# TYPE thrashlab_doctor_lost_seconds gauge").count(), 1);
        assert_eq!(text.matches("# EOF").count(), 1);
        for run in ["a", "b"] {
            let line = format!("thrashlab_doctor_interval_seconds{{run=\"{run}.run.jsonl\"}} 10");
            assert!(text.contains(&line), "{text}");
            let line = format!("thrashlab_doctor_lost_seconds{{run=\"{run}.run.jsonl\",rule=");
            assert!(text.contains(&line), "{text}");
        }
    }
}
