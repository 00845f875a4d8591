//! The interaction plot: the mean at each combination of two factors' levels.

use std::collections::BTreeMap;

use analysis::attribution::{Attribution, Scale};
use serde_json::{Value, json};

use super::encoding::{merged, tip};
use super::{Data, Kind, duration};
use crate::attribution_text::quantity;
use render::{Cell, Chart, Table};

pub(super) const KIND: Kind = Kind {
    name: "interaction",
    section: "attribution",
    title: "How the effect of one factor depends on another",
    make,
};

/// Most pairs of factors that are drawn.
const MOST_PAIRS: usize = 3;

fn make(data: &Data<'_>) -> Vec<Chart> {
    let found = data.material.inputs.iter().filter_map(|input| input.attribution.as_ref());
    found.flat_map(pairs).collect()
}

fn pairs(attribution: &Attribution) -> Vec<Chart> {
    let count = attribution.factors.len();
    let all = (0..count).flat_map(|first| (first + 1..count).map(move |second| (first, second)));
    all.take(MOST_PAIRS).map(|pair| of_pair(attribution, pair)).collect()
}

fn of_pair(attribution: &Attribution, (first, second): (usize, usize)) -> Chart {
    let (x, line) = (&attribution.factors[first], &attribution.factors[second]);
    let effects = attribution.overall.fitting();
    // Over the levels of further factors: their mean, in the scale on which effects add.
    let mut cells: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for cell in &effects.cells {
        let at = |factor: usize| {
            attribution.factors[factor]
                .levels
                .iter()
                .position(|level| *level == cell.levels[factor])
        };
        if let (Some(column), Some(row), Some(mean)) = (at(first), at(second), cell.mean) {
            cells.entry((column, row)).or_default().push(mean);
        }
    }
    let is_log = attribution.overall.scale == Scale::Log && effects.scale == Scale::Log;
    let mean = |values: &[f64]| match is_log {
        true => (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp(),
        false => values.iter().sum::<f64>() / values.len() as f64,
    };
    let mut table = Table::new("", [&line.name]);
    table.head.extend(x.levels.iter().map(|level| format!("{} {level}", x.name)));
    let mut values = Vec::new();
    for (row, level) in line.levels.iter().enumerate() {
        let mut cells_of_row = vec![Cell::from(level)];
        for (column, at) in x.levels.iter().enumerate() {
            let Some(value) = cells.get(&(column, row)).map(|values| mean(values)) else {
                cells_of_row.push(Cell::absent());
                continue;
            };
            let text = quantity(attribution, value);
            values.push(json!({
                "x": at, "line": level, "mean": value,
                "tip": format!("{} {at}, {} {level}: {text}", x.name, line.name),
            }));
            cells_of_row.push(Cell::figure(text));
        }
        table.row(cells_of_row);
    }
    let reading = format!(
        "Mean {} at each combination of levels{}. Parallel lines: the effect of {} is the same \
         whatever {} is.",
        attribution.response,
        if is_log { ", logarithmic, because the effects multiply" } else { "" },
        x.name,
        line.name
    );
    KIND.chart(reading, values.clone(), body(attribution, (first, second), is_log, &values), table)
}

fn body(attribution: &Attribution, pair: (usize, usize), is_log: bool, values: &[Value]) -> Value {
    let (x, line) = (&attribution.factors[pair.0], &attribution.factors[pair.1]);
    let tip = tip();
    let means = || values.iter().filter_map(|value| value["mean"].as_f64());
    let y = if attribution.measured.unit == "ns" && is_log {
        merged(duration::log_axis(&attribution.response, means()), json!({ "field": "mean" }))
    } else {
        let scale = if is_log { json!({ "type": "log" }) } else { json!({ "zero": false }) };
        let mut axis = json!({ "field": "mean", "type": "quantitative",
                               "title": attribution.response, "scale": scale });
        if attribution.measured.unit == "ns" {
            axis["axis"] = json!({ "labelExpr": duration::expression("datum.value") });
        }
        axis
    };
    let series = |title: bool| {
        let title = if title { json!(line.name) } else { Value::Null };
        json!({ "field": "line", "type": "nominal", "title": title, "sort": line.levels })
    };
    let x = json!({ "field": "x", "type": "nominal", "sort": x.levels, "title": x.name,
                    "scale": { "padding": 0.6 }, "axis": { "labelAngle": 0, "grid": true } });
    json!({
        "width": "container",
        "height": 260,
        "encoding": { "x": x, "y": y, "color": series(true) },
        "layer": [
            { "mark": { "type": "line", "strokeWidth": 2.5, "aria": false },
              "encoding": { "strokeDash": series(true) } },
            { "mark": { "type": "point", "filled": true, "size": 90, "opacity": 1 },
              "encoding": { "shape": series(true), "tooltip": tip, "description": tip } },
        ],
    })
}
