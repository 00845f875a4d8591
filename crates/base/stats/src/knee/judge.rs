//! Is a fitted curve a knee?

use super::fit::{Bend, curves};
use super::sums::Point;
use super::{KneeKind, WhyNoKnee};

/// By how much Schwarz's criterion must prefer a bent curve.
const PREFERENCE: f64 = 2.0;

/// A level is still on the plateau within this part of the least rise,
const ON_PLATEAU: f64 = 0.25;

/// or within this part of the rise that follows, as a plateau need not be smooth.
const ON_PLATEAU_OF_RISE: f64 = 0.1;

/// A bend that is a knee, on points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FittedKnee {
    pub bend: Bend,
    pub kind: KneeKind,
    /// Index of the last point on the plateau.
    pub capacity: usize,
    /// Index of the first point that has left it.
    pub beyond: usize,
}

impl FittedKnee {
    /// The levels between which the plateau ends, equal where the segments meet.
    pub(super) fn ends(&self, points: &[Point]) -> (f64, f64) {
        let after = self.bend.after;
        match self.kind {
            KneeKind::Step => (points[self.capacity].level, points[self.beyond].level),
            KneeKind::Hinge if self.bend.joined => (self.bend.at.exp(), self.bend.at.exp()),
            KneeKind::Hinge => (points[after].level, points[after + 1].level),
        }
    }
}

/// The knee of the best curve through the points, or why there is none.
pub(super) fn judge(points: &[Point], minimum_rise: f64) -> Result<FittedKnee, WhyNoKnee> {
    let curves = curves(points, minimum_rise);
    let (first, last) = (&points[0], &points[points.len() - 1]);
    let straight = if largest_rise(points) < minimum_rise {
        WhyNoKnee::NeverRises
    } else if curves.slope * (last.x - first.x) >= minimum_rise {
        WhyNoKnee::GrowsSteadily
    } else {
        WhyNoKnee::Noise
    };
    let bend = match curves.bent {
        Some((bic, bend)) if bic + PREFERENCE <= curves.straight_bic => bend,
        _ => return Err(straight),
    };
    let above = |index: usize| points[index].y - extrapolated(&bend, points[index].x);
    let left = (bend.after + 1..points.len()).find(|index| above(*index) >= minimum_rise);
    let Some(beyond) = left.filter(|_| is_steep(points, &bend, minimum_rise)) else {
        return Err(straight);
    };
    if let Some(back) = (beyond..points.len()).find(|index| above(*index) < minimum_rise / 2.0) {
        return Err(WhyNoKnee::Returns { level: points[back].level });
    }
    // A segment of one point needs several values that agree.
    let agrees = |of: &Point, rise: f64| of.weight >= 2.0 && rise >= minimum_rise / 2.0;
    if bend.after == 0 && !agrees(first, points[beyond].y - first.highest) {
        return Err(WhyNoKnee::FirstLevelOnce { level: first.level });
    }
    if beyond + 1 == points.len() && !agrees(last, last.lowest - extrapolated(&bend, last.x)) {
        return Err(WhyNoKnee::LastLevelOnce { level: last.level });
    }
    // If the whole rise lies between two neighbours, so does the knee.
    let on_plateau = (ON_PLATEAU * minimum_rise).max(ON_PLATEAU_OF_RISE * above(beyond));
    let stepped = above(beyond - 1) <= on_plateau;
    let (kind, capacity) =
        if stepped { (KneeKind::Step, beyond - 1) } else { (KneeKind::Hinge, bend.after) };
    Ok(FittedKnee { bend, kind, capacity, beyond })
}

/// The plateau's cost at `x` beyond it, with its slope if it rises.
fn extrapolated(bend: &Bend, x: f64) -> f64 {
    bend.plateau.at(bend.at) + bend.plateau.slope.max(0.0) * (x - bend.at)
}

/// Does the curve rise by `minimum_rise` within one doubling of the level, or the next two points?
fn is_steep(points: &[Point], bend: &Bend, minimum_rise: f64) -> bool {
    let next = bend.after + 1;
    let last = points.len() - 1;
    let spacing = points[(next + 1).min(last)].x - points[next].x;
    let end = (bend.at + spacing.max(std::f64::consts::LN_2)).min(points[last].x);
    let x = end.max(points[next].x);
    bend.beyond.at(x) - extrapolated(bend, x) >= minimum_rise
}

/// The largest rise from any point to a later one.
pub(super) fn largest_rise(points: &[Point]) -> f64 {
    let mut lowest = f64::INFINITY;
    points.iter().fold(0.0, |largest: f64, point| {
        lowest = lowest.min(point.y);
        largest.max(point.y - lowest)
    })
}
