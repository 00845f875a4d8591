//! The interaction plot: the mean at each combination of two factors' levels.

use std::collections::BTreeMap;

use analysis::attribution::{Attribution, Scale};
use serde_json::{Value, json};

use super::Data;
use crate::attribution_text::Words;
use render::charts::{domain, ticks};
use render::{Cell, Table};

const MOST_PAIRS: usize = 3;

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let found = data.material.inputs.iter().filter_map(|input| input.attribution.as_ref());
    let pairs = |attribution: &Attribution| {
        let count = attribution.factors.len();
        let all = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        all.take(MOST_PAIRS).map(|pair| of_pair(attribution, pair)).collect::<Vec<_>>()
    };
    found.flat_map(pairs).collect()
}

fn of_pair(attribution: &Attribution, (first, second): (usize, usize)) -> (Value, Table) {
    let words = Words::new(attribution);
    let (x, line) = (&attribution.factors[first], &attribution.factors[second]);
    let effects = attribution.overall.fitting();
    // Means over the levels of further factors, on the scale on which effects add.
    let mut cells: BTreeMap<(&String, &String), Vec<f64>> = BTreeMap::new();
    for cell in &effects.cells {
        cells.entry((&cell.levels[first], &cell.levels[second])).or_default().extend(cell.mean);
    }
    cells.retain(|_, means| !means.is_empty());
    let is_log = attribution.overall.scale == Scale::Log && effects.scale == Scale::Log;
    let mean = |values: &[f64]| match is_log {
        true => (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp(),
        false => values.iter().sum::<f64>() / values.len() as f64,
    };
    let columns = x.levels.iter().map(|level| format!("{} {level}", x.name));
    let mut table = Table::new("", [line.name.clone()].into_iter().chain(columns));
    let (mut values, mut means) = (Vec::new(), Vec::new());
    for level in &line.levels {
        let figures = x.levels.iter().map(|at| {
            let value = mean(cells.get(&(at, level))?);
            let text = words.quantity(value);
            let tip = format!("{} {at}, {} {level}: {text}", x.name, line.name);
            means.push(value);
            values.push(json!({ "x": at, "line": level, "mean": value, "tip": tip }));
            Some(text)
        });
        table.row([Cell::from(level)].into_iter().chain(figures.map(Cell::figure)));
    }
    let is_time = attribution.measured.unit == "ns";
    let log_time = (is_time && is_log).then_some(&means);
    let parts = json!({
        "values": values, "response": attribution.response, "line": line.name, "across": x.name,
        "levels": line.levels, "columns": x.levels, "time": is_time,
        "log": is_log, "linear": !is_log,
        "why": if is_log { ", logarithmic, because the effects multiply" } else { "" },
        "domain": log_time.map(|it| domain(it)), "ticks": log_time.map(|it| ticks(it)),
    });
    (parts, table)
}
