//! A diagnosis in the text format of OpenMetrics, for the textfile collector of a node exporter.

use doctor::{Diagnosis, Finding, Scope};

use super::severity_word;
use crate::openmetrics::{Family, Kind, exposition};

/// The diagnosis as gauges, one for each finding.
#[must_use]
pub fn doctor_metrics(found: &Diagnosis) -> String {
    let family = |name: &str, help: &str| {
        Family::new(&format!("thrashlab_doctor_{name}"), Kind::Gauge, help)
    };
    let mut interval = family("interval_seconds", "Length of the interval that was watched.");
    interval.push("", &[], found.elapsed_ns as f64 / 1e9);
    let mut lost = family("lost_seconds", "Time lost to a condition in the interval.");
    let mut share = family(
        "lost_ratio",
        "Time lost as a share of the time of those that the condition affects.",
    );
    for finding in &found.findings {
        let (kind, name) = scope(finding);
        let labels = [
            ("rule", finding.rule),
            ("scope", kind),
            ("name", &name),
            ("severity", severity_word(finding.severity())),
        ];
        lost.push("", &labels, finding.lost_ns as f64 / 1e9);
        share.push("", &labels, finding.lost_share);
    }
    let mut unable = family("rule_unable", "Rules that lacked a counter.");
    for rule in &found.unable {
        unable.push("", &[("rule", rule.rule)], 1.0);
    }
    exposition(&[interval, lost, share, unable])
}

/// Kind and name of what a finding is about.
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
    use crate::doctor_text::tests::thrashing;

    #[test]
    fn every_finding_is_a_gauge() {
        let mut found = thrashing();
        found.findings[0].scope = Scope::Group("/a\"b\\c".to_owned());
        insta::assert_snapshot!(doctor_metrics(&found), @r#"
        # TYPE thrashlab_doctor_interval_seconds gauge
        # UNIT thrashlab_doctor_interval_seconds seconds
        # HELP thrashlab_doctor_interval_seconds Length of the interval that was watched.
        thrashlab_doctor_interval_seconds 10
        # TYPE thrashlab_doctor_lost_seconds gauge
        # UNIT thrashlab_doctor_lost_seconds seconds
        # HELP thrashlab_doctor_lost_seconds Time lost to a condition in the interval.
        thrashlab_doctor_lost_seconds{rule="memcg-refault",scope="group",name="/a\"b\\c",severity="severe"} 9.62
        # TYPE thrashlab_doctor_lost_ratio gauge
        # UNIT thrashlab_doctor_lost_ratio ratio
        # HELP thrashlab_doctor_lost_ratio Time lost as a share of the time of those that the condition affects.
        thrashlab_doctor_lost_ratio{rule="memcg-refault",scope="group",name="/a\"b\\c",severity="severe"} 0.962
        # TYPE thrashlab_doctor_rule_unable gauge
        # HELP thrashlab_doctor_rule_unable Rules that lacked a counter.
        thrashlab_doctor_rule_unable{rule="steal"} 1
        # EOF
        "#);
    }
}
