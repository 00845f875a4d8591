//! Whether the cost of a level depends on the direction from which it is reached.

use serde::Serialize;
use stats::Knee;

use super::{Curve, Settings};

/// The directions of a sweep compared near the knee.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hysteresis {
    /// Levels near the knee that were measured in both directions, from low to high.
    pub levels: Vec<Directions>,
    /// Cost in downward passes over that in upward ones, at the level where it is farthest from 1
    /// beyond the noise; `None` if no level was measured in both.
    pub factor: Option<f64>,
    /// The knee of the upward passes alone, with its interval, if they have one.
    pub up: Option<(f64, f64, f64)>,
    /// The same for the downward passes.
    pub down: Option<(f64, f64, f64)>,
    /// Whether the directions differ by more than `least_rise`, or their knees do not overlap.
    pub is_there: bool,
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

/// Compares the directions near `knee`.
pub(super) fn hysteresis(curve: &Curve, knee: &Knee, settings: &Settings) -> Option<Hysteresis> {
    let _ = (curve, knee, settings);
    None
}
