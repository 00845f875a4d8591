//! What the measurements of a sweep say.

use serde::Serialize;
use stats::{Knee, Shape};

use super::rows::{Verification, verification};
use super::{
    Boundary, Curve, End, FaultCost, Hysteresis, Moved, Row, Settings, fault_cost, hysteresis,
    moved, orient,
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
    /// Irlam's capacity: the last level from the plateau with nine tenths of the first one's speed.
    pub capacity: Option<f64>,
    /// Where measuring ends, beyond the plateau.
    pub unmeasurable: Option<Boundary>,
    /// How well the two sides of the knee were told apart; `None` without knee.
    pub verification: Option<Verification>,
    /// The directions compared; `None` without knee, or if only one was measured near it.
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

/// How far the present level is from the knee.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Headroom {
    /// The present level.
    pub present: f64,
    /// By which factor the level can change before the knee: knee / present where the plateau lies
    /// at low levels, present / knee where it lies at high ones. Below 1 the knee is passed.
    pub factor: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
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
    let orient::Oriented { rows, plateau, shape, unmeasurable, notes, .. } =
        orient::orient(curve, settings);
    let knee = knee_of(&shape);
    let is_fast = |row: &&Row| row.relative_speed.is_some_and(|speed| speed >= CAPACITY_SPEED);
    let capacity = match plateau {
        End::Low => rows.iter().rfind(is_fast),
        End::High => rows.iter().find(is_fast),
    };
    Found {
        capacity: capacity.map(|row| row.level),
        verification: knee.map(|knee| verification(curve, knee)),
        hysteresis: knee.and_then(|knee| hysteresis::hysteresis(curve, knee, plateau, settings)),
        fault_cost: fault_cost::fault_cost(curve, settings),
        headroom: knee.and_then(|knee| headroom(plateau, settings.present?, knee)),
        moved: knee.map(|knee| moved::moved(curve, knee, plateau, settings)),
        rows,
        plateau,
        shape,
        unmeasurable,
        ended_by_budget: None,
        notes,
    }
}

/// `None` if a level is not above 0, so that there is no ratio.
fn headroom(plateau: End, present: f64, knee: &Knee) -> Option<Headroom> {
    let Knee { level, low, high, .. } = *knee;
    if [present, level, low, high].iter().any(|level| *level <= 0.0) {
        return None;
    }
    let (factor, low, high) = match plateau {
        End::Low => (level / present, low / present, high / present),
        End::High => (present / level, present / high, present / low),
    };
    Some(Headroom { present, factor, low, high })
}
