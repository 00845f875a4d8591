//! Memory jobs: the cost of a touch pass by pass, and the steady state.

use analysis::{MemoryWork, distinct};
use model::Run;
use serde_json::{Value, json};

use super::Data;
use super::strips::{MOST_PANELS, panel};
use render::charts::{domain, largest_of_chunks, rounded, ticks};
use render::{Cell, Table, format};

const MOST_RUNS: usize = 120;
const MOST_POINTS: usize = 2400;
const MOST_OF_ONE: usize = 120;

struct Drawn<'a> {
    /// Its job and levels, if there are several.
    panel: String,
    load: &'a str,
    seed: u64,
    /// Pass number from 1, and cost of a touch in ns.
    passes: Vec<(usize, f64)>,
    work: MemoryWork,
}

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let mut all = Vec::new();
    for jobs in data.jobs.iter().filter(|jobs| jobs.is_of_memory()) {
        let label = data.job_label(jobs);
        for (load, runs) in jobs.by_load() {
            all.extend(runs.into_iter().filter_map(|run| Drawn::from_run(run, load, &label)));
        }
    }
    let found = all.len();
    all.truncate(MOST_RUNS);
    let mut order: Vec<String> = distinct(all.iter().map(|one| one.panel.clone()));
    order.truncate(MOST_PANELS);
    all.retain(|one| order.contains(&one.panel));
    let most = (MOST_POINTS / all.len().max(1)).clamp(8, MOST_OF_ONE);
    let mut table = Table::new("", ["run", "seed", "passes", "steady from", "in the steady state"]);
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
    let passes = all.iter().flat_map(|one| &one.passes);
    let costs_ns: Vec<f64> = passes.map(|(_, cost_ns)| *cost_ns).collect();
    let parts = json!({
        "values": values, "domain": domain(&costs_ns), "ticks": ticks(&costs_ns),
        "one": order.len() == 1, "several": order.len() > 1,
        "columns": if order.len() == 2 { 2 } else { 3 }, "order": order,
        "loads": distinct(all.iter().map(|one| one.load)),
        "thinned": all.iter().any(|one| one.passes.len() > most), "cut": found > all.len(),
    });
    vec![(parts, table)]
}

impl<'a> Drawn<'a> {
    fn from_run(run: &Run, load: &'a str, label: &str) -> Option<Self> {
        let costs = MemoryWork::pass_costs_ns(run).into_iter().enumerate();
        let passes: Vec<(usize, f64)> =
            costs.filter_map(|(index, cost_ns)| Some((index + 1, cost_ns?))).collect();
        let seed = run.header.as_ref().map_or(0, |header| header.spec.seed);
        let work = MemoryWork::from_run(run).filter(|_| passes.len() > 1)?;
        Some(Self { panel: label.to_owned(), load, seed, passes, work })
    }

    fn values(&self, number: usize, most: usize) -> Vec<Value> {
        let who = format!("{}, seed {}", self.load, self.seed);
        let point = |(pass, cost_ns): (usize, f64)| {
            json!({ "panel": self.panel, "load": self.load, "run": number, "pass": pass,
                    "cost": rounded(cost_ns),
                    "tip": format!("{who}, pass {pass}: {}", format::duration(cost_ns)) })
        };
        let points = largest_of_chunks(&self.passes, most).into_iter().map(point);
        let mut values: Vec<Value> = points.collect();
        if let (Some(from), Some(cost_ns)) = (self.work.steady_from, self.work.cost_ns()) {
            values.push(json!({ "panel": self.panel, "load": self.load, "run": number,
                                "from": from + 1, "to": self.work.passes,
                                "steady": rounded(cost_ns) }));
        }
        values
    }
}
