//! One line per level, and the two levels next to a knee.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::{Knee, KneeKind};

use super::{Curve, Point};

/// One level, with the medians of its measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The level, in the curve's unit.
    pub level: f64,
    /// How many measurements there are, with or without a cost.
    pub measurements: usize,
    /// Median cost.
    pub cost: Option<f64>,
    /// Lowest cost.
    pub lowest_cost: Option<f64>,
    /// Highest cost.
    pub highest_cost: Option<f64>,
    /// Irlam's column: the cost of the plateau's outermost level over that of this one.
    pub relative_speed: Option<f64>,
    /// Medians of the figures over the measurements that have them.
    pub figures: BTreeMap<String, f64>,
    /// Notes on its measurements.
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
pub(super) fn costs<'a>(points: impl IntoIterator<Item = &'a Point>) -> Vec<f64> {
    let costs = points.into_iter().filter_map(|point| point.cost);
    costs.filter(|cost| cost.is_finite() && *cost > 0.0).collect()
}

/// All levels, from low to high, without relative speeds.
pub(super) fn rows(curve: &Curve) -> Vec<Row> {
    by_level(curve).into_iter().map(|(level, points)| row(level, &points)).collect()
}

fn row(level: f64, points: &[&Point]) -> Row {
    let costs = costs(points.iter().copied());
    let mut problems: Vec<String> = points.iter().filter_map(|it| it.problem.clone()).collect();
    problems.sort();
    problems.dedup();
    // Over the points that have the name.
    let mut figures: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for (name, value) in points.iter().flat_map(|point| &point.figures) {
        figures.entry(name).or_default().push(*value);
    }
    let median =
        |(name, values): (&String, Vec<f64>)| Some((name.clone(), stats::median(&values)?));
    Row {
        level,
        measurements: points.len(),
        cost: stats::median(&costs),
        lowest_cost: costs.iter().copied().reduce(f64::min),
        highest_cost: costs.iter().copied().reduce(f64::max),
        relative_speed: None,
        figures: figures.into_iter().filter_map(median).collect(),
        problems,
    }
}

/// How well the two sides of a knee are separated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// Costs of the last level on the plateau, in the order of the measurements.
    pub capacity: Vec<f64>,
    /// Costs of the first level beyond it.
    pub beyond: Vec<f64>,
    /// Whether every cost beyond a step is above every cost on the plateau's side; otherwise the knee
    /// moves from pass to pass, or depends on the direction. Of a hinge the medians are compared.
    pub holds: bool,
}

/// The costs of both sides of a knee.
pub(super) fn verification(curve: &Curve, knee: &Knee) -> Verification {
    let [capacity, beyond] = [knee.capacity, knee.beyond]
        .map(|level| costs(curve.points.iter().filter(|point| point.level == level)));
    let holds = match knee.kind {
        KneeKind::Step => crate::extent(&beyond).0 > crate::extent(&capacity).1,
        KneeKind::Hinge => stats::median(&beyond) > stats::median(&capacity),
    };
    Verification { capacity, beyond, holds }
}
