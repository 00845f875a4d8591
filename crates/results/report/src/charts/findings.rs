//! The doctor's findings in the runs by time lost.

use doctor::{Finding, LostTime};
use serde_json::{Value, json};

use super::Data;
use crate::diagnosis::{bound_prefix, price_text, severity_word, whose_time};
use render::charts::rounded;
use render::{Cell, Table, format};

const MOST: usize = 16;

pub(crate) struct LoadFinding<'d> {
    /// The load, and its input if there are several.
    pub(crate) load: String,
    /// The highest-ranked finding of its runs.
    pub(crate) finding: &'d Finding,
    /// Number of runs with the finding, and of all runs of the load.
    runs: usize,
    of: usize,
}

/// All findings, one per rule and load, the most expensive first.
pub(crate) fn found<'d>(data: &'d Data<'_>) -> Vec<LoadFinding<'d>> {
    let mut all: Vec<LoadFinding<'d>> = Vec::new();
    let several = data.material.inputs.len() > 1;
    for input in &data.material.inputs {
        for one in &input.diagnoses {
            let load = match several {
                true => format!("{} · {}", one.load, input.name),
                false => one.load.clone(),
            };
            let of = input.diagnoses.iter().filter(|other| other.load == one.load).count();
            for finding in &one.diagnosis.findings {
                let is_same =
                    |it: &&mut LoadFinding| it.load == load && it.finding.rule == finding.rule;
                if let Some(known) = all.iter_mut().find(is_same) {
                    known.runs += 1;
                    if finding.rank() < known.finding.rank() {
                        known.finding = finding;
                    }
                } else {
                    all.push(LoadFinding { load: load.clone(), finding, runs: 1, of });
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
    let (mut values, mut order) = (Vec::new(), Vec::new());
    for one in &all {
        let finding = one.finding;
        let bound = bound_prefix(&finding.price);
        let time = finding.lost();
        let lost = time.map(|lost| format!("{bound}{}", format::duration(lost.lost_ns as f64)));
        let percent = |lost: &LostTime| format!("{bound}{:.0} %", 100.0 * lost.lost_share);
        let share = time.map(|lost| format!("{} of {}", percent(&lost), whose_time(&lost)));
        let (word, tone) = severity_word(finding.severity());
        let runs = format!("{} of {}", one.runs, one.of);
        let evidence =
            format!("{} of {} counters", finding.confidence.agreeing, finding.confidence.asked);
        let unknown = || Cell::Absent("not known".to_owned());
        let or_unknown = |text: Option<String>| text.map_or_else(unknown, Cell::Figure);
        table.row([
            Cell::from(finding.rule),
            Cell::from(&one.load),
            or_unknown(lost.clone()),
            or_unknown(share),
            Cell::Text(word.to_owned(), tone),
            Cell::figure(runs.clone()),
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
