//! The responsiveness matrix: the effect of each load on a small interaction, against no load.

mod claim;
mod matrix;
mod reading;
mod why_slow;

use std::collections::BTreeMap;

use model::{BASELINE, Line, Observation, Phase, Run};
use stats::{bounded_quantile, median};

use crate::remarks::{by_load, delays, status};
use crate::{Remarks, Setup, Skipped};
pub(crate) use claim::Units;
pub use claim::{Claim, Ratio, claims};
pub use matrix::{DELIVERED_AT_LEAST, LowerBounds, Matrix, Row, STALL_FACTOR};
pub use reading::Feeling;
use reading::{overall, reading};
pub use why_slow::{WhySlow, WorstSample};

impl Matrix {
    /// The matrix of the runs of one invocation.
    pub fn from_runs<'a>(runs: impl IntoIterator<Item = &'a Run>, skipped: Skipped) -> Self {
        let runs: Vec<&Run> = runs.into_iter().collect();
        let mut groups = by_load(&runs);
        groups.sort_by_key(|(load, _)| *load != BASELINE);
        let mut rows: Vec<Row> = groups.iter().map(|(load, group)| row(load, group)).collect();
        let baseline = groups.first().filter(|(load, _)| *load == BASELINE);
        let baseline = Units::from_runs(baseline.map_or(&[], |(_, group)| group));
        let reference_ns = reference_ns(&rows);
        let limit_ns = reference_ns.map(|reference_ns| STALL_FACTOR * reference_ns);
        let mut why_slow = Vec::new();
        for (row, (load, group)) in rows.iter_mut().zip(&groups) {
            if let Some(limit_ns) = limit_ns {
                row.stalled = row.delays_ns.iter().filter(|delay| delay.value > limit_ns).count();
                why_slow.extend(WhySlow::new(load, group, limit_ns));
            }
            if *load != BASELINE {
                row.ratio = Units::from_runs(group).ratio_to(&baseline);
            }
            row.reading = reading(row, reference_ns);
        }
        let loaded = Setup::of_first(&runs, |header| header.spec.load.name != BASELINE);
        let setup = loaded.or_else(|| Setup::of_first(&runs, |_| true));
        Self {
            setup: setup.map(|(_, setup)| setup).unwrap_or_default(),
            why_slow,
            reading: overall(&rows),
            rows,
            remarks: Remarks::new(&runs, skipped),
        }
    }

    /// Median delay without load, in ns.
    pub fn reference_ns(&self) -> Option<f64> {
        reference_ns(&self.rows)
    }
}

fn reference_ns(rows: &[Row]) -> Option<f64> {
    rows.first().filter(|row| row.load == BASELINE).and_then(|row| row.median_ns)
}

/// A row without figures that depend on the baseline.
fn row(load: &str, runs: &[&Run]) -> Row {
    let mut delays_ns: Vec<Observation> = Vec::new();
    let mut parts: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let (mut intended, mut delivered) = (0_u64, 0_u64);
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    let mut warm = true;
    for line in runs.iter().flat_map(|run| &run.lines) {
        delays_ns.extend(delays(line));
        match line {
            Line::Sample(sample) => {
                for (name, part_ns) in &sample.parts {
                    parts.entry(name).or_default().push(*part_ns as f64);
                }
            }
            Line::Delivered(dose) => {
                intended = intended.saturating_add(dose.intended);
                delivered = delivered.saturating_add(dose.delivered);
                let own = dose.totals.iter().map(|(name, amount)| (name.to_string(), *amount));
                for (name, amount) in own.chain([("elapsed_ns".to_owned(), dose.elapsed_ns)]) {
                    let total = totals.entry(name).or_default();
                    *total = total.saturating_add(amount);
                }
            }
            Line::Phase(record) if record.phase == Phase::NotWarm => warm = false,
            _ => {}
        }
    }
    let quantile = |probability| bounded_quantile(&delays_ns, probability);
    let (half, p90, max) = (quantile(0.5), quantile(0.9), quantile(1.0));
    let value = |found: Option<Observation>| found.map(|found| found.value);
    let is_bound = |found: Option<Observation>| found.is_some_and(|found| found.is_lower_bound);
    Row {
        load: load.to_owned(),
        version: runs[0].header.as_ref().map_or(0, |header| header.spec.load.version),
        censored: delays_ns.iter().filter(|delay| delay.is_lower_bound).count(),
        median_ns: value(half),
        p90_ns: value(p90),
        max_ns: value(max),
        lower_bounds: LowerBounds {
            median: is_bound(half),
            p90: is_bound(p90),
            max: is_bound(max),
        },
        ratio: None,
        stalled: 0,
        parts_ns: parts
            .into_iter()
            .filter_map(|(name, part)| Some((name.to_owned(), median(&part)?)))
            .collect(),
        delivered: (intended > 0).then(|| delivered as f64 / intended as f64),
        totals,
        warm,
        status: status(runs),
        reading: String::new(),
        delays_ns,
    }
}
