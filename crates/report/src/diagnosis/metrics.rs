//! A diagnosis in the text format of OpenMetrics, for the textfile collector of a node exporter.

use doctor::{Diagnosis, Finding, Price, Scope};

use super::{bound_word, denominator_word, severity_word};
use crate::openmetrics::{Family, Kind, exposition};

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
    let family = |(name, help): (&str, &str)| {
        Family::new(&format!("thrashlab_doctor_{name}"), Kind::Gauge, help)
    };
    let mut families = FAMILIES.map(family);
    let [interval, lost, share, had, unpriced, unable] = &mut families;
    for (run, found) in found {
        let of_run: Vec<_> = run.map(|run| ("run", run)).into_iter().collect();
        interval.push("", &of_run, found.elapsed_ns as f64 / 1e9);
        for finding in &found.findings {
            let (kind, name) = scope(finding);
            let of_finding = [
                ("rule", finding.rule),
                ("scope", kind),
                ("name", &name),
                ("severity", severity_word(finding.severity()).0),
            ];
            let labels = [&of_run[..], &of_finding].concat();
            if matches!(finding.price, Price::Unknown { .. }) {
                unpriced.push("", &labels, 1.0);
            }
            if let Some(time) = finding.lost() {
                let of = [("of", denominator_word(&time)), ("bound", bound_word(&finding.price))];
                let labels = [&labels[..], &of].concat();
                lost.push("", &labels, time.lost_ns as f64 / 1e9);
                share.push("", &labels, time.lost_share);
                had.push("", &labels, time.lost_of_ns as f64 / 1e9);
            }
        }
        for rule in &found.unable {
            unable.push("", &[&of_run[..], &[("rule", rule.rule)]].concat(), 1.0);
        }
    }
    exposition(&families)
}

fn scope(finding: &Finding) -> (&'static str, String) {
    match &finding.scope {
        Scope::Machine => ("machine", String::new()),
        Scope::Group(path) => ("group", path.clone()),
        Scope::Process { pid, name } => ("process", format!("{pid} {name}")),
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
