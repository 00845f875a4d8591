//! The knee: the level at which the cost per unit of work leaves its plateau.
//!
//! Costs span orders of magnitude and their noise is proportional, so log cost is fitted over log
//! level. A threshold ("twice the cheapest") would move with the noise and call slow growth a cliff.
//! Instead, curves of one, two and three pieces compete, and one with a bend must be better by
//! Schwarz's criterion than a line, in which a breakpoint counts twice because it was chosen among all
//! places (Zhang and Siegmund 2007).
//!
//! What is found must also rise fast (within one doubling of the level), stay up, rest on more than a
//! single measurement, and come back in half of the bootstrap samples. "No knee up to LEVEL" is a
//! result with a reason, not a failure.
//!
//! docs/sweeps.md has the five steps, the interval, and error rates in simulations.

mod fit;
mod judge;
mod shape;
mod sums;

use judge::{FittedKnee, judge, largest_rise};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use sums::Point;

use crate::design::below;
use crate::{median, quantile};
pub use shape::{Knee, KneeKind, KneeSettings, Level, NoKnee, OtherKnee, Shape, WhyNoKnee};

/// Fewest levels for a knee: one more than a step has parameters.
pub const LEAST_LEVELS: usize = fit::STEP + 1;

/// Share of the bootstrap samples that must have a knee too.
const LEAST_SUPPORT: f64 = 0.5;

/// Where the cost of the `levels`, which ascend from above 0, leaves its plateau. Deterministic.
///
/// [`Shape::TooFew`] for fewer than four levels, levels that do not ascend from above 0, costs not
/// above 0, or settings out of range.
pub fn knee(levels: &[Level], settings: &KneeSettings) -> Shape {
    if let Err(what) = check(levels, settings) {
        return Shape::TooFew(what);
    }
    let curve = measured(levels);
    let minimum_rise = settings.least_rise.ln();
    let (kept, outlier) = without_outliers(&curve, minimum_rise);
    if kept.len() < LEAST_LEVELS {
        return Shape::TooFew(format!(
            "{} of {} levels are left without outliers: a knee needs {LEAST_LEVELS}",
            kept.len(),
            levels.len()
        ));
    }
    let (used, points): (Vec<&Level>, Vec<Point>) =
        kept.iter().map(|index| (&levels[*index], curve[*index])).unzip();
    let why = match judge(&points, minimum_rise) {
        Ok(found) => match described(&used, &points, &found, settings) {
            Some(knee) => return Shape::Knee(knee),
            None => WhyNoKnee::Noise,
        },
        Err(why) => why,
    };
    let from_outlier = outlier.filter(|_| why == WhyNoKnee::NeverRises);
    Shape::NoKnee(NoKnee {
        up_to: levels[levels.len() - 1].level,
        growth: fit::curves(&curve, minimum_rise).slope,
        largest_rise: largest_rise(&curve).exp(),
        why: from_outlier.unwrap_or(why),
    })
}

/// Why the levels or settings are unusable.
fn check(levels: &[Level], settings: &KneeSettings) -> Result<(), String> {
    if levels.len() < LEAST_LEVELS {
        return Err(format!("{} levels: a knee needs {LEAST_LEVELS} or more", levels.len()));
    }
    let positive = |value: f64| value > 0.0 && value.is_finite();
    for Level { level, costs } in levels {
        if !positive(*level) {
            return Err(format!("level {level} is not above 0"));
        }
        if costs.is_empty() {
            return Err(format!("level {level} has no cost: measure it, or leave it out"));
        }
        if let Some(cost) = costs.iter().find(|cost| !positive(**cost)) {
            return Err(format!("cost {cost} at level {level} is not above 0"));
        }
    }
    if let Some(pair) = levels.windows(2).find(|pair| pair[0].level >= pair[1].level) {
        return Err(format!(
            "level {} comes before {}: levels must ascend, each named once",
            pair[0].level, pair[1].level
        ));
    }
    let KneeSettings { confidence, least_rise, resamples, .. } = settings;
    let usable = crate::alpha(*confidence).is_some() && *least_rise > 1.0 && *resamples > 0;
    if !usable {
        return Err(format!(
            "confidence {confidence} must be between 0 and 1, least rise {least_rise} above 1, \
             resamples {resamples} above 0"
        ));
    }
    Ok(())
}

fn measured(levels: &[Level]) -> Vec<Point> {
    let point = |level: &Level| {
        let logs = level.logs();
        let (weight, x) = (logs.len() as f64, level.level.ln());
        let lowest = logs.iter().copied().reduce(f64::min)?;
        let highest = logs.iter().copied().reduce(f64::max)?;
        median(&logs).map(|y| Point { level: level.level, x, y, weight, lowest, highest })
    };
    levels.iter().filter_map(point).collect()
}

/// Indices without the outliers and lead of step 1, and the worst outlier.
fn without_outliers(points: &[Point], minimum_rise: f64) -> (Vec<usize>, Option<WhyNoKnee>) {
    let y = |index: usize| points[index].y;
    let sticks_out = |index: usize| {
        let neighbours = index > 0 && index + 1 < points.len();
        neighbours && y(index) - y(index - 1).max(y(index + 1)) >= minimum_rise
    };
    let (out, mut kept): (Vec<usize>, Vec<usize>) =
        (0..points.len()).partition(|index| sticks_out(*index));
    let worst = out.into_iter().max_by(|a, b| y(*a).total_cmp(&y(*b)));
    let leads = |position: usize| {
        let next: Vec<f64> = kept[position + 1..].iter().take(3).map(|index| y(*index)).collect();
        median(&next).is_some_and(|next| y(kept[position]) - next >= minimum_rise)
    };
    let start = (0..kept.len()).find(|position| !leads(*position)).unwrap_or(0);
    kept.drain(..start);
    (kept, worst.map(|index| WhyNoKnee::OneLevel { level: points[index].level }))
}

/// The knee with its interval; `None` if too few bootstrap samples have one.
fn described(
    levels: &[&Level],
    points: &[Point],
    found: &FittedKnee,
    settings: &KneeSettings,
) -> Option<Knee> {
    let deviations = Deviations::new(levels, points, found);
    let knees = resampled_ends(points, &deviations, settings);
    let support = knees.len() as f64 / settings.resamples as f64;
    if support < LEAST_SUPPORT {
        return None;
    }
    let bend = &found.bend;
    let (last, first) = (points[found.capacity], points[found.beyond]);
    let plateau = bend.plateau.at(last.x.min(bend.at));
    let (at, steepness) = match found.kind {
        KneeKind::Step => {
            (f64::midpoint(last.x, first.x), (first.y - plateau) / (first.x - last.x))
        }
        KneeKind::Hinge => (bend.at, bend.beyond.slope),
    };
    let level = at.exp();
    let outside = (1.0 - settings.confidence) / 2.0;
    let (lows, highs): (Vec<f64>, Vec<f64>) = knees.into_iter().unzip();
    let (own_low, own_high) = found.ends(points);
    // The bend of segments that do not meet may lie outside their gap.
    let (own_low, own_high) = (own_low.min(level), own_high.max(level));
    let (low, high) = (quantile(&lows, outside)?, quantile(&highs, 1.0 - outside)?);
    // Samples of a hinge may lean to one side: its longer arm holds on both.
    let arm =
        if found.kind == KneeKind::Hinge { (own_high / low).max(high / own_low) } else { 1.0 };
    let (low, high) = (low.min(own_low / arm), high.max(own_high * arm));
    Some(Knee {
        level,
        low,
        high,
        capacity: last.level,
        beyond: first.level,
        plateau_cost: plateau.exp(),
        rise: (first.y - plateau).exp(),
        steepness,
        support,
        kind: found.kind,
        others: others(points, found.capacity + 1, settings.least_rise.ln()),
    })
}

fn others(points: &[Point], mut from: usize, minimum_rise: f64) -> Vec<OtherKnee> {
    let mut others = vec![];
    while points.len() - from >= LEAST_LEVELS
        && let Ok(next) = judge(&points[from..], minimum_rise)
    {
        let (before, after) = (points[from + next.capacity], points[from + next.beyond]);
        let (capacity, beyond, rise) = (before.level, after.level, (after.y - before.y).exp());
        others.push(OtherKnee { capacity, beyond, rise });
        from += next.capacity + 1;
    }
    others
}

fn resampled_ends(
    points: &[Point],
    deviations: &Deviations,
    settings: &KneeSettings,
) -> Vec<(f64, f64)> {
    let minimum_rise = settings.least_rise.ln();
    let mut random = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut sample = points.to_vec();
    let mut knees = Vec::with_capacity(settings.resamples);
    for _ in 0..settings.resamples {
        for (index, (drawn, point)) in sample.iter_mut().zip(points).enumerate() {
            drawn.y = point.y + deviations.draw(index, point, &mut random);
        }
        knees.extend(judge(&sample, minimum_rise).ok().map(|found| found.ends(&sample)));
    }
    knees
}

/// Deviations of the costs, on the log scale.
enum Deviations {
    /// Deviations of all replicates from the middle of their level.
    Pooled(Vec<f64>),
    /// Deviation of each point from the curve.
    OfPoints(Vec<f64>),
}

impl Deviations {
    /// Pooled where there are replicates, else the residuals of the fit, corrected for freedom.
    fn new(levels: &[&Level], points: &[Point], found: &FittedKnee) -> Self {
        let mut pool = vec![];
        for (level, point) in levels.iter().zip(points).filter(|(_, point)| point.weight > 1.0) {
            let (logs, count) = (level.logs(), point.weight);
            let enlarged = (count / (count - 1.0)).sqrt();
            pool.extend(logs.iter().map(|log| (log - point.y) * enlarged));
        }
        if !pool.is_empty() {
            return Self::Pooled(pool);
        }
        let count = points.len() as f64;
        let enlarged = (count / (count - 4.0).max(1.0)).sqrt();
        let residual = |(index, point): (usize, &Point)| {
            (point.y - found.bend.fitted(index, point.x)) * enlarged
        };
        Self::OfPoints(points.iter().enumerate().map(residual).collect())
    }

    /// The deviation of a point in one bootstrap sample: the middle of as many draws as it has
    /// replicates, or its own with a random sign (the wild bootstrap; Wu 1986).
    fn draw(&self, index: usize, point: &Point, random: &mut Pcg64Mcg) -> f64 {
        match self {
            Self::Pooled(pool) => {
                let one = |_| pool[below(random, pool.len())];
                let drawn: Vec<f64> = (0..point.weight as usize).map(one).collect();
                median(&drawn).unwrap_or(0.0)
            }
            Self::OfPoints(own) if below(random, 2) == 1 => own[index],
            Self::OfPoints(own) => -own[index],
        }
    }
}
