//! The measurements of a sweep, and how they are read.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Pressure;

/// Measurements over the levels of one parameter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// The source: a folder, a file, `reference:NAME`.
    pub name: String,
    /// What was varied: `vmtest.size`, `subject.mem`, the heading of a column.
    pub parameter: String,
    /// Unit of the levels: `bytes`, `ns`, `MB` as a table had it; empty for a bare number.
    pub level_unit: String,
    /// The cost of a unit of work: `touch_ns`, `delay_ns`, `elapsed_s per MB`.
    pub response: String,
    /// Unit of the cost: `ns`, `s`; empty for a bare number.
    pub cost_unit: String,
    /// The measurements, in order of time if that is known.
    pub points: Vec<Point>,
    /// Whether equal inputs give equal values.
    pub deterministic: bool,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// One measurement of one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// The level, in the curve's unit.
    pub level: f64,
    /// The run's name, or its place in the source.
    pub name: String,
    /// Which pass over levels it belongs to, from 0; odd passes go downwards.
    pub pass: u32,
    /// Cost of a unit of work in the steady state.
    pub cost: Option<f64>,
    /// Whether the cost is a lower bound: too many responses had no completion.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_lower_bound: bool,
    /// Why there is no cost, or a doubt about it.
    pub problem: Option<String>,
    /// Total usage of the work: `elapsed_ns`, `user_ns`, `system_ns`, `faults`, `major_faults`,
    /// `swap_ins`, `page_walks`, `work`.
    pub figures: BTreeMap<String, f64>,
    /// Increases of kernel counters meanwhile, by source and name: `vmstat.pgmajfault`.
    pub counters: BTreeMap<String, f64>,
    /// Largest sizes of the control group meanwhile: `peak_bytes` as the kernel keeps it,
    /// `largest_reading_bytes`, `anonymous_bytes`, `file_bytes`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, f64>,
    /// How long tasks were stalled meanwhile, if that was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
}

/// What a limit may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceSettings {
    /// The extra cost that is acceptable, as a part of the cost without a limit, above 0.
    pub price: f64,
    /// The factor of the cost from which lower limits are not tried, above 1 + `price`.
    pub most: f64,
}

impl Default for PriceSettings {
    fn default() -> Self {
        Self { price: 0.05, most: 10.0 }
    }
}

/// How a curve is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// How the knee is found; its confidence holds for all intervals.
    pub knee: stats::KneeSettings,
    /// The level in use now, for the headroom.
    pub present: Option<f64>,
    /// The end of the plateau; `None` = where the cost is lower.
    pub plateau: Option<End>,
    /// What a limit may cost; `None` = the knee is looked for. With it the search takes the first
    /// end of the range for no limit, goes down until the work dies or is too expensive, narrows
    /// where the price is reached and where the work dies, and measures both sides again.
    pub price: Option<PriceSettings>,
}

/// An end of the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Low levels, as for a footprint that grows.
    Low,
    /// High levels, as for a limit that shrinks.
    High,
}

impl End {
    /// Whether a level is another one or farther from the plateau.
    pub(super) fn is_outside(self, level: f64, other: f64) -> bool {
        match self {
            Self::Low => level >= other,
            Self::High => level <= other,
        }
    }
}

impl Curve {
    /// Removes lower bounds below an exact cost. One above all is at least a step of that height.
    pub fn leave_out_small_bounds(&mut self) {
        let exact = self.points.iter().filter(|point| !point.is_lower_bound);
        let (_, largest) = crate::extent(&exact.filter_map(|it| it.cost).collect::<Vec<f64>>());
        for point in self.points.iter_mut().filter(|point| point.is_lower_bound) {
            point.cost = point.cost.filter(|cost| *cost >= largest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_counts_only_above_what_was_measured() {
        let point = |cost, is_lower_bound| Point { cost, is_lower_bound, ..Point::default() };
        let measured = [(1.0, false), (9.0, false), (5.0, true), (10.0, true)];
        let points = measured.map(|(cost, is_bound)| point(Some(cost), is_bound)).to_vec();
        let mut curve = Curve { points, ..Curve::default() };
        curve.leave_out_small_bounds();
        let costs: Vec<_> = curve.points.iter().map(|point| point.cost).collect();
        assert_eq!(costs, [Some(1.0), Some(9.0), None, Some(10.0)]);
    }
}
