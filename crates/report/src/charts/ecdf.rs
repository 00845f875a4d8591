//! Empirical distribution functions: which part of the responses took at most how long.

use serde_json::{Value, json};

use super::{Chart, Data, Kind, colours, duration, merged, panels, rounded, strips};
use crate::page::Table;

pub(super) const KIND: Kind =
    Kind { name: "ecdf", title: "How long responses take, as distributions", make };

/// Most steps of one line; of more samples these are exact quantiles, the smallest and largest kept.
const MOST_STEPS: usize = 80;
/// Quantiles that the table tells.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 1.0];

/// What lines are drawn as.
const LINES: [(&str, &str); 2] = [("this load", "#d55e00"), ("without load", "#888888")];

/// The function's steps: a value, and the part of all that is at most that.
fn steps(sorted: &[f64]) -> Vec<(f64, f64)> {
    let count = sorted.len();
    let at = |rank: usize| (sorted[rank], (rank + 1) as f64 / count as f64);
    if count <= MOST_STEPS {
        return (0..count).map(at).collect();
    }
    let last = MOST_STEPS - 1;
    (0..MOST_STEPS).map(|step| at(step * (count - 1) / last)).collect()
}

fn sorted(delays: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut delays: Vec<f64> = delays.map(|delay_ns| delay_ns.max(1.0)).collect();
    delays.sort_by(f64::total_cmp);
    delays
}

/// The smallest value that has at least this part of all at or below it.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let rank = (part * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

fn make(data: &Data<'_>) -> Vec<Chart> {
    let shown = strips::drawn(data);
    let mut values: Vec<Value> = Vec::new();
    let mut table = Table::new("", &["load", "responses", "median", "p90", "p95", "p99", "worst"]);
    let mut order: Vec<String> = Vec::new();
    let mut all: Vec<f64> = Vec::new();
    for (one, samples, panel) in &shown {
        let row = one.matrix.rows.iter().find(|row| row.load == samples.load);
        let own = sorted(row.into_iter().flat_map(|row| row.delays_ns.iter().copied()));
        if own.is_empty() {
            continue;
        }
        let mut cells = vec![panel.clone(), own.len().to_string()];
        cells.extend(
            QUANTILES
                .iter()
                .map(|part| quantile(&own, *part).map_or_else(|| "-".to_owned(), duration::text)),
        );
        table.row(cells);
        let baseline = one.matrix.rows.iter().find(|row| row.load == model::BASELINE);
        let reference = baseline.filter(|row| row.load != samples.load);
        let reference = sorted(reference.into_iter().flat_map(|row| row.delays_ns.iter().copied()));
        if reference.is_empty() && shown.len() > 1 {
            continue;
        }
        let lines = [(&own, "this load"), (&reference, "without load")];
        for (delays, line) in lines.into_iter().filter(|(delays, _)| !delays.is_empty()) {
            values.extend(steps(delays).into_iter().map(|(delay, part)| {
                json!({ "panel": panel, "line": line, "delay": rounded(delay), "part": rounded(part) })
            }));
            all.extend([delays[0], delays[delays.len() - 1]]);
        }
        order.push(panel.clone());
    }
    if order.is_empty() {
        return Vec::new();
    }
    let axis = duration::log_axis("delay", all.iter().copied());
    let body = merged(panels("panel", &order, 3), json!({ "spec": spec(&axis) }));
    let reading = "How many percent of the responses took at most so long: the further to the \
                   right, the slower. Grey and dashed: without load."
        .to_owned();
    vec![KIND.chart(reading, values, body, table)]
}

fn spec(axis: &Value) -> Value {
    let tip = json!({ "field": "tip", "type": "nominal" });
    let x = merged(axis.clone(), json!({ "field": "delay" }));
    let y = json!({ "field": "part", "type": "quantitative", "title": null,
                    "scale": { "domain": [0, 1] },
                    "axis": { "format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1] } });
    let colour = json!({ "field": "line", "type": "nominal", "title": null,
                         "scale": colours(&LINES), "legend": { "orient": "bottom" } });
    json!({
        "width": 250,
        "height": 110,
        "transform": [{ "calculate": format!(
            "format(datum.part, '.1%') + ' took at most ' + ({}) + ' (' + datum.line + ')'",
            duration::expression("datum.delay")
        ), "as": "tip" }],
        "layer": [{
            "mark": { "type": "line", "interpolate": "step-after", "strokeWidth": 2 },
            "encoding": { "x": x, "y": y, "color": colour,
                          "strokeDash": { "field": "line", "type": "nominal", "title": null,
                              "scale": { "domain": ["this load", "without load"],
                                         "range": [[1, 0], [4, 3]] },
                              "legend": { "orient": "bottom" } } },
        }, {
            "mark": { "type": "point", "filled": true, "size": 45, "opacity": 0 },
            "encoding": { "x": x, "y": y, "tooltip": tip, "description": tip },
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_steps_are_exact_and_keep_both_ends() {
        let sorted: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let found = steps(&sorted);
        assert_eq!(found.len(), MOST_STEPS);
        assert!(found.iter().all(|(value, part)| (value / 10_000.0 - part).abs() < 1e-12));
        assert_eq!((found[0].0, found[MOST_STEPS - 1]), (1.0, (10_000.0, 1.0)));
        assert_eq!(steps(&[3.0, 4.0]), [(3.0, 0.5), (4.0, 1.0)]);
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 1.0), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
