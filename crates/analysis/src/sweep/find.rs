//! What the measurements of a sweep say.

use serde::Serialize;
use stats::{Knee, Shape};

use super::verification::verification;
use super::{
    Boundary, Curve, End, FaultCost, Headroom, Hysteresis, Moved, Row, Settings, Verification,
    fault_cost, hysteresis, moved, orient,
};

/// Irlam's capacity is the last level with at least this part of the first level's speed.
const CAPACITY_SPEED: f64 = 0.9;

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
