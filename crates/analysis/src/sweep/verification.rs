//! How well the two sides of a knee were told apart.

use serde::Serialize;
use stats::{Knee, KneeKind};

use super::{Curve, rows};

/// How the two sides of a knee were told apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// Costs of the last level on the plateau, in the order of the measurements.
    pub capacity: Vec<f64>,
    /// Costs of the first level beyond it.
    pub beyond: Vec<f64>,
    /// Whether the sides stay what they are. Of a step every cost beyond must be above every cost
    /// on the plateau's side; if not, a side flipped: the knee moves from pass to pass, or depends
    /// on the direction. Of a hinge, whose sides are close, the medians must be in order.
    pub holds: bool,
}

/// The costs of both sides of a knee.
pub(super) fn verification(curve: &Curve, knee: &Knee) -> Verification {
    let costs = |level: f64| -> Vec<f64> {
        let points: Vec<_> = curve.points.iter().filter(|point| point.level == level).collect();
        rows::costs(&points)
    };
    let (capacity, beyond) = (costs(knee.capacity), costs(knee.beyond));
    let holds = match knee.kind {
        KneeKind::Step => {
            let highest = capacity.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            beyond.iter().all(|cost| *cost > highest)
        }
        KneeKind::Hinge => stats::median(&beyond) > stats::median(&capacity),
    };
    Verification { capacity, beyond, holds }
}
