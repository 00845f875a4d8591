//! What the doctor says, as text, JSON and OpenMetrics.

mod costs;
mod metrics;
mod pmegs;
mod price;

use doctor::{Diagnosis, Evidence, Finding, Price, Scope, Severity};
use model::units::format_duration;
use serde_json::{Value, json};

pub use costs::{rules_text, unit_costs_text};
pub use metrics::doctor_metrics;
pub use pmegs::{pmeg_estimate_json, pmeg_estimate_text};
pub(crate) use price::{price_text, whose_time};

use crate::columns::wrapped;

/// How a diagnosis is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoctorView {
    /// The most findings that are told whole.
    pub top: usize,
    /// Whether every condition that was ruled out is told with its reason.
    pub verbose: bool,
}

/// Findings in the order of the time that they cost, what was ruled out, and what could not be
/// asked. Ends in a newline.
#[must_use]
pub fn doctor_text(found: &Diagnosis, view: DoctorView) -> String {
    let mut text = heading(found);
    for (index, finding) in found.findings.iter().take(view.top).enumerate() {
        text += &format!("\n{}", told(index + 1, finding));
    }
    let more = found.findings.len().saturating_sub(view.top);
    if more > 0 {
        text += &format!("\nand {more} more, which cost less (--top {})\n", found.findings.len());
    }
    text + &ruled_out(found, view.verbose) + &unable(found)
}

fn heading(found: &Diagnosis) -> String {
    let elapsed = format_duration(found.elapsed_ns);
    let unable = found.unable.len();
    let unpriced = |finding: &&Finding| matches!(finding.price, Price::Unknown { .. });
    let text = match (found.findings.len(), found.findings.iter().filter(unpriced).count()) {
        (0, _) if unable > 0 => {
            let asked = found.ruled_out.len() + unable;
            format!("{unable} of {asked} conditions could not be told, the others are ruled out.")
        }
        (0, _) => "nothing found that costs 1 % of anybody's time.".to_owned(),
        (1, _) => "1 finding.".to_owned(),
        (count, 0) => format!("{count} findings, the most costly first."),
        (count, _) => {
            format!("{count} findings, first those without a price, then the most costly.")
        }
    };
    format!("Over {elapsed}: {text}\n")
}

fn told(number: usize, finding: &Finding) -> String {
    let confidence = finding.confidence;
    let heading = format!(
        "{number}. {}: {}, {}: {}; {} of {} counters agree",
        finding.rule,
        severity_word(finding.severity()),
        scope_text(&finding.scope),
        price_text(&finding.price),
        confidence.agreeing,
        confidence.asked,
    );
    let mut text = wrapped(&heading, "", "   ") + &wrapped(&finding.condition, "   ", "   ");
    if let Price::Unknown { price_unknown, .. } = &finding.price {
        text += &wrapped(&format!("For a price: {price_unknown}"), "   ", "     ");
    }
    for line in &finding.evidence {
        text += &wrapped(&evidence_text(line), "     ", "       ");
    }
    for (name, value) in
        [("What if", finding.counterfactual.as_ref()), ("Remedy", Some(&finding.remedy))]
    {
        let line = |value: &String| wrapped(&format!("{name}: {value}"), "   ", "     ");
        text += &value.map_or(String::new(), line);
    }
    // Commands are copied: they have no line breaks of ours.
    text + &format!("   Confirm: {}\n", finding.confirm)
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Severe => "severe",
    }
}

/// Whom a finding affects, in words.
fn scope_text(scope: &Scope) -> String {
    match scope {
        Scope::Machine => "the whole machine".to_owned(),
        Scope::Group(path) => format!("control group {path}"),
        Scope::Process { pid, name } => format!("process {pid} ({name})"),
    }
}

fn evidence_text(line: &Evidence) -> String {
    let value = figure(line.value);
    match line.threshold {
        None => format!("{} {value}", line.counter),
        Some(least) if line.value >= least => {
            format!("{} {value} (from {})", line.counter, figure(least))
        }
        Some(least) => {
            format!("{} {value} (below {}: speaks against it)", line.counter, figure(least))
        }
    }
}

/// A figure with three significant digits, and thousands whole.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn ruled_out(found: &Diagnosis, verbose: bool) -> String {
    if found.ruled_out.is_empty() {
        return String::new();
    }
    if verbose {
        let line = |rule, reason| wrapped(&format!("{rule}: {reason}"), "  ", "    ");
        let lines = found.ruled_out.iter().map(|(rule, reason)| line(*rule, reason));
        return format!("\nRuled out:\n{}", lines.collect::<String>());
    }
    let names: Vec<&str> = found.ruled_out.iter().map(|(rule, _)| *rule).collect();
    let text = format!("Ruled out (--verbose shows why): {}.", names.join(", "));
    format!("\n{}", wrapped(&text, "", "  "))
}

fn unable(found: &Diagnosis) -> String {
    if found.unable.is_empty() {
        return String::new();
    }
    let line = |rule, reason| wrapped(&format!("{rule}: {reason}"), "  ", "    ");
    let lines = found.unable.iter().map(|it| line(it.rule, &it.reason));
    format!("\nCould not be told:\n{}", lines.collect::<String>())
}

/// The diagnosis as JSON; each finding has its severity.
#[must_use]
pub fn doctor_json(found: &Diagnosis) -> Value {
    let mut value = json!(found);
    let findings = value["findings"].as_array_mut().into_iter().flatten();
    for (json, finding) in findings.zip(&found.findings) {
        json["severity"] = json!(finding.severity());
    }
    value
}

#[cfg(test)]
pub(crate) mod tests {
    use doctor::{Confidence, Family, LostTime, Unable};

    use super::*;

    /// A group that thrashes, and everything that can be said beside it.
    pub(crate) fn thrashing() -> Diagnosis {
        let evidence = vec![
            Evidence::with_threshold("memcg/workingset_refault_file per major fault", 0.998, 0.5),
            Evidence::with_threshold("memcg/usage of limit", 0.9, 0.95),
            Evidence::plain("vmstat/pgscan_direct per s", 0.0),
        ];
        let finding = Finding {
            rule: "memcg-refault",
            family: Family::Reclaim,
            scope: Scope::Group("/a".to_owned()),
            condition: "38649 file pages were evicted and read again".to_owned(),
            price: Price::Known(LostTime::of_threads(9.62e9, 1, 10e9)),
            confidence: Confidence { agreeing: 1, asked: 2 },
            evidence,
            counterfactual: Some("with 6 MB more: -99 %".to_owned()),
            remedy: "raise the limit".to_owned(),
            confirm: "thrashlab sweep".to_owned(),
        };
        Diagnosis {
            elapsed_ns: 10_000_000_000,
            findings: vec![finding],
            ruled_out: vec![("swap-thrash", "no page was swapped in".to_owned())],
            unable: vec![Unable { rule: "steal", reason: "no /proc/stat".to_owned() }],
        }
    }

    #[test]
    fn a_finding_is_told_with_its_evidence_and_the_next_step() {
        let view = DoctorView { top: 3, verbose: true };
        insta::assert_snapshot!(doctor_text(&thrashing(), view), @r"
        Over 10.0s: 1 finding.

        1. memcg-refault: severe, control group /a: 9.62s lost (96 % of a thread's
           time); 1 of 2 counters agree
           38649 file pages were evicted and read again
             memcg/workingset_refault_file per major fault 0.998 (from 0.500)
             memcg/usage of limit 0.900 (below 0.950: speaks against it)
             vmstat/pgscan_direct per s 0
           What if: with 6 MB more: -99 %
           Remedy: raise the limit
           Confirm: thrashlab sweep

        Ruled out:
          swap-thrash: no page was swapped in

        Could not be told:
          steal: no /proc/stat
        ");
        let healthy = Diagnosis { elapsed_ns: 1_000_000_000, ..Diagnosis::default() };
        let text = doctor_text(&healthy, view);
        assert_eq!(text, "Over 1.00s: nothing found that costs 1 % of anybody's time.\n");
    }

    #[test]
    fn nothing_found_is_not_said_of_what_could_not_be_told() {
        let mut blind = thrashing();
        blind.findings.clear();
        let text = doctor_text(&blind, DoctorView::default());
        let heading = "Over 10.0s: 1 of 2 conditions could not be told, the others are ruled out.";
        assert!(text.starts_with(heading), "{text}");
        let mut unpriced = thrashing();
        let least = Some(LostTime::of_wall(1e9, 10_000_000_000));
        unpriced.findings[0].price =
            Price::Unknown { price_unknown: "no cost".to_owned(), at_least: least };
        let text = doctor_text(&unpriced, DoctorView { top: 1, verbose: false });
        assert!(text.contains("price not known, at least 1.00s"), "{text}");
        assert!(text.contains("   For a price: no cost\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn what_is_not_told_whole_is_counted() {
        let text = doctor_text(&thrashing(), DoctorView { top: 0, verbose: false });
        assert!(text.contains("and 1 more, which cost less (--top 1)"), "{text}");
        assert!(text.contains("Ruled out (--verbose shows why): swap-thrash."), "{text}");
    }

    #[test]
    fn a_finding_has_its_severity_in_json() {
        let json = doctor_json(&thrashing());
        assert_eq!(json["findings"][0]["severity"], "severe");
        assert_eq!(json["findings"][0]["scope"]["group"], "/a");
        assert_eq!(json["findings"][0]["lost_of"]["threads"], 1);
        assert_eq!(json["findings"][0]["lost_share"], 0.962);
    }
}
