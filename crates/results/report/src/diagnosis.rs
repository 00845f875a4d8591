//! Diagnoses as documents, JSON and OpenMetrics.

mod brief;
mod costs;
mod growth;
mod metrics;
mod served;
mod waited;

use doctor::{
    Activity, COMMAND, Code, Denominator, Diagnosis, Finding, LeftOut, LostTime, Price,
    SampledCode, Scope, Severity,
};
use model::units::format_duration;
use render::{Block, Cell, Document, Section, Table, Tone, Verdict};
use serde_json::{Value, json};

use crate::figures::in_percent;

pub use costs::{pmeg_estimate_document, rules_document, unit_costs_document};
pub use growth::growth_section;
pub use metrics::doctor_metrics;
pub use served::{Watch, served_metrics};
pub use waited::waited_section;

/// The `top` findings by time lost, and the conditions that were ruled out or could not be judged.
pub fn doctor_document(found: &Diagnosis, top: usize, verbose: bool) -> Document<'_> {
    let findings = found.findings.iter().take(top).enumerate();
    let mut sections: Vec<Section> =
        findings.map(|(index, finding)| section(index + 1, finding)).collect();
    if !found.ruled_out.is_empty() {
        let lines = found.ruled_out.iter().map(|(rule, reason)| format!("{rule}: {reason}"));
        let names: Vec<&str> = found.ruled_out.iter().map(|(rule, _)| *rule).collect();
        let block = match verbose {
            true => Block::Notes(lines.collect()),
            false => format!("{}. --verbose shows why.", names.join(", ")).into(),
        };
        sections.push(Section::new("ruled-out", "Ruled out", vec![block]));
    }
    if !found.unable.is_empty() {
        let lines = found.unable.iter().map(|it| format!("{}: {}", it.rule, it.reason)).collect();
        sections.push(Section::new("unable", "Could not be judged", vec![Block::Notes(lines)]));
    }
    let LeftOut { groups, tasks, hides_processes } = found.left_out;
    if hides_processes {
        let text = "This user cannot see the processes of others: /proc hides them (hidepid). \
                    Losses of theirs are not in the findings; be root.";
        sections.push(Section::new("hidden", "Hidden", vec![text.to_owned().into()]));
    }
    if groups > 0 || tasks > 0 {
        let text = format!(
            "To stay cheap it left out the least active: {groups} control groups and {tasks} \
             processes. Losses of theirs are not in the findings."
        );
        sections.push(Section::new("left-out", "Not read", vec![text.into()]));
    }
    let brief = (!verbose).then(|| Box::new(brief::brief(found, top)));
    Document { verdicts: vec![heading(found, top)], sections, brief, ..Document::default() }
        .with_data(doctor_json(found))
}

fn heading(found: &Diagnosis, top: usize) -> Verdict {
    let (count, unable) = (found.findings.len(), found.unable.len());
    let is_unpriced = |finding: &Finding| matches!(finding.price, Price::Unknown { .. });
    let text = match count {
        0 if unable > 0 => {
            let asked = found.ruled_out.len() + unable;
            format!("{unable} of {asked} conditions could not be judged, the others are ruled out.")
        }
        0 => "nothing found that costs 1 % of the time of any thread or CPU.".to_owned(),
        1 => "1 finding.".to_owned(),
        _ if found.findings.iter().any(is_unpriced) => {
            format!("{count} findings, first those without a price, then the most costly.")
        }
        _ => format!("{count} findings, the most costly first."),
    };
    let hidden = (count > top).then(|| format!(" --top {count} shows those that cost less, too."));
    let tone = match found.findings.iter().map(Finding::severity).max() {
        None if unable > 0 => Tone::Unknown,
        None => Tone::Good,
        Some(Severity::Note) => Tone::Doubtful,
        Some(Severity::Warning | Severity::Severe) => Tone::Bad,
    };
    let elapsed = format_duration(found.elapsed_ns);
    Verdict { text: format!("Over {elapsed}: {text}{}", hidden.unwrap_or_default()), tone }
}

fn section(number: usize, finding: &Finding) -> Section {
    let Finding { confidence, .. } = finding;
    let title = format!("{number}. {}", brief::title(finding, usize::MAX));
    let price = price_text(&finding.price);
    let mut notes = vec![
        finding.condition.clone(),
        format!("{price}; {} of {} counters agree", confidence.agreeing, confidence.asked),
    ];
    if let Price::Unknown { price_unknown, .. } = &finding.price {
        notes.push(format!("For a price: {price_unknown}"));
    }
    notes.extend(code_lines(&finding.code));
    let what_if = finding.counterfactual.iter().map(|text| format!("What if: {text}"));
    let advice = what_if.chain([format!("Remedy: {}", finding.remedy), "Confirm:".to_owned()]);
    let evidence = finding.evidence.iter().map(|line| {
        let agrees =
            line.threshold.map_or("", |least| if line.value >= least { "yes" } else { "no" });
        let [value, least] = [Some(line.value), line.threshold].map(|it| it.map(figure));
        [Cell::from(&line.counter), Cell::figure(value), Cell::figure(least), agrees.into()]
    });
    let blocks = vec![
        Block::Notes(notes),
        Table::of("", ["counter", "value", "from", "agrees"], evidence).into(),
        Block::Notes(advice.collect()),
        Block::Command(finding.confirm.clone()),
    ];
    Section::new(&format!("finding-{number}"), &title, blocks)
}

/// A line for each function, or one that says why none is known.
fn code_lines(code: &SampledCode) -> Vec<String> {
    match code {
        SampledCode::NotSampled => Vec::new(),
        SampledCode::Named { code } => code.iter().map(code_text).collect(),
        SampledCode::Unknown { code_unknown } => vec![format!("Code: not known: {code_unknown}")],
    }
}

/// `Code: 83 % [78, 87] of its minor faults come from read [libc.so.6], called by fillbuf [sort]`.
fn code_text(code: &Code) -> String {
    let (activity, verb) = match code.activity {
        Activity::MinorFaults => ("minor faults", "come from"),
        Activity::MajorFaults => ("major faults", "come from"),
        Activity::CpuTime => ("time on a CPU", "is in"),
        Activity::Waits => ("waiting", "is for"),
    };
    let outside = if code.is_outside_kernel { " outside of the kernel" } else { "" };
    let interval = code.interval.map_or_else(String::new, |it| format!(" {}", in_percent(it)));
    let caller = code.caller.as_ref().map(|caller| format!(", called by {caller}"));
    let (share, caller) = (render::format::share(code.share), caller.unwrap_or_default());
    let function = &code.function;
    format!("Code: {share}{interval} of its {activity}{outside} {verb} {function}{caller}")
}

pub(crate) fn severity_word(severity: Severity) -> (&'static str, Tone) {
    match severity {
        Severity::Note => ("note", Tone::Plain),
        Severity::Warning => ("warning", Tone::Doubtful),
        Severity::Severe => ("severe", Tone::Bad),
    }
}

fn scope_text(scope: &Scope) -> String {
    match scope {
        Scope::Machine => "the whole machine".to_owned(),
        Scope::Group(path) if path == COMMAND => path.clone(),
        Scope::Group(path) => format!("control group {path}"),
        Scope::Process { pid, name } => format!("process {pid} ({name})"),
    }
}

/// A scope in words, a process with its control group.
fn scope_of(scope: &Scope, group: Option<&str>) -> String {
    match group {
        Some(group) => format!("{} of {group}", scope_text(scope)),
        None => scope_text(scope),
    }
}

/// `9.62s lost (96 % of a thread's time)`, `at most …`, or `price not known, at least …`.
pub(crate) fn price_text(price: &Price) -> String {
    match price {
        Price::Known(lost) => format!("{}{}", bound_prefix(price), lost_text(lost)),
        Price::Unknown { at_least: Some(lost), .. } => {
            format!("price not known, {}{}", bound_prefix(price), lost_text(lost))
        }
        Price::Unknown { at_least: None, .. } => "price not known".to_owned(),
    }
}

pub(crate) fn bound_prefix(price: &Price) -> String {
    match bound_word(price) {
        "exact" => String::new(),
        bound => bound.replace('-', " ") + " ",
    }
}

fn lost_text(lost: &LostTime) -> String {
    let share = 100.0 * lost.lost_share;
    format!("{} lost ({share:.0} % of {})", format_duration(lost.lost_ns), whose_time(lost))
}

pub(crate) fn whose_time(lost: &LostTime) -> String {
    match lost.lost_of {
        Denominator::Threads(0 | 1) => "a thread's time".to_owned(),
        Denominator::Threads(count) => format!("the time of {count} threads"),
        Denominator::Cpus(0 | 1) => "the demanded time of a CPU".to_owned(),
        Denominator::Cpus(count) => format!("the demanded time of {count} CPUs"),
        Denominator::Wall => "the wall time".to_owned(),
    }
}

fn bound_word(price: &Price) -> &'static str {
    match price {
        Price::Known(lost) if lost.is_bound => "at-most",
        Price::Known(_) => "exact",
        Price::Unknown { .. } => "at-least",
    }
}

fn denominator_word(lost: &LostTime) -> &'static str {
    match lost.lost_of {
        Denominator::Threads(_) => "threads",
        Denominator::Cpus(_) => "cpus",
        Denominator::Wall => "wall",
    }
}

/// A figure with three significant digits, or all integer digits.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The diagnosis as JSON, with the severity of each finding.
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
    use doctor::{Confidence, Evidence, Family, Unable};

    use super::*;

    /// A group that thrashes, and everything else that can be reported.
    pub(crate) fn thrashing() -> Diagnosis {
        let line = |counter: &str, value, threshold| Evidence {
            counter: counter.to_owned(),
            value,
            threshold,
        };
        let evidence = vec![
            line("memcg/workingset_refault_file per major fault", 0.998, Some(0.5)),
            line("memcg/usage of limit", 0.9, Some(0.95)),
            line("vmstat/pgscan_direct per s", 0.0, None),
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
            processes: vec![17],
            code: SampledCode::Named {
                code: vec![Code {
                    activity: Activity::MajorFaults,
                    share: 0.83,
                    interval: Some((0.78, 0.871)),
                    function: "read [libc.so.6]".to_owned(),
                    caller: Some("fillbuf [sort]".to_owned()),
                    is_outside_kernel: false,
                }],
            },
        };
        Diagnosis {
            left_out: LeftOut::default(),
            elapsed_ns: 10_000_000_000,
            findings: vec![finding],
            ruled_out: vec![("swap-thrash", "no page was swapped in".to_owned())],
            unable: vec![Unable { rule: "steal", reason: "no /proc/stat".to_owned() }],
        }
    }

    fn plain(found: &Diagnosis, top: usize, verbose: bool) -> String {
        render::plain_text(&doctor_document(found, top, verbose))
    }

    #[test]
    fn on_one_screen_a_finding_has_its_price_code_and_remedy() {
        let mut found = thrashing();
        found.findings[0].scope = Scope::Group(format!("/{}/end", "a".repeat(90)));
        let brief = |found: &Diagnosis| {
            doctor_document(found, 5, false).brief.as_deref().map(render::plain_text)
        };
        let text = brief(&found).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        found.findings[0].rule = "proactive-eviction-of-a-long-name";
        let longer = brief(&found).unwrap();
        assert!(longer.lines().all(|line| line.chars().count() <= 80), "{longer}");
        for words in ["…aaa", "/end ==", "9.62s lost", "Code: 83 %", "Remedy: raise", "1 ruled out"]
        {
            assert!(text.contains(words), "{words:?} is not in {text}");
        }
        assert!(doctor_document(&found, 5, true).brief.is_none());
    }

    #[test]
    fn a_finding_has_its_evidence_and_the_next_step() {
        insta::assert_snapshot!(plain(&thrashing(), 3, true), @r"
        Over 10.0s: 1 finding.

        == 1. memcg-refault: severe, control group /a ==

        38649 file pages were evicted and read again
        9.62s lost (96 % of a thread's time); 1 of 2 counters agree
        Code: 83 % [78, 87] of its major faults come from read [libc.so.6], called by
          fillbuf [sort]

        counter                                        value   from  agrees
        memcg/workingset_refault_file per major fault  0.998  0.500  yes
        memcg/usage of limit                           0.900  0.950  no
        vmstat/pgscan_direct per s                         0      -

        What if: with 6 MB more: -99 %
        Remedy: raise the limit
        Confirm:

          thrashlab sweep

        == Ruled out ==

        swap-thrash: no page was swapped in

        == Could not be judged ==

        steal: no /proc/stat
        ");
        let healthy = Diagnosis { elapsed_ns: 1_000_000_000, ..Diagnosis::default() };
        let expected =
            "Over 1.00s: nothing found that costs 1 % of the time of any thread or CPU.\n";
        assert_eq!(plain(&healthy, 3, true), expected);
    }

    #[test]
    fn nothing_found_is_not_said_of_what_could_not_be_judged() {
        let mut blind = thrashing();
        blind.findings.clear();
        let heading =
            "Over 10.0s: 1 of 2 conditions could not be judged, the others are ruled out.";
        assert!(plain(&blind, 0, false).starts_with(heading));
        let mut unpriced = thrashing();
        let least = Some(LostTime::of_wall(1e9, 10_000_000_000));
        unpriced.findings[0].price = Price::Unknown { price_unknown: "no cost", at_least: least };
        let text = plain(&unpriced, 1, false);
        assert!(text.contains("price not known, at least 1.00s"), "{text}");
        assert!(text.contains("\nFor a price: no cost\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let text = plain(&thrashing(), 0, false);
        assert!(text.contains("1 finding. --top 1 shows"), "{text}");
        assert!(text.contains("swap-thrash. --verbose shows why."), "{text}");
    }

    #[test]
    fn a_finding_has_its_severity_in_json() {
        let json = doctor_json(&thrashing());
        assert_eq!(json["findings"][0]["severity"], "severe");
        assert_eq!(json["findings"][0]["scope"]["group"], "/a");
        assert_eq!(json["findings"][0]["lost_of"]["threads"], 1);
        assert_eq!(json["findings"][0]["lost_share"], 0.962);
    }

    #[test]
    fn a_share_is_told_with_whose_it_is() {
        let text = |lost: LostTime| price_text(&Price::Known(lost));
        let threads = LostTime::of_threads(6.4e9, 64, 64e9);
        assert_eq!(text(threads), "6.40s lost (10 % of the time of 64 threads)");
        let one = LostTime::of_threads(9e8, 1, 1e9).at_most();
        assert_eq!(text(one), "at most 900ms lost (90 % of a thread's time)");
        let cpus = LostTime::of_cpus(1e9, 4, 4e9);
        assert_eq!(text(cpus), "1.00s lost (25 % of the demanded time of 4 CPUs)");
    }

    #[test]
    fn what_has_no_price_says_so_and_what_is_known() {
        let unknown = |at_least| Price::Unknown { price_unknown: "", at_least };
        assert_eq!(price_text(&unknown(None)), "price not known");
        let least = unknown(Some(LostTime::of_wall(1e8, 1_000_000_000)));
        let text = "price not known, at least 100ms lost (10 % of the wall time)";
        assert_eq!((price_text(&least).as_str(), bound_word(&least)), (text, "at-least"));
    }
}
