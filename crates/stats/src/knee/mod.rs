//! The knee: the level at which the cost per unit of work leaves its plateau.
//!
//! Two tools dropped their search for one as unreliable (schbench in 2023, Scylla's iotune). What
//! makes an answer trustworthy here: "no knee" is one, with its reason; a knee has an interval, and
//! the part of the bootstrap samples that agree.
//!
//! 1. Each level is the median of the logarithms of its costs. A level that is dearer than both
//!    its neighbours by the least rise is an outlier; a lead that is dearer than what follows
//!    (start-up, a second processor) is left out.
//! 2. Curves of one, two and three pieces are fitted by least squares to log cost over log level
//!    and compared by Schwarz's criterion. A bent one must be better than a line.
//! 3. The best curve must rise by the least rise above the plateau, or above what the plateau's own
//!    slope makes of it, within one doubling of the level (or within one distance of levels), and
//!    all further levels must stay above half of that: a gradual growth has no knee.
//! 4. A piece of a single level needs two or more replicates that agree.
//! 5. Bootstrap samples go through 2 to 4 again. Half of them must have a knee.
//!
//! In simulations (`tests/knee`) a flat curve has a knee in at most .3 % of all cases, one that grows
//! with elasticity .23 or 1 in at most 4.75 %. A step to twice the cost is found in at least 98 % of
//! the cases with nine levels, two replicates and noise of 10 %, in about half with noise of 20 %.
//! Intervals at .95 cover the truth in at least 93 % where there are replicates, else in 90 %.

mod fit;
mod judge;
mod resample;
mod shape;
mod sums;

use crate::{median, quantile};
use judge::{Found, judge, largest_rise};
use resample::{Deviations, resampled_ends};
use sums::Point;

pub use shape::{Knee, KneeKind, KneeSettings, Level, NoKnee, OtherKnee, Shape, WhyNoKnee};

/// Fewest levels that can show that a plateau was left, one more than a step has parameters; curves
/// of more pieces take more.
pub const LEAST_LEVELS: usize = fit::STEP + 1;

/// Part of the bootstrap samples that must have a knee too.
const LEAST_SUPPORT: f64 = 0.5;

/// Where the cost of the `levels` leaves its plateau, by the rules at the head of this module.
/// Levels ascend and are above 0, in any unit; what counts is their ratio.
///
/// **Step and hinge.** Wherever the fit has the bend: when one level is near the plateau (within a
/// quarter of the least rise, or a tenth of the rise that follows, both on the log scale) and the
/// next is at least the least rise above it, the knee is a step between the two, and its interval is
/// never narrower. Else it is a hinge, where the two pieces meet.
///
/// **Interval.** With replicates, the deviations of all of them from the middle of their level are
/// pooled, enlarged by √(n / (n - 1)), and drawn again for each level. Without, each level keeps its
/// own residual from the curve, with a random sign (the wild bootstrap; Wu 1986). Percentiles of
/// the samples' knees; a hinge has the longer arm on both sides. Drawn from `Pcg64Mcg` seeded with
/// the settings' seed: the same arguments give the same bytes.
///
/// What cannot be judged is [`Shape::TooFew`]: fewer than four levels, levels that do not ascend,
/// costs that are not above 0, or settings out of range.
pub fn knee(levels: &[Level], settings: &KneeSettings) -> Shape {
    if let Err(what) = check(levels, settings) {
        return Shape::TooFew(what);
    }
    let curve = measured(levels);
    let reach = settings.least_rise.ln();
    let (kept, outlier) = without_outliers(&curve, reach);
    if kept.len() < LEAST_LEVELS {
        return Shape::TooFew(format!(
            "{} of {} levels are left without outliers: a knee needs {LEAST_LEVELS}",
            kept.len(),
            levels.len()
        ));
    }
    let (used, points): (Vec<&Level>, Vec<Point>) =
        kept.iter().map(|index| (&levels[*index], curve[*index])).unzip();
    let why = match judge(&points, reach) {
        Ok(found) => match described(&used, &points, &found, settings) {
            Some(knee) => return Shape::Knee(knee),
            None => WhyNoKnee::Noise,
        },
        Err(why) => why,
    };
    let from_outlier = outlier.filter(|_| why == WhyNoKnee::NeverRises);
    Shape::NoKnee(NoKnee {
        up_to: levels[levels.len() - 1].level,
        growth: fit::curves(&curve, reach).slope,
        largest_rise: largest_rise(&curve).exp(),
        why: from_outlier.unwrap_or(why),
    })
}

/// What keeps the levels and settings from being used.
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
    let usable = crate::is_confidence(*confidence) && *least_rise > 1.0 && *resamples > 0;
    if !usable {
        return Err(format!(
            "confidence {confidence} must be between 0 and 1, least rise {least_rise} above 1, \
             resamples {resamples} above 0"
        ));
    }
    Ok(())
}

/// The levels on the log scale.
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

/// The places of the points without single ones that are dearer than both neighbours by `reach`, and
/// without the lead that is dearer than what follows; and the worst of the former.
fn without_outliers(points: &[Point], reach: f64) -> (Vec<usize>, Option<WhyNoKnee>) {
    let y = |index: usize| points[index].y;
    let sticks_out = |index: usize| {
        let neighbours = index > 0 && index + 1 < points.len();
        neighbours && y(index) - y(index - 1).max(y(index + 1)) >= reach
    };
    let (out, mut kept): (Vec<usize>, Vec<usize>) =
        (0..points.len()).partition(|index| sticks_out(*index));
    let worst = out.into_iter().max_by(|a, b| y(*a).total_cmp(&y(*b)));
    let leads = |position: usize| {
        let next: Vec<f64> = kept[position + 1..].iter().take(3).map(|index| y(*index)).collect();
        median(&next).is_some_and(|next| y(kept[position]) - next >= reach)
    };
    let start = (0..kept.len()).find(|position| !leads(*position)).unwrap_or(0);
    kept.drain(..start);
    (kept, worst.map(|index| WhyNoKnee::OneLevel { level: points[index].level }))
}

/// The knee with its interval; `None` if too few bootstrap samples have one.
fn described(
    levels: &[&Level],
    points: &[Point],
    found: &Found,
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
    // A hinge of pieces that do not meet may have its bend outside of the gap between them.
    let (own_low, own_high) = (own_low.min(level), own_high.max(level));
    let (low, high) = (quantile(&lows, outside)?, quantile(&highs, 1.0 - outside)?);
    // The samples of a hinge lean to one side now and then: its longer arm holds on both.
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

/// Knees of the points from one on.
fn others(points: &[Point], mut from: usize, reach: f64) -> Vec<OtherKnee> {
    let mut others = vec![];
    while points.len() - from >= LEAST_LEVELS
        && let Ok(next) = judge(&points[from..], reach)
    {
        let (before, after) = (points[from + next.capacity], points[from + next.beyond]);
        let (capacity, beyond, rise) = (before.level, after.level, (after.y - before.y).exp());
        others.push(OtherKnee { capacity, beyond, rise });
        from += next.capacity + 1;
    }
    others
}
