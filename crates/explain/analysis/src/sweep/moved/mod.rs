//! Which counters moved at the knee.
//!
//! The rates of every counter and figure on the plateau are compared with those beyond. A rate is for
//! a unit of work, as the cost is, if work is known; else for a second; else for a measurement. Beyond
//! a knee less work is done in a second, so the rates of clocks for a unit of work rise too: if time
//! is known, the rate for a second must rise as well, and by more than the level.

mod conclusion;
mod meaning;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::Serialize;

use super::{Curve, End, Point, rows};
use crate::are_apart;
pub(super) use meaning::Cause;

/// Levels on each side of the knee that are compared, the nearest ones.
const LEVELS: usize = 5;
/// Factor, beyond the change of the level, from which a rate has moved.
const LEAST_FACTOR: f64 = 1.5;
/// Rank correlation with the cost from which a known counter counts although its ranges overlap.
const ASSOCIATED: f64 = 0.7;
/// How many movers are shown.
const MOST_MOVERS: usize = 12;

/// What the counters show of a knee.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Moved {
    /// Divisor of rates: `unit of work`, `s`, or `measurement`.
    pub per: String,
    /// Levels on the plateau that were compared, from the knee inwards.
    pub plateau: Vec<f64>,
    /// Levels beyond it that were compared, from the knee outwards.
    pub beyond: Vec<f64>,
    /// What moved, the best evidence first.
    pub movers: Vec<Mover>,
    /// Obvious suspects that did not move, in words.
    pub still: Vec<String>,
    /// The cause of the knee, in one line, if there are counters.
    pub conclusion: Option<String>,
}

/// A counter or figure that differs between the plateau and beyond.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Mover {
    /// Source and name: `vmstat.pgmajfault`; figures have no source.
    pub name: String,
    /// Other names under which the same thing was counted and moved.
    pub also: Vec<String>,
    /// Median on the plateau: a rate, or an amount if `is_amount`.
    pub before: f64,
    /// Median beyond it.
    pub after: f64,
    /// after / before; `None` if it was 0 before (it appeared), or is negative.
    pub factor: Option<f64>,
    /// Whether it is an amount (memory in page tables) and no rate.
    pub is_amount: bool,
    /// Whether the sides are apart, for a unit of work and for a second if both are known.
    pub separated: bool,
    /// Spearman's rank correlation with the cost over all levels.
    pub association: f64,
    /// The meaning of a known counter.
    pub meaning: Option<String>,
    #[serde(skip)]
    cause: Option<Cause>,
    /// The change on a logarithmic scale.
    #[serde(skip)]
    magnitude: f64,
}

impl Mover {
    /// The sort key: evidence of a cause, what accompanies one, unknown counters, clocks; then what is
    /// separated, then by the size of the change, whose bits are in order as it is not negative.
    fn rank(&self) -> impl Ord + use<> {
        let class = match self.cause {
            Some(Cause::Mapping | Cause::Accompanies) => 1,
            None => 2,
            Some(Cause::Clock) => 3,
            Some(_) => 0,
        };
        (class, !self.separated, Reverse(self.magnitude.abs().to_bits()), self.name.clone())
    }
}

impl Moved {
    /// Whether a counter that is evidence of this rose.
    pub(super) fn rose(&self, cause: Cause) -> bool {
        self.movers.iter().any(|mover| mover.cause == Some(cause) && mover.after > mover.before)
    }

    /// By how much a counter rose, by its name without source, if it is among the movers.
    pub(super) fn rise(&self, counter: &str) -> Option<f64> {
        let mover = self.movers.iter().find(|mover| meaning::bare(&mover.name) == counter)?;
        Some(mover.after - mover.before)
    }
}

/// What moved between the last level on the plateau and the first beyond it.
pub(super) fn moved(curve: &Curve, knee: (f64, f64), plateau: End) -> Moved {
    let sides = Sides::new(curve, knee, plateau);
    let mut movers: Vec<Mover> =
        names(curve).into_iter().filter_map(|name| sides.mover(name)).collect();
    movers.sort_by_cached_key(Mover::rank);
    let mut movers = merged(movers);
    let conclusion = conclusion::conclusion(curve, &movers);
    let still = conclusion::still(&sides.beyond);
    movers.truncate(MOST_MOVERS);
    let levels = |points: &[&Point]| crate::distinct(points.iter().map(|point| point.level));
    Moved {
        per: sides.per.0.to_owned(),
        plateau: levels(&sides.plateau),
        beyond: levels(&sides.beyond),
        movers,
        still,
        conclusion,
    }
}

/// All figures and counters except the work.
fn names(curve: &Curve) -> BTreeSet<&String> {
    let names = curve.points.iter().flat_map(|it| it.figures.keys().chain(it.counters.keys()));
    names.filter(|name| *name != "work").collect()
}

/// One mover, the first, for each meaning and direction, with the names of the others.
fn merged(movers: Vec<Mover>) -> Vec<Mover> {
    let key = |it: &Mover| (meaning::bare(&it.name).to_owned(), it.after > it.before);
    let groups = crate::grouped(movers.into_iter().map(|mover| (key(&mover), mover)));
    let groups = groups.into_iter().filter_map(|(_, group)| {
        let mut group = group.into_iter();
        let first = group.next()?;
        Some(Mover { also: group.map(|mover| mover.name).collect(), ..first })
    });
    groups.collect()
}

/// The name and the value of a rate's divisor; `None` if that was not measured.
type Per = (&'static str, fn(&Point) -> Option<f64>);

const WORK: Per = ("unit of work", |point| positive(point, "work"));
const SECOND: Per = ("s", |point| {
    positive(point, "elapsed_ns").map(|ns| ns / 1e9).or_else(|| positive(point, "elapsed_s"))
});
const MEASUREMENT: Per = ("measurement", |_| Some(1.0));

fn positive(point: &Point, figure: &str) -> Option<f64> {
    point.figures.get(figure).copied().filter(|value| *value > 0.0)
}

/// Measurements on the plateau and beyond it.
struct Sides<'a> {
    plateau: Vec<&'a Point>,
    beyond: Vec<&'a Point>,
    /// All levels that have a cost.
    all: Vec<(f64, Vec<&'a Point>)>,
    per: Per,
    /// Whether there are rates for a second.
    has_time: bool,
    /// Logarithm of the level beyond over that of the plateau, 0 or above.
    level_change: f64,
}

impl<'a> Sides<'a> {
    fn new(curve: &'a Curve, (capacity, first): (f64, f64), end: End) -> Self {
        let mut all = rows::by_level(curve);
        for (_, points) in &mut all {
            points.retain(|point| point.cost.is_some());
        }
        all.retain(|(_, points)| !points.is_empty());
        let mut outwards: Vec<_> = all.iter().collect();
        if end == End::High {
            outwards.reverse();
        }
        let nearest = |side: Vec<&(f64, Vec<&'a Point>)>| -> Vec<&'a Point> {
            side.into_iter().take(LEVELS).flat_map(|(_, points)| points.iter().copied()).collect()
        };
        let inwards = outwards.iter().rev().copied();
        let plateau = inwards.filter(|(at, _)| end.is_outside(capacity, *at)).collect();
        outwards.retain(|(at, _)| end.is_outside(*at, first));
        let (plateau, beyond) = (nearest(plateau), nearest(outwards));
        let has = |per: &Per| plateau.iter().chain(&beyond).all(|it| per.1(it).is_some());
        let level = |points: &[&Point]| {
            stats::median(&points.iter().map(|point| point.level).collect::<Vec<_>>())
        };
        let change = level(&beyond).zip(level(&plateau));
        let change = change.map_or(0.0, |(beyond, plateau)| (beyond / plateau).ln().abs());
        Self {
            per: [WORK, SECOND].into_iter().find(has).unwrap_or(MEASUREMENT),
            has_time: has(&SECOND),
            level_change: if change.is_finite() { change } else { 0.0 },
            plateau,
            beyond,
            all,
        }
    }

    /// The counter, if it moved.
    fn mover(&self, name: &str) -> Option<Mover> {
        let (cause, meaning) = meaning::meaning(name).unzip();
        let is_amount = cause == Some(Cause::PageTables);
        let per = if is_amount { MEASUREMENT } else { self.per };
        let mut mover = self.change(name, per)?;
        let mut certain = mover.association.abs();
        if per.0 == WORK.0 && self.has_time {
            let by_time = self.change(name, SECOND)?;
            // For a second it must go in the same direction, by more than noise.
            if by_time.magnitude.signum() != mover.magnitude.signum()
                || by_time.magnitude.abs() < LEAST_FACTOR.ln()
            {
                return None;
            }
            mover.separated &= by_time.separated;
            certain = certain.min(by_time.association.abs());
        }
        let is_known = cause.is_some_and(|cause| cause < Cause::Clock);
        let is_sure = mover.separated || (is_known && certain >= ASSOCIATED);
        let moves = mover.magnitude.abs() >= LEAST_FACTOR.ln() + self.level_change;
        let meaning = meaning.flatten().map(str::to_owned);
        (is_sure && moves).then_some(Mover { is_amount, meaning, cause, ..mover })
    }

    /// How a rate differs between the sides; `None` if it was not counted on both.
    fn change(&self, name: &str, per: Per) -> Option<Mover> {
        let sides = [&self.plateau, &self.beyond].map(|points| rates(points, name, per));
        let (before, after) = (stats::median(&sides[0])?, stats::median(&sides[1])?);
        // The rate of a single event, so that 0 has a logarithm.
        let divisors = self.plateau.iter().chain(&self.beyond).filter_map(|point| per.1(point));
        let one = stats::median(&divisors.collect::<Vec<_>>())?.recip();
        let of_level = |(_, points): &(f64, Vec<&Point>)| {
            let cost = stats::median(&rows::costs(points.iter().copied()))?;
            Some((stats::median(&rates(points, name, per))?, cost))
        };
        let (rates, costs): (Vec<f64>, Vec<f64>) = self.all.iter().filter_map(of_level).unzip();
        Some(Mover {
            name: name.to_owned(),
            before,
            after,
            factor: Some(after / before).filter(|factor| factor.is_finite() && *factor >= 0.0),
            separated: are_apart(&sides[0], &sides[1]),
            association: spearman(&rates, &costs).unwrap_or(0.0),
            magnitude: ((after.max(0.0) + one) / (before.max(0.0) + one)).ln(),
            ..Mover::default()
        })
    }
}

/// A figure or counter of each point that has it.
fn rates(points: &[&Point], name: &str, (_, divisor): Per) -> Vec<f64> {
    let rate = |point: &&Point| {
        let value = point.figures.get(name).or_else(|| point.counters.get(name))?;
        Some(value / divisor(point)?)
    };
    points.iter().filter_map(rate).collect()
}

/// Spearman's rank correlation: Pearson's on midranks; `None` if one of the two is constant.
fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    // Midranks, less their mean.
    let ranks = |values: &[f64]| -> Vec<f64> {
        let count = |is_it: &dyn Fn(&f64) -> bool| values.iter().filter(|it| is_it(it)).count();
        let rank = |value: &f64| {
            let (below, same) = (count(&|other| other < value), count(&|other| other == value));
            below as f64 + (same + 1) as f64 / 2.0 - (values.len() + 1) as f64 / 2.0
        };
        values.iter().map(rank).collect()
    };
    let (x, y) = (ranks(x), ranks(y));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let correlation = product(&x, &y) / (product(&x, &x) * product(&y, &y)).sqrt();
    Some(correlation).filter(|correlation| correlation.is_finite())
}
