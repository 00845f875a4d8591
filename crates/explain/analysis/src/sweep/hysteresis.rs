//! Whether the cost of a level depends on the direction from which it is reached.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;
use stats::Knee;

use super::{Curve, End, Settings, fit, rows};
use crate::{are_apart, extent};

/// Standard errors from which a difference between the directions is certain.
const CERTAIN: f64 = 4.0;

/// The directions of a sweep compared near the knee.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hysteresis {
    /// Levels near the knee that were measured in both directions, from low to high.
    pub levels: Vec<Directions>,
    /// Median cost in downward passes over that in upward ones, where it is farthest from 1 among the
    /// levels at which it is certain, else among all.
    pub factor: f64,
    /// The knee of the upward passes alone.
    pub up: Option<KneeOf>,
    /// The knee of the downward passes alone.
    pub down: Option<KneeOf>,
    /// Whether directions certainly differ by the least rise, or their knees' intervals do not meet.
    pub is_there: bool,
}

/// The knee of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KneeOf {
    /// The knee.
    pub level: f64,
    /// Low end of its interval.
    pub low: f64,
    /// High end of its interval.
    pub high: f64,
}

/// One level in both directions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Directions {
    /// The level.
    pub level: f64,
    /// Costs in upward passes.
    pub up: Vec<f64>,
    /// Costs in downward passes.
    pub down: Vec<f64>,
}

/// The direction of a pass: its first level compared with its last.
const UP: Ordering = Ordering::Less;
const DOWN: Ordering = Ordering::Greater;

/// Compares the directions near `knee`; `None` without both, or on a deterministic subject.
pub(super) fn hysteresis(
    curve: &Curve,
    knee: &Knee,
    plateau: End,
    settings: &Settings,
) -> Option<Hysteresis> {
    if curve.deterministic {
        return None;
    }
    let ways = ways(curve);
    let (low, high) = extent(&[knee.low, knee.high, knee.capacity, knee.beyond]);
    let none_between = |from: f64, to: f64| {
        !curve.points.iter().any(|point| point.level > from && point.level < to)
    };
    let mut levels = Vec::new();
    for (level, points) in rows::by_level(curve) {
        let of =
            |way| rows::costs(points.iter().copied().filter(|it| ways.get(&it.pass) == Some(&way)));
        levels.push(Directions { level, up: of(UP), down: of(DOWN) });
    }
    // Within the knee's interval or its sides, or the next one outside.
    levels.retain(|it| none_between(it.level, low) && none_between(high, it.level));
    levels.retain(|level| !level.up.is_empty() && !level.down.is_empty());
    let noise = noise(&levels);
    let largest = |is_of: &dyn Fn(&&Directions) -> bool| {
        let logs = levels.iter().filter(is_of).filter_map(Directions::log_factor);
        logs.max_by(|a, b| a.abs().total_cmp(&b.abs()))
    };
    let (sure, any) = (largest(&|level| level.is_certain(noise)), largest(&|_| true)?);
    let [up, down] = knees(curve, plateau, settings);
    let apart = up.as_ref().zip(down.as_ref()).is_some_and(|(up, down)| !meet(up, down));
    let differ = sure.is_some_and(|log| log.abs() >= settings.knee.least_rise.ln());
    let knee_of = |knee: Knee| KneeOf { level: knee.level, low: knee.low, high: knee.high };
    Some(Hysteresis {
        factor: sure.unwrap_or(any).exp(),
        up: up.map(knee_of),
        down: down.map(knee_of),
        is_there: differ || apart,
        levels,
    })
}

/// The knees of upward and of downward passes alone.
pub(super) fn knees(curve: &Curve, plateau: End, settings: &Settings) -> [Option<Knee>; 2] {
    let ways = ways(curve);
    [UP, DOWN].map(|way| {
        let of_way = curve.points.iter().filter(|point| ways.get(&point.pass) == Some(&way));
        let part = Curve { points: of_way.cloned().collect(), ..Curve::default() };
        fit::shape(&part, plateau, settings).knee().cloned()
    })
}

/// Whether the intervals of two knees have a level in common.
pub(super) fn meet(a: &Knee, b: &Knee) -> bool {
    a.low <= b.high && b.low <= a.high
}

/// The knee from the last level on the plateau in both directions to the first on it in neither.
pub(super) fn spanning(up: &Knee, down: &Knee, plateau: End) -> Knee {
    let (first, last) = match (plateau, up.level < down.level) {
        (End::Low, true) | (End::High, false) => (up, down),
        _ => (down, up),
    };
    Knee {
        level: (up.level * down.level).sqrt(),
        low: up.low.min(down.low),
        high: up.high.max(down.high),
        support: up.support.min(down.support),
        beyond: last.beyond,
        others: last.others.clone(),
        ..first.clone()
    }
}

impl Directions {
    fn log_factor(&self) -> Option<f64> {
        Some((stats::median(&self.down)? / stats::median(&self.up)?).ln())
    }

    /// Whether the directions differ by more than noise: two measurements each at least, and apart.
    fn is_certain(&self, noise: Option<f64>) -> bool {
        let (up, down) = (self.up.len(), self.down.len());
        let error = noise.map(|noise| noise * (1.0 / up as f64 + 1.0 / down as f64).sqrt());
        let is_far =
            self.log_factor().zip(error).is_some_and(|(log, error)| log.abs() > CERTAIN * error);
        up.min(down) >= 2 && are_apart(&self.up, &self.down) && is_far
    }
}

/// Standard deviation of log cost within a level and direction, over all of them.
fn noise(levels: &[Directions]) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0);
    for costs in levels.iter().flat_map(|level| [&level.up, &level.down]) {
        let logs: Vec<f64> = costs.iter().map(|cost| cost.ln()).collect();
        let mean = stats::mean(&logs)?;
        squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        freedom += logs.len() - 1;
    }
    (freedom > 0).then(|| (squares / freedom as f64).sqrt())
}

/// The direction of each pass in order of time; one of a single level has none.
fn ways(curve: &Curve) -> BTreeMap<u32, Ordering> {
    let mut ends: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for point in &curve.points {
        ends.entry(point.pass).or_insert((point.level, point.level)).1 = point.level;
    }
    let way = |(pass, (first, last)): (u32, (f64, f64))| Some((pass, first.partial_cmp(&last)?));
    ends.into_iter().filter_map(way).collect()
}
