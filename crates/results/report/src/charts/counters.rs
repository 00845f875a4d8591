//! Counters over time, run after run.

use analysis::grouped;
use serde_json::{Value, json};

use super::Data;
use crate::page::{Input, SERIES, Timeline};
use render::charts::{largest_of_chunks, rounded};
use render::{Cell, Table, format};

const MOST_RUNS: usize = 30;
const MOST_SERIES: usize = 8;
const MOST_POINTS: usize = 240;
/// Series below this rate are not drawn.
const LEAST: f64 = 0.5;

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let inputs = data.material.inputs.iter().filter(|input| input.sweep.is_none());
    inputs.map(|input| of_input(input, data.material.inputs.len() > 1)).collect()
}

fn chosen<'i>(input: &'i Input<'_>) -> Vec<&'i Timeline> {
    if input.timelines.len() <= MOST_RUNS {
        return input.timelines.iter().collect();
    }
    let loads = grouped(input.timelines.iter().map(|run| (&run.load, run))).into_iter();
    // The first of equals.
    let worst =
        |(_, runs): (_, Vec<&'i Timeline>)| runs.into_iter().rev().max_by_key(|it| it.worst_ns);
    loads.filter_map(worst).take(MOST_RUNS).collect()
}

/// The points of a series over consecutive runs, in seconds.
fn laid(runs: &[&Timeline], series: usize) -> Vec<(f64, f64)> {
    let (mut begun_ns, mut points) = (0, Vec::new());
    for run in runs {
        let of_run = run.series.get(series).into_iter().flatten();
        points.extend(of_run.map(|(at_ns, value)| ((begun_ns + at_ns) as f64 / 1e9, *value)));
        begun_ns += run.length_ns;
    }
    largest_of_chunks(&points, MOST_POINTS)
}

fn of_input(input: &Input<'_>, several: bool) -> (Value, Table) {
    let runs = chosen(input);
    let (mut values, mut titles) = (Vec::new(), Vec::new());
    let mut table = Table::new("", ["counter", "median", "largest", "largest under"]);
    for (index, (title, ..)) in SERIES.into_iter().enumerate() {
        let points = laid(&runs, index);
        let mut sizes: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        sizes.sort_by(f64::total_cmp);
        let moves = sizes.last().is_some_and(|largest| *largest >= LEAST && *largest > sizes[0]);
        if !moves || titles.len() == MOST_SERIES {
            continue;
        }
        titles.push(title);
        values.extend(points.iter().map(|(at_s, value)| {
            let (at, value) = (rounded(*at_s), rounded(*value));
            json!({ "series": title, "at": at, "value": value })
        }));
        let largest = sizes.last().copied().unwrap_or(0.0);
        let under = runs.iter().find(|run| {
            run.series.get(index).into_iter().flatten().any(|(_, value)| *value == largest)
        });
        let [median, largest] =
            [sizes[sizes.len() / 2], largest].map(|value| Cell::figure(format::number(value)));
        let under = under.map_or("", |run| run.load.as_str());
        table.row([title.into(), median, largest, Cell::from(under)]);
    }
    let (mut begun_s, mut bands) = (0.0, Vec::new());
    let (mut names, mut middles) = (serde_json::Map::new(), Vec::new());
    for (index, run) in runs.iter().enumerate() {
        let end_s = begun_s + run.length_ns as f64 / 1e9;
        let middle_ms = (500.0 * (begun_s + end_s)).round();
        names.insert(format!("{middle_ms:.0}"), json!(run.load));
        middles.push(middle_ms / 1000.0);
        bands.push(json!({ "from": rounded(begun_s), "to": rounded(end_s), "load": run.load,
                           "shade": if index % 2 == 0 { 0.0 } else { 0.1 } }));
        begun_s = end_s;
    }
    let label = format!("{}['' + round(1000 * datum.value)]", Value::Object(names));
    let parts = json!({
        "values": values, "order": titles, "bands": bands, "end": rounded(begun_s),
        "middles": middles, "names": label, "chosen": runs.len() < input.timelines.len(),
        "input": if several { format!("{}. ", input.name) } else { String::new() },
    });
    (parts, table)
}
