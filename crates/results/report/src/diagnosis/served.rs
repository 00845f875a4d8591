//! Diagnoses that a collector scrapes: the same families, with a bounded number of label values.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use doctor::{ALL, Diagnosis, Finding, Scope};

use super::metrics::{Families, Loss, Time};
use formats::openmetrics::{Family, Kind, exposition};

/// A watch that repeats, and its last diagnosis.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// The diagnosis of the last interval.
    pub diagnosis: &'a Diagnosis,
    /// Its end, in ns since 1970 UTC.
    pub at_unix_ns: u64,
    /// CPU time that the watching process has used, in ns.
    pub cpu_ns: u64,
}

/// A watch as OpenMetrics, empty before the first diagnosis. For each rule the `top` most costly
/// names have samples, processes by name without number; the others are one sum (scope `rest`).
pub fn served_metrics(watch: Option<Watch<'_>>, top: usize) -> String {
    let mut families = Families::new();
    let gauge = |name, help| Family::new(name, Kind::Gauge, help);
    let mut count = gauge("thrashlab_doctor_findings", "Findings of each rule that was judged.");
    let mut left_out = gauge(
        "thrashlab_doctor_left_out",
        "Control groups and processes that were not read, to keep the watch cheap.",
    );
    let mut at = gauge(
        "thrashlab_doctor_diagnosed_timestamp_seconds",
        "End of the interval that was diagnosed last, in seconds since 1970 UTC.",
    );
    let mut cpu = Family::new(
        "thrashlab_doctor_cpu_seconds",
        Kind::Counter,
        "CPU time that the watch itself has used.",
    );
    if let Some(Watch { diagnosis, at_unix_ns, cpu_ns }) = watch {
        let losses: Vec<Loss<'_>> =
            ALL.iter().flat_map(|it| of_rule(diagnosis, it.name, top)).collect();
        families.push(&[], diagnosis, &losses);
        for rule in ALL.iter().map(|rule| rule.name) {
            if !diagnosis.unable.iter().any(|it| it.rule == rule) {
                let found = diagnosis.findings.iter().filter(|it| it.rule == rule).count();
                count.push("", &[("rule", rule)], found as f64);
            }
        }
        left_out.push("", &[("what", "groups")], diagnosis.left_out.groups as f64);
        left_out.push("", &[("what", "processes")], diagnosis.left_out.tasks as f64);
        at.push::<&str>("", &[], at_unix_ns as f64 / 1e9);
        cpu.push::<&str>("_total", &[], cpu_ns as f64 / 1e9);
    }
    let all: Vec<Family> = families.0.into_iter().chain([count, left_out, at, cpu]).collect();
    exposition(&all)
}

/// The losses of a rule: at most `top` names, and the sum of the others.
fn of_rule<'a>(found: &'a Diagnosis, rule: &str, top: usize) -> Vec<Loss<'a>> {
    let of_rule = found.findings.iter().filter(|finding| finding.rule == rule);
    let mut losses = merged(of_rule.map(nameable));
    let lost_ns = |loss: &Loss<'_>| loss.time.map_or(0, |time| time.lost_ns);
    losses.sort_by_key(|loss| (Reverse(loss.is_unpriced), Reverse(lost_ns(loss))));
    let rest = losses.split_off(top.min(losses.len()));
    let nameless = |loss| Loss { scope: "rest", name: String::new(), ..loss };
    losses.extend(merged(rest.into_iter().map(nameless)));
    losses
}

/// A finding without the number of its process, which is never the same again.
fn nameable(finding: &Finding) -> Loss<'_> {
    let loss = Loss::new(finding);
    match &finding.scope {
        Scope::Process { name, .. } => Loss { name: name.clone(), ..loss },
        _ => loss,
    }
}

/// Losses of the same labels as one.
fn merged<'a>(losses: impl Iterator<Item = Loss<'a>>) -> Vec<Loss<'a>> {
    let mut merged: BTreeMap<_, Loss<'a>> = BTreeMap::new();
    for loss in losses {
        let of = loss.time.map(|time| time.of);
        let key = (loss.scope, loss.name.clone(), of, loss.bound, loss.is_unpriced);
        match merged.get_mut(&key) {
            None => drop(merged.insert(key, loss)),
            Some(sum) => {
                sum.severity = sum.severity.max(loss.severity);
                sum.time = sum.time.zip(loss.time).map(|(one, other)| Time {
                    lost_ns: one.lost_ns.saturating_add(other.lost_ns),
                    had_ns: one.had_ns.saturating_add(other.had_ns),
                    of: one.of,
                });
            }
        }
    }
    merged.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::tests::thrashing;

    fn of(findings: usize, scope: impl Fn(usize) -> Scope) -> Diagnosis {
        let mut found = thrashing();
        let first = found.findings.remove(0);
        let all = (0..findings).map(|number| Finding { scope: scope(number), ..first.clone() });
        found.findings = all.collect();
        found
    }

    fn text(found: &Diagnosis, top: usize) -> String {
        let watch = Watch { diagnosis: found, at_unix_ns: 1_500_000_000, cpu_ns: 2_000_000 };
        served_metrics(Some(watch), top)
    }

    #[test]
    fn names_are_bounded_and_the_others_are_one_sum() {
        let found = of(100, |number| Scope::Group(format!("/{number:03}")));
        let text = text(&found, 2);
        let lost: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("thrashlab_doctor_lost_seconds{"))
            .collect();
        assert_eq!(lost.len(), 3, "{text}");
        assert!(lost[2].contains("scope=\"rest\",name=\"\""), "{}", lost[2]);
        let value: f64 = lost[2].rsplit(' ').next().unwrap().parse().unwrap();
        assert!((value - 98.0 * 9.62).abs() < 1e-6, "{value}");
        assert!(text.contains("thrashlab_doctor_findings{rule=\"memcg-refault\"} 100\n"));
        assert!(text.contains("thrashlab_doctor_findings{rule=\"swap-thrash\"} 0\n"));
        assert!(text.contains("thrashlab_doctor_cpu_seconds_total 0.002\n"), "{text}");
        assert!(text.contains("thrashlab_doctor_diagnosed_timestamp_seconds 1.5\n"), "{text}");
    }

    #[test]
    fn processes_of_one_name_are_one_sample() {
        let name = "hog".to_owned();
        let found = of(3, |pid| Scope::Process { pid: pid as u32, name: name.clone() });
        let text = text(&found, 5);
        let ratio = text.lines().filter(|line| line.starts_with("thrashlab_doctor_lost_ratio{"));
        let ratio: Vec<&str> = ratio.collect();
        assert_eq!(ratio.len(), 1, "{text}");
        assert!(ratio[0].contains("name=\"hog\"") && ratio[0].ends_with(" 0.962"), "{}", ratio[0]);
    }

    #[test]
    fn before_the_first_diagnosis_there_are_no_samples() {
        let text = served_metrics(None, 5);
        assert!(text.lines().all(|line| line.starts_with('#')) && text.ends_with("# EOF\n"));
    }
}
