//! A diagnosis in the text format of OpenMetrics, for the textfile collector of a node exporter.

use doctor::{Diagnosis, Finding, Scope};

use super::severity_word;

/// The diagnosis as gauges, one for each finding. Follows the OpenMetrics specification 1.0,
/// "Text format".
#[must_use]
pub fn doctor_metrics(found: &Diagnosis) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let interval =
        vec![format!("thrashlab_doctor_interval_seconds {}\n", seconds(found.elapsed_ns))];
    let of_findings = |name: &str, value: fn(&Finding) -> f64| {
        let line = |it: &Finding| format!("thrashlab_doctor_{name}{} {}\n", labels(it), value(it));
        found.findings.iter().map(line).collect::<Vec<_>>()
    };
    let unable = found
        .unable
        .iter()
        .map(|it| format!("thrashlab_doctor_rule_unable{{rule=\"{}\"}} 1\n", escaped(it.rule)));
    let families = [
        ("interval_seconds", "Length of the interval that was watched.", interval),
        (
            "lost_seconds",
            "Time lost to a condition in the interval.",
            of_findings("lost_seconds", |it| it.lost_ns as f64 / 1e9),
        ),
        (
            "lost_ratio",
            "Time lost as a share of the time of those that the condition affects.",
            of_findings("lost_ratio", |it| it.lost_share),
        ),
        ("rule_unable", "Rules that lacked a counter.", unable.collect()),
    ];
    let family = |(name, help, lines): (&str, &str, Vec<String>)| {
        let unit = match name.rsplit_once('_') {
            Some((_, unit @ ("seconds" | "ratio"))) => {
                format!("# UNIT thrashlab_doctor_{name} {unit}\n")
            }
            _ => String::new(),
        };
        format!(
            "# TYPE thrashlab_doctor_{name} gauge\n{unit}# HELP thrashlab_doctor_{name} {help}\n{}",
            lines.concat()
        )
    };
    families.into_iter().map(family).collect::<String>() + "# EOF\n"
}

fn labels(finding: &Finding) -> String {
    let (kind, name) = match &finding.scope {
        Scope::Machine => ("machine", String::new()),
        Scope::Group(path) => ("group", path.clone()),
        Scope::Process { pid, name } => ("process", format!("{pid} {name}")),
    };
    let labels = [
        ("rule", finding.rule),
        ("scope", kind),
        ("name", &name),
        ("severity", severity_word(finding.severity())),
    ];
    let pairs = labels.map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
    format!("{{{}}}", pairs.join(","))
}

/// A label's value: backslash, quote and newline are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
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
