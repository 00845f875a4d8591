//! One line a level.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Curve, End, Point};

/// One level, with the medians of its measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The level, in the curve's unit.
    pub level: f64,
    /// How many measurements there are, those without a cost included.
    pub measurements: usize,
    /// Median cost; `None` if no measurement has one.
    pub cost: Option<f64>,
    /// Lowest cost.
    pub lowest_cost: Option<f64>,
    /// Highest cost.
    pub highest_cost: Option<f64>,
    /// Irlam's column: the cost of the first level that has one, at the plateau's end, over the
    /// cost of this one.
    pub relative_speed: Option<f64>,
    /// Medians of the figures over the measurements that have them.
    pub figures: BTreeMap<String, f64>,
    /// What was said of its measurements.
    pub problems: Vec<String>,
}

/// Points by level, from low to high.
pub(super) fn by_level(curve: &Curve) -> Vec<(f64, Vec<&Point>)> {
    let mut points: Vec<&Point> =
        curve.points.iter().filter(|point| point.level.is_finite()).collect();
    points.sort_by(|a, b| a.level.total_cmp(&b.level));
    points.chunk_by(|a, b| a.level == b.level).map(|same| (same[0].level, same.to_vec())).collect()
}

/// Costs that a logarithm can be taken of.
pub(super) fn costs(points: &[&Point]) -> Vec<f64> {
    let is_cost = |cost: &f64| cost.is_finite() && *cost > 0.0;
    points.iter().filter_map(|point| point.cost).filter(is_cost).collect()
}

/// All levels, from low to high, without relative speeds.
pub(super) fn rows(curve: &Curve) -> Vec<Row> {
    by_level(curve).into_iter().map(|(level, points)| row(level, &points)).collect()
}

fn row(level: f64, points: &[&Point]) -> Row {
    let costs = costs(points);
    let problems: BTreeSet<&String> =
        points.iter().filter_map(|point| point.problem.as_ref()).collect();
    Row {
        level,
        measurements: points.len(),
        cost: stats::median(&costs),
        lowest_cost: costs.iter().copied().reduce(f64::min),
        highest_cost: costs.iter().copied().reduce(f64::max),
        relative_speed: None,
        figures: medians(points, |point| &point.figures),
        problems: problems.into_iter().cloned().collect(),
    }
}

/// Medians by name over the points that have the name.
pub(super) fn medians(
    points: &[&Point],
    of: impl Fn(&Point) -> &BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let mut values: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for (name, value) in points.iter().flat_map(|point| of(point)) {
        values.entry(name).or_default().push(*value);
    }
    let median = |(name, values): (&String, Vec<f64>)| {
        stats::median(&values).map(|median| (name.clone(), median))
    };
    values.into_iter().filter_map(median).collect()
}

/// Fills in the speeds relative to the level at the plateau's end.
pub(super) fn relate(rows: &mut [Row], plateau: End) {
    let mut costs = rows.iter().filter_map(|row| row.cost);
    let first = match plateau {
        End::Low => costs.next(),
        End::High => costs.next_back(),
    };
    for row in rows {
        row.relative_speed = first.zip(row.cost).map(|(first, cost)| first / cost);
    }
}
