//! What the measurements of a sweep say.

use serde::Serialize;
use stats::{Knee, KneeKind, Shape};

use super::{
    Curve, FaultCost, Headroom, Hysteresis, Moved, Row, fault_cost, hysteresis, moved, orient, rows,
};

/// Irlam's capacity is the last level with at least this part of the first level's speed.
const CAPACITY_SPEED: f64 = 0.9;

/// How a curve is read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Coverage of intervals, from 0 to 1, both excluded.
    pub confidence: f64,
    /// Factor of the cost that counts as leaving the plateau, above 1.
    pub least_rise: f64,
    /// The level in use now, from which headroom is reckoned.
    pub present: Option<f64>,
    /// Bootstrap samples behind an interval.
    pub resamples: usize,
    /// Seed of these samples.
    pub seed: u64,
    /// At which end the plateau lies; `None` = where the cost is lower.
    pub plateau: Option<End>,
    /// How many counters are told at most.
    pub most_movers: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            least_rise: 1.5,
            present: None,
            resamples: 1000,
            seed: 0,
            plateau: None,
            most_movers: 12,
        }
    }
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

/// What the measurements of a sweep say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// One line a level, from low to high.
    pub rows: Vec<Row>,
    /// At which end the plateau lies.
    pub plateau: End,
    /// The knee, or that there is none, in the curve's own levels.
    ///
    /// Where the plateau lies at high levels the curve is fitted over 1 / level and turned back:
    /// then `beyond` is below `capacity`, `up_to` is the lowest level, `others` descend, and
    /// `steepness` and `growth` are negative, for the cost falls as the level grows.
    ///
    /// Where upward and downward passes have knees that differ, it spans both: from the last level
    /// on the plateau in both directions to the first that is on it in neither.
    pub shape: Shape,
    /// Irlam's capacity: the last level, coming from the plateau, with nine tenths of the first
    /// one's speed or more.
    pub capacity: Option<f64>,
    /// Where measuring ends, beyond the plateau.
    pub unmeasurable: Option<Boundary>,
    /// How well the two sides of the knee were told apart; `None` without knee.
    pub verification: Option<Verification>,
    /// The directions compared; `None` without knee, or if the levels near it were measured in
    /// one direction only.
    pub hysteresis: Option<Hysteresis>,
    /// What a fault costs.
    pub fault_cost: FaultCost,
    /// How far the present level is from the knee.
    pub headroom: Option<Headroom>,
    /// The counters that moved at the knee; `None` without knee.
    pub moved: Option<Moved>,
    /// The budget, if it ended the search for the knee early ([`super::Search::ended_by_budget`]).
    pub ended_by_budget: Option<usize>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

impl Found {
    /// The knee, if there is one.
    #[must_use]
    pub fn knee(&self) -> Option<&Knee> {
        knee_of(&self.shape)
    }
}

fn knee_of(shape: &Shape) -> Option<&Knee> {
    match shape {
        Shape::Knee(knee) => Some(knee),
        _ => None,
    }
}

/// Between the last level that can be measured and the first that cannot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boundary {
    /// The last level that has a cost.
    pub last: f64,
    /// The first that has none, nor has any beyond it.
    pub first: f64,
    /// Why it has none.
    pub reason: String,
}

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

/// Says what a curve's measurements tell.
#[must_use]
pub fn find(curve: &Curve, settings: &Settings) -> Found {
    let oriented = orient::orient(curve, settings);
    let orient::Oriented { rows, plateau, shape, unmeasurable, notes, .. } = oriented;
    let knee = knee_of(&shape);
    Found {
        capacity: capacity(&rows, plateau),
        verification: knee.map(|knee| verification(curve, knee)),
        hysteresis: knee.and_then(|knee| hysteresis::hysteresis(curve, knee, plateau, settings)),
        fault_cost: fault_cost::fault_cost(curve, settings),
        headroom: knee.zip(settings.present).and_then(|(knee, present)| {
            Headroom::new(plateau, present, knee.level, knee.low, knee.high)
        }),
        moved: knee.map(|knee| moved::moved(curve, knee, plateau, settings)),
        rows,
        plateau,
        shape,
        unmeasurable,
        ended_by_budget: None,
        notes,
    }
}

/// The last level, coming from the plateau, that is fast enough.
fn capacity(rows: &[Row], plateau: End) -> Option<f64> {
    let is_fast = |row: &&Row| row.relative_speed.is_some_and(|speed| speed >= CAPACITY_SPEED);
    let fast = match plateau {
        End::Low => rows.iter().rfind(is_fast),
        End::High => rows.iter().find(is_fast),
    };
    fast.map(|row| row.level)
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
