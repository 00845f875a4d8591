//! Is a fitted curve a knee?

use super::fit::{Bend, Point, curves};
use super::{KneeKind, WhyNoKnee};

/// By how much Schwarz's criterion must prefer a bent curve.
const PREFERENCE: f64 = 4.0;

/// What is left of a rise of `reach` that is still on the plateau: a quarter of it.
const ON_PLATEAU: f64 = 0.25;

/// A bend that is a knee, on points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub bend: Bend,
    pub kind: KneeKind,
    /// Index of the last point on the plateau.
    pub capacity: usize,
    /// Index of the first point that has left it.
    pub beyond: usize,
}

impl Found {
    /// The levels between which the plateau ends, equal for a hinge. A bend that the fit has below
    /// the step's lower level may have begun there, within what counts as plateau.
    pub(super) fn ends(&self, points: &[Point]) -> (f64, f64) {
        match self.kind {
            KneeKind::Step => {
                let capacity = points[self.capacity].level;
                (capacity.min(self.bend.at.exp()), points[self.beyond].level)
            }
            KneeKind::Hinge => (self.bend.at.exp(), self.bend.at.exp()),
        }
    }
}

/// Which of the outermost points were measured so often that they may be a piece of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub first: bool,
    pub last: bool,
}

/// The knee of the best curve through the points, or why it has none.
pub(super) fn judge(points: &[Point], reach: f64, ends: Ends) -> Result<Found, WhyNoKnee> {
    let curves = curves(points, reach);
    let span = points[points.len() - 1].x - points[0].x;
    let straight = if largest_rise(points) < reach {
        WhyNoKnee::NeverRises
    } else if curves.line.slope * span >= reach {
        WhyNoKnee::GrowsSteadily
    } else {
        WhyNoKnee::Noise
    };
    let bent = curves.bent.filter(|bent| bent.bic + PREFERENCE <= curves.straight_bic);
    let Some(bend) = bent.map(|bent| bent.bend) else {
        return Err(straight);
    };
    if !is_steep(points, &bend, reach) {
        return Err(straight);
    }
    let above = |index: usize| points[index].y - extrapolated(&bend, points[index].x);
    let left = (bend.after + 1..points.len()).find(|index| above(*index) >= reach);
    let Some(beyond) = left else {
        return Err(straight);
    };
    if let Some(back) = (beyond..points.len()).find(|index| above(*index) < reach / 2.0) {
        return Err(WhyNoKnee::Returns { level: points[back].level });
    }
    if beyond == points.len() - 1 && bend.after + 2 == points.len() && !ends.last {
        return Err(WhyNoKnee::LastLevelOnce { level: points[beyond].level });
    }
    if bend.after == 0 && !ends.first {
        return Err(WhyNoKnee::FirstLevelOnce { level: points[0].level });
    }
    // Wherever the fit has the bend, if the whole rise lies between two neighbours, so does the knee.
    let stepped = above(beyond - 1) <= ON_PLATEAU * reach;
    let (kind, capacity) =
        if stepped { (KneeKind::Step, beyond - 1) } else { (KneeKind::Hinge, bend.after) };
    Ok(Found { bend, kind, capacity, beyond })
}

/// The plateau's cost at `x` beyond it: it goes on as before, if it rises.
fn extrapolated(bend: &Bend, x: f64) -> f64 {
    bend.plateau.at(bend.at) + bend.plateau.slope.max(0.0) * (x - bend.at)
}

/// Does the curve rise by `reach` above the plateau within one doubling of the level, or by the next
/// point where that is further?
fn is_steep(points: &[Point], bend: &Bend, reach: f64) -> bool {
    let doubled = (bend.at + std::f64::consts::LN_2).min(points[points.len() - 1].x);
    let x = doubled.max(points[bend.after + 1].x);
    bend.beyond.at(x) - extrapolated(bend, x) >= reach
}

/// The largest rise from any point to a later one.
pub(super) fn largest_rise(points: &[Point]) -> f64 {
    let mut lowest = f64::INFINITY;
    points.iter().fold(0.0, |largest: f64, point| {
        lowest = lowest.min(point.y);
        largest.max(point.y - lowest)
    })
}
