//! Work on memory, pass by pass: what a touch costs, and from where on that is steady.

use analysis::MemoryWork;
use model::Run;
use serde_json::{Value, json};

use super::encoding::{merged, panels, rounded, tip};
use super::strips::{MOST_PANELS, panel};
use super::{Data, Kind, duration};
use render::{Cell, Chart, Table, distinct, format};

pub(super) const KIND: Kind = Kind {
    name: "touches",
    section: "work",
    title: "What a touch of memory costs, pass by pass",
    make,
};

/// Most runs that are drawn.
const MOST_RUNS: usize = 120;
/// Most points of all runs together.
const MOST_POINTS: usize = 2400;
/// Most points of one run.
const MOST_OF_ONE: usize = 120;

/// A run that is drawn.
struct Drawn<'a> {
    /// Its job and levels, where there are several.
    panel: String,
    load: &'a str,
    seed: u64,
    /// Number of the pass from 1, and the cost of a touch in it in ns.
    passes: Vec<(usize, f64)>,
    work: MemoryWork,
}

fn make(data: &Data<'_>) -> Vec<Chart> {
    let mut all = all(data);
    let found = all.len();
    all.truncate(MOST_RUNS);
    let mut order: Vec<String> = distinct(all.iter().map(|one| one.panel.clone()));
    order.truncate(MOST_PANELS);
    all.retain(|one| order.contains(&one.panel));
    if all.is_empty() {
        return Vec::new();
    }
    let most = (MOST_POINTS / all.len()).clamp(8, MOST_OF_ONE);
    let mut table = Table::new("", ["run", "seed", "passes", "steady from", "in the steady state"]);
    let loads: Vec<&str> = distinct(all.iter().map(|one| one.load));
    let mut values: Vec<Value> = Vec::new();
    for (number, one) in all.iter().enumerate() {
        values.extend(one.values(number, most));
        let steady = one.work.steady_from;
        let cost_ns = steady.and(one.work.cost_ns());
        table.row([
            Cell::from(panel(one.load, &one.panel)),
            one.seed.into(),
            one.work.passes.into(),
            steady.map_or_else(|| "never".to_owned(), |from| format!("pass {}", from + 1)).into(),
            cost_ns.map(Cell::duration).into(),
        ]);
    }
    let costs_ns = all.iter().flat_map(|one| &one.passes).map(|(_, cost_ns)| *cost_ns);
    let axis = duration::log_axis("cost of a touch", costs_ns);
    let reading = format!(
        "A line a run, logarithmic; the dashed line is the cost in the steady state, from the pass \
         on from which it counts.{}{}",
        if all.iter().any(|one| one.passes.len() > most) {
            " Of many passes the most expensive of each piece is drawn."
        } else {
            ""
        },
        if found > all.len() { " Only the first runs are drawn." } else { "" },
    );
    let spec = spec(&axis, &loads);
    let body = match order.as_slice() {
        [_] => merged(spec, json!({ "width": "container", "height": 280 })),
        _ => merged(
            panels("panel", &order, if order.len() == 2 { 2 } else { 3 }),
            json!({ "spec": spec, "resolve": { "scale": { "x": "independent" } } }),
        ),
    };
    vec![KIND.chart(reading, values, body, table)]
}

/// The runs that have several passes.
fn all<'a>(data: &'a Data<'_>) -> Vec<Drawn<'a>> {
    let mut all = Vec::new();
    for jobs in data.jobs.iter().filter(|jobs| jobs.is_of_memory()) {
        let label = data.job_label(jobs);
        for (load, runs) in jobs.by_load() {
            all.extend(runs.into_iter().filter_map(|run| Drawn::of(run, load, &label)));
        }
    }
    all
}

impl<'a> Drawn<'a> {
    fn of(run: &Run, load: &'a str, label: &str) -> Option<Self> {
        let costs = MemoryWork::pass_costs_ns(run).into_iter().enumerate();
        let passes: Vec<(usize, f64)> =
            costs.filter_map(|(index, cost_ns)| Some((index + 1, cost_ns?))).collect();
        let seed = run.header.as_ref().map_or(0, |header| header.spec.seed);
        let work = MemoryWork::of(run).filter(|_| passes.len() > 1)?;
        Some(Self { panel: label.to_owned(), load, seed, passes, work })
    }

    /// Its points, and its steady state.
    fn values(&self, number: usize, most: usize) -> Vec<Value> {
        let piece = self.passes.len().div_ceil(most);
        let pieces = self.passes.chunks(piece.max(1));
        let dearest = pieces.filter_map(|piece| piece.iter().max_by(|a, b| a.1.total_cmp(&b.1)));
        let who = format!("{}, seed {}", self.load, self.seed);
        let mut values: Vec<Value> = dearest
            .map(|(pass, cost_ns)| {
                json!({ "panel": self.panel, "load": self.load, "run": number, "pass": pass,
                        "cost": rounded(*cost_ns),
                        "tip": format!("{who}, pass {pass}: {}", format::duration(*cost_ns)) })
            })
            .collect();
        if let (Some(from), Some(cost_ns)) = (self.work.steady_from, self.work.cost_ns()) {
            values.push(json!({ "panel": self.panel, "load": self.load, "run": number,
                                "from": from + 1, "to": self.work.passes,
                                "steady": rounded(cost_ns) }));
        }
        values
    }
}

fn spec(axis: &Value, loads: &[&str]) -> Value {
    let tip = tip();
    let x = json!({ "field": "pass", "type": "quantitative", "title": "pass",
                    "scale": { "zero": false, "nice": false, "padding": 8 },
                    "axis": { "tickMinStep": 1, "format": "d", "grid": false } });
    let at = |field: &str| merged(x.clone(), json!({ "field": field }));
    let y = merged(axis.clone(), json!({ "field": "cost" }));
    let colour = json!({ "field": "load", "type": "nominal", "title": null, "sort": loads,
                         "legend": { "orient": "bottom" } });
    let passes = json!([{ "filter": "isValid(datum.cost)" }]);
    json!({
        "width": 250,
        "height": 130,
        "layer": [{
            "transform": passes,
            "mark": { "type": "line", "strokeWidth": 1.5, "aria": false },
            "encoding": { "x": x, "y": y, "color": colour,
                          "detail": { "field": "run", "type": "nominal" } },
        }, {
            "transform": [{ "filter": "isValid(datum.steady)" }],
            "mark": { "type": "rule", "strokeDash": [5, 3], "strokeWidth": 2, "aria": false },
            "encoding": { "x": at("from"), "x2": { "field": "to" },
                          "y": merged(axis.clone(), json!({ "field": "steady" })),
                          "color": colour },
        }, {
            "transform": passes,
            "mark": { "type": "point", "filled": true, "size": 34, "opacity": 0.9 },
            "encoding": { "x": x, "y": y, "color": colour,
                          "shape": { "field": "load", "type": "nominal", "title": null,
                                     "sort": loads, "legend": { "orient": "bottom" } },
                          "description": tip, "tooltip": tip },
        }],
    })
}
