//! Empirical distribution functions of response times.

use itertools::Itertools;
use model::Observation;
use serde_json::{Value, json};

use super::{Data, strips};
use crate::page::Measurement;
use analysis::distinct;
use render::charts::{domain, rounded, ticks};
use render::{Cell, Table};

/// Most steps per line; beyond that the line shows exact quantiles with both extremes.
const MOST_STEPS: usize = 80;
const FEWEST_STEPS: usize = 24;
const MOST_STEPS_OF_ALL: usize = 2400;
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 1.0];
/// With more measurements, each gets its own panels.
const MOST_TOGETHER: usize = 5;
const LOADED: &str = "this load";
const UNLOADED: &str = "without load";

struct Line {
    panel: String,
    name: String,
    /// Delays in ns: exact ones in ascending order, then the lower bounds.
    sorted: Vec<Observation>,
}

/// The steps of the function: a value, and the share of samples known to be at most that.
fn steps(sorted: &[Observation], most: usize) -> Vec<(f64, f64)> {
    let count = sorted.partition_point(|delay| !delay.is_lower_bound);
    let at = |rank: usize| (sorted[rank].value, (rank + 1) as f64 / sorted.len() as f64);
    if count <= most {
        return (0..count).map(at).collect();
    }
    (0..most).map(|step| at(step * (count - 1) / (most - 1))).collect()
}

fn sorted(one: &Measurement, load: &str) -> Vec<Observation> {
    let row = one.matrix.rows.iter().find(|row| row.load == load);
    let delays = row.into_iter().flat_map(|row| &row.delays_ns);
    let positive = |it: &Observation| Observation { value: it.value.max(1.0), ..*it };
    let order = |one: &Observation, other: &Observation| {
        one.is_lower_bound.cmp(&other.is_lower_bound).then(one.value.total_cmp(&other.value))
    };
    delays.map(positive).sorted_by(order).collect()
}

/// Quantiles; lower bounds if censored values may increase them.
fn quantiles<const N: usize>(sorted: &[Observation], parts: [f64; N]) -> [Option<Observation>; N] {
    let values = sorted.iter().map(|delay| delay.value).sorted_by(f64::total_cmp).collect_vec();
    parts.map(|part| {
        let rank = (part * sorted.len() as f64).ceil().max(1.0) as usize;
        let (highest, value) = (sorted.get(rank - 1)?, *values.get(rank - 1)?);
        let is_lower_bound = highest.is_lower_bound || highest.value > value;
        Some(Observation { value, is_lower_bound })
    })
}

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let together = (2..=MOST_TOGETHER).contains(&data.measurements.len());
    let (lines, names) = if together { side_by_side(data) } else { beside_baseline(data) };
    let mut table = Table::new("", ["load", "responses", "median", "p90", "p95", "p99", "worst"]);
    let order: Vec<String> = distinct(lines.iter().map(|line| line.panel.clone()));
    let mut values: Vec<Value> = Vec::new();
    let most = (MOST_STEPS_OF_ALL / lines.len().max(1)).clamp(FEWEST_STEPS, MOST_STEPS);
    for line in &lines {
        values.extend(steps(&line.sorted, most).into_iter().map(|(delay, part)| {
            json!({ "panel": line.panel, "line": line.name, "delay": rounded(delay),
                    "part": rounded(part) })
        }));
        if together || line.name == LOADED {
            let label = if together { &line.name } else { "" };
            let start = [Cell::from(strips::panel(&line.panel, label)), line.sorted.len().into()];
            let found = quantiles(&line.sorted, QUANTILES);
            table.row(start.into_iter().chain(found.map(|it| it.map(Cell::Duration).into())));
        }
    }
    let sorted = lines.iter().flat_map(|line| &line.sorted);
    let delays_ns: Vec<f64> = sorted.clone().map(|delay| delay.value).collect();
    let parts = json!({
        "values": values, "domain": domain(&delays_ns), "ticks": ticks(&delays_ns),
        "order": order, "names": names, "alone": !together,
        "colours": (!together).then_some(["#d55e00", "#888888"]),
        "open": sorted.clone().any(|delay| delay.is_lower_bound),
    });
    vec![(parts, table)]
}

fn side_by_side(data: &Data<'_>) -> (Vec<Line>, Vec<String>) {
    let lines = strips::drawn(data).into_iter().map(|(one, samples, _)| Line {
        panel: samples.load.clone(),
        name: data.label(one),
        sorted: sorted(one, &samples.load),
    });
    let names = data.measurements.iter().map(|one| data.label(one)).collect();
    (lines.filter(|line| !line.sorted.is_empty()).collect(), names)
}

fn beside_baseline(data: &Data<'_>) -> (Vec<Line>, Vec<String>) {
    let shown = strips::drawn(data);
    let mut lines = Vec::new();
    for (one, samples, panel) in &shown {
        let line = |(name, load): (&str, &str)| {
            let (panel, name) = (panel.clone(), name.to_owned());
            Line { panel, name, sorted: sorted(one, load) }
        };
        let own = (LOADED, samples.load.as_str());
        match samples.load == model::BASELINE {
            true if shown.len() > 1 => {}
            true => lines.push(line(own)),
            false => lines.extend([own, (UNLOADED, model::BASELINE)].map(line)),
        }
    }
    lines.retain(|line| !line.sorted.is_empty());
    (lines, [LOADED, UNLOADED].map(str::to_owned).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(values: impl IntoIterator<Item = f64>) -> Vec<Observation> {
        values.into_iter().map(Observation::exact).collect()
    }

    #[test]
    fn thinned_steps_are_exact_and_keep_both_ends() {
        let sorted = exact((1..=10_000).map(f64::from));
        let found = steps(&sorted, MOST_STEPS);
        assert_eq!(found.len(), MOST_STEPS);
        assert!(found.iter().all(|(value, part)| (value / 10_000.0 - part).abs() < 1e-12));
        assert_eq!((found[0].0, found[MOST_STEPS - 1]), (1.0, (10_000.0, 1.0)));
        assert_eq!(steps(&exact([3.0, 4.0]), MOST_STEPS), [(3.0, 0.5), (4.0, 1.0)]);
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values = exact([1.0, 2.0, 3.0, 4.0]);
        let found = quantiles(&values, [0.5, 1.0]);
        assert_eq!(found, [2.0, 4.0].map(|value| Some(Observation::exact(value))));
        assert_eq!(quantiles(&[], [0.5]), [None]);
    }

    #[test]
    fn what_was_given_up_is_no_step_and_makes_the_quantiles_behind_it_bounds() {
        let known = exact([1.0, 4.0]);
        let given_up = [2.0, 10.0].map(Observation::at_least);
        let sorted = [&known[..], &given_up[..]].concat();
        assert_eq!(steps(&sorted, MOST_STEPS), [(1.0, 0.25), (4.0, 0.5)]);
        let [quarter, half, all] = quantiles(&sorted, [0.25, 0.5, 1.0]);
        assert_eq!(quarter, Some(Observation::exact(1.0)));
        assert_eq!(half, Some(Observation::at_least(2.0)), "or 4");
        assert_eq!(all, Some(Observation::at_least(10.0)));
    }
}
