//! What the doctor finds in the runs, by time lost.

use doctor::{Finding, LostTime, Severity};
use serde_json::{Value, json};

use super::Data;
use super::scale::rounded;
use crate::diagnosis::{bound_prefix, price_text, severity_word, whose_time};
use render::{Cell, Table, Tone, format};

/// Most findings that are drawn.
const MOST: usize = 16;

/// A finding and the load under which it was found.
#[derive(Clone, Debug)]
pub(crate) struct Found<'d> {
    /// The load, with its input where there are several.
    pub(crate) load: String,
    /// The finding that ranks first among those of its runs.
    pub(crate) finding: &'d Finding,
    /// In how many runs of the load it was found.
    pub(crate) runs: usize,
    /// Of how many.
    pub(crate) of: usize,
}

/// What a severity means.
pub(crate) fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Severe => Tone::Bad,
        Severity::Warning => Tone::Doubtful,
        Severity::Note => Tone::Plain,
    }
}

/// All findings, each rule and load once, the most costly first.
pub(crate) fn found<'d>(data: &'d Data<'_>) -> Vec<Found<'d>> {
    let mut all: Vec<Found<'d>> = Vec::new();
    let several = data.material.inputs.len() > 1;
    for input in &data.material.inputs {
        for one in &input.diagnoses {
            let load = match several {
                true => format!("{} · {}", one.load, input.name),
                false => one.load.clone(),
            };
            let of = input.diagnoses.iter().filter(|other| other.load == one.load).count();
            for finding in &one.diagnosis.findings {
                let known = all
                    .iter_mut()
                    .find(|known| known.load == load && known.finding.rule == finding.rule);
                match known {
                    Some(known) => {
                        known.runs += 1;
                        if finding.rank() < known.finding.rank() {
                            known.finding = finding;
                        }
                    }
                    None => all.push(Found { load: load.clone(), finding, runs: 1, of }),
                }
            }
        }
    }
    all.sort_by_key(|one| one.finding.rank());
    all
}

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let all = found(data);
    let mut table =
        Table::new("", ["condition", "load", "time lost", "share", "severity", "runs", "evidence"]);
    let mut values = Vec::new();
    let mut order = Vec::new();
    for one in &all {
        let finding = one.finding;
        let bound = bound_prefix(&finding.price);
        let time = finding.lost();
        let lost = time.map(|lost| format!("{bound}{}", format::duration(lost.lost_ns as f64)));
        let percent = |lost: &LostTime| format!("{bound}{:.0} %", 100.0 * lost.lost_share);
        let share = time.map(|lost| format!("{} of {}", percent(&lost), whose_time(&lost)));
        let word = severity_word(finding.severity());
        let runs = format!("{} of {}", one.runs, one.of);
        let evidence =
            format!("{} of {} counters", finding.confidence.agreeing, finding.confidence.asked);
        let or_unknown = |text: Option<String>| match text {
            Some(text) => Cell::figure(text),
            None => Cell::absent_because("not known"),
        };
        table.row([
            Cell::from(finding.rule),
            Cell::from(&one.load),
            or_unknown(lost.clone()),
            or_unknown(share),
            Cell::from(word).toned(tone(finding.severity())),
            Cell::figure(&runs),
            Cell::from(&evidence),
        ]);
        if values.len() < MOST {
            let name = format!("{} · {}", finding.rule, one.load);
            values.push(json!({
                "what": name, "share": rounded(time.map_or(0.0, |lost| lost.lost_share)),
                "severity": word,
                "text": match (&time, &lost) {
                    (Some(time), Some(lost)) => format!("{}, {lost}", percent(time)),
                    _ => "price not known".to_owned(),
                },
                "tip": format!("{name}: {}, {word}; {evidence} agree; found in {runs} runs",
                               price_text(&finding.price)),
            }));
            order.push(name);
        }
    }
    vec![(json!({ "values": values, "order": order }), table)]
}
