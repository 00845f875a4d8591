//! Sample strips: every response in order, load by load.

use serde_json::{Value, json};

use super::Data;
use crate::page::{LoadSamples, Measurement, outcome, thinned};
use analysis::responsiveness::STALL_FACTOR;
use render::charts::{domain, rounded, ticks};
use render::{Cell, Table};

pub(super) const MOST_PANELS: usize = 36;
const MOST_POINTS: usize = 2400;
const MOST_A_PANEL: usize = 240;

/// Title of a panel: the load, and the label of its measurement unless that is empty.
pub(crate) fn panel(load: &str, label: &str) -> String {
    if label.is_empty() { load.to_owned() } else { format!("{load} · {label}") }
}

/// The drawn panels: those with the slowest responses, load by load for comparison.
pub(super) fn drawn<'d>(data: &'d Data<'_>) -> Vec<(&'d Measurement, &'d LoadSamples, String)> {
    let mut all = Vec::new();
    for one in &data.measurements {
        let label = data.label(one);
        let measured = one.samples.iter().enumerate().filter(|(_, it)| !it.delays_ns.is_empty());
        all.extend(measured.map(|(load, it)| (load, one, it, panel(&it.load, &label))));
    }
    all.sort_by_key(|(load, ..)| *load);
    let mut all: Vec<_> = all.into_iter().map(|(_, one, it, panel)| (one, it, panel)).collect();
    if all.len() > MOST_PANELS {
        let worst =
            |samples: &LoadSamples| samples.delays_ns.iter().map(|it| it.value).fold(0.0, f64::max);
        let mut slowest: Vec<f64> = all.iter().map(|(_, samples, _)| worst(samples)).collect();
        slowest.sort_by(|a, b| b.total_cmp(a));
        let least = slowest[MOST_PANELS - 1];
        all.retain(|(_, samples, _)| worst(samples) >= least);
        all.truncate(MOST_PANELS);
    }
    all
}

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let shown = drawn(data);
    let most = (MOST_POINTS / shown.len().max(1)).clamp(40, MOST_A_PANEL);
    let mut values: Vec<Value> = Vec::new();
    let mut table =
        Table::new("", ["load", "responses", "stalled", "never finished", "worst", "at"]);
    for (one, samples, panel) in &shown {
        let (delays_ns, reference_ns) = (&samples.delays_ns, one.matrix.reference_ns());
        values.extend(thinned(delays_ns, most).into_iter().map(|index| {
            let delay_ns = &delays_ns[index];
            json!({ "panel": panel, "n": index + 1, "delay": rounded(delay_ns.value.max(1.0)),
                    "outcome": outcome(delay_ns, reference_ns) })
        }));
        if let Some(reference_ns) = reference_ns {
            values.push(json!({ "panel": panel, "limit": rounded(STALL_FACTOR * reference_ns) }));
        }
        let count =
            |what: &str| delays_ns.iter().filter(|it| outcome(it, reference_ns) == what).count();
        let counts = [delays_ns.len(), count("stalled"), count("never finished")];
        let worst = (1..).zip(delays_ns).max_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
        let at: Option<String> = worst.map(|(number, _): (usize, _)| format!("sample {number}"));
        let of_worst = [worst.map(|(_, delay_ns)| Cell::Duration(*delay_ns)).into(), at.into()];
        table.row([Cell::from(panel)].into_iter().chain(counts.map(Cell::from)).chain(of_worst));
    }
    let all = shown.iter().flat_map(|(_, samples, _)| &samples.delays_ns);
    let delays_ns: Vec<f64> = all.map(|delay_ns| delay_ns.value.max(1.0)).collect();
    let found: usize = data.measurements.iter().map(|one| one.samples.len()).sum();
    let parts = json!({
        "values": values, "domain": domain(&delays_ns), "ticks": ticks(&delays_ns),
        "order": shown.iter().map(|(_, _, panel)| panel).collect::<Vec<_>>(),
        "columns": if data.measurements.len() == 2 { 2 } else { 3 },
        "stall": STALL_FACTOR.to_string(), "cut": found > shown.len(),
        "thinned": shown.iter().any(|(_, samples, _)| samples.delays_ns.len() > most),
    });
    vec![(parts, table)]
}
