//! Sample strips: each response in the order in which it was made, load by load.

use serde_json::{Value, json};

use super::Data;
use super::scale::{domain, rounded, ticks};
use crate::page::{LoadSamples, Measurement, SamplePoint};
use analysis::responsiveness::STALL_FACTOR;
use model::Observation;
use render::{Cell, Table};

/// Most panels that are drawn.
pub(super) const MOST_PANELS: usize = 36;
/// Most points of all panels together.
const MOST_POINTS: usize = 2400;
/// Most points of one panel.
const MOST_A_PANEL: usize = 240;

/// One panel: the load, and its measurement where there are several.
pub(crate) fn panel(load: &str, label: &str) -> String {
    if label.is_empty() { load.to_owned() } else { format!("{load} · {label}") }
}

/// The panels that are drawn: those with the slowest responses, in their order.
pub(super) fn drawn<'d>(data: &'d Data<'_>) -> Vec<(&'d Measurement, &'d LoadSamples, String)> {
    let mut all = Vec::new();
    for one in &data.measurements {
        let label = data.label(one);
        let measured = one.samples.iter().enumerate().filter(|(_, it)| !it.points.is_empty());
        all.extend(measured.map(|(load, it)| (load, one, it, panel(&it.load, &label))));
    }
    // Load by load, so that what is to be compared stands together.
    all.sort_by_key(|(load, ..)| *load);
    let mut all: Vec<_> = all.into_iter().map(|(_, one, it, panel)| (one, it, panel)).collect();
    if all.len() > MOST_PANELS {
        let worst = |samples: &LoadSamples| {
            samples.points.iter().map(|point| point.delay_ns).fold(0.0, f64::max)
        };
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
        let reference_ns = one.reference_ns();
        values.extend(samples.thinned(most).into_iter().map(|point| {
            json!({ "panel": panel, "n": point.number, "delay": rounded(point.delay_ns.max(1.0)),
                    "outcome": point.outcome(reference_ns) })
        }));
        if let Some(reference_ns) = reference_ns {
            values.push(json!({ "panel": panel, "limit": rounded(STALL_FACTOR * reference_ns) }));
        }
        let count = |outcome: &str| {
            samples.points.iter().filter(|point| point.outcome(reference_ns) == outcome).count()
        };
        let worst = samples.points.iter().max_by(|a, b| a.delay_ns.total_cmp(&b.delay_ns));
        let counts = [samples.points.len(), count("stalled"), count("never finished")];
        let of_worst = worst.map(|point: &SamplePoint| {
            let delay = Observation { value: point.delay_ns, is_lower_bound: point.censored };
            [Cell::observed(delay), Cell::from(format!("sample {}", point.number))]
        });
        let of_worst = of_worst.unwrap_or([Cell::absent(), Cell::absent()]);
        table.row([Cell::from(panel)].into_iter().chain(counts.map(Cell::from)).chain(of_worst));
    }
    let all = shown.iter().flat_map(|(_, samples, _)| &samples.points);
    let delays_ns: Vec<f64> = all.map(|point| point.delay_ns.max(1.0)).collect();
    let found: usize = data.measurements.iter().map(|one| one.samples.len()).sum();
    let parts = json!({
        "values": values, "domain": domain(&delays_ns), "ticks": ticks(&delays_ns),
        "order": shown.iter().map(|(_, _, panel)| panel).collect::<Vec<_>>(),
        "columns": if data.measurements.len() == 2 { 2 } else { 3 },
        "stall": STALL_FACTOR.to_string(), "cut": found > shown.len(),
        "thinned": shown.iter().any(|(_, samples, _)| samples.points.len() > most),
    });
    vec![(parts, table)]
}
