//! Memory jobs: the cost of a touch in the steady state by level and load.

use analysis::{MemoryWork, distinct};
use itertools::Itertools;
use model::BASELINE;
use serde_json::{Value, json};
use stats::median;

use super::Data;
use super::strips::panel;
use render::charts::{rounded, ticks};
use render::{Cell, Table, format};

/// Drawn rows; the table has all.
const MOST: usize = 60;

struct Row {
    label: String,
    load: String,
    /// Costs of a touch in the runs, ascending.
    costs_ns: Vec<f64>,
    median_ns: f64,
    /// Ratio of the medians with and without load.
    ratio: Option<f64>,
}

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let rows = rows(data);
    if rows.len() < 2 {
        return Vec::new();
    }
    let mut table = Table::new("", ["what", "runs", "median", "lowest", "highest", "to no load"]);
    for row in &rows {
        let [low_ns, high_ns] = row.ends_ns();
        let costs = [row.median_ns, low_ns, high_ns].map(Cell::duration);
        let start = [Cell::from(&row.label), row.costs_ns.len().into()];
        table.row(start.into_iter().chain(costs).chain([row.ratio.map(Cell::ratio).into()]));
    }
    let drawn = &rows[..rows.len().min(MOST)];
    let ends: Vec<f64> = drawn.iter().flat_map(Row::ends_ns).collect();
    let high_ns = ends.iter().copied().fold(0.0, f64::max);
    let low_ns = ends.iter().copied().fold(f64::INFINITY, f64::min);
    // Room for the text next to the longest bar.
    let room = (high_ns / low_ns).powf(0.3).max(1.3);
    let parts = json!({
        "values": drawn.iter().map(Row::value).collect::<Vec<_>>(),
        "order": drawn.iter().map(|row| &row.label).collect::<Vec<_>>(),
        "loads": distinct(drawn.iter().map(|row| &row.load)),
        "domain": [rounded(low_ns / 1.15), rounded(high_ns * room)],
        "ticks": ticks(&ends),
    });
    vec![(parts, table)]
}

fn rows(data: &Data<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for jobs in data.jobs.iter().filter(|jobs| jobs.is_of_memory()) {
        let label = data.job_label(jobs);
        let mut quiet_ns = None;
        for (load, runs) in jobs.by_load() {
            let costs = runs.into_iter().filter_map(|run| MemoryWork::from_run(run)?.cost_ns());
            let costs_ns = costs.sorted_by(f64::total_cmp).collect_vec();
            let Some(median_ns) = median(&costs_ns) else { continue };
            if load == BASELINE {
                quiet_ns = Some(median_ns);
            }
            let ratio = quiet_ns.filter(|_| load != BASELINE).map(|quiet_ns| median_ns / quiet_ns);
            let (label, load) = (panel(load, &label), load.to_owned());
            rows.push(Row { label, load, costs_ns, median_ns, ratio });
        }
    }
    rows
}

impl Row {
    fn ends_ns(&self) -> [f64; 2] {
        [self.costs_ns[0], self.costs_ns[self.costs_ns.len() - 1]]
    }

    fn value(&self) -> Value {
        let [low_ns, high_ns] = self.ends_ns();
        let ratio =
            self.ratio.map_or_else(String::new, |ratio| format!(", {}", format::times(ratio)));
        let text = format!("{}{ratio}", format::duration(self.median_ns));
        let several = match self.costs_ns.len() {
            1 => String::new(),
            runs => format!(" (median of {runs} runs)"),
        };
        json!({
            "label": self.label, "load": self.load,
            "cost": rounded(self.median_ns), "low": rounded(low_ns), "high": rounded(high_ns),
            "text": text, "tip": format!("{}: {text}{several}", self.label),
        })
    }
}
