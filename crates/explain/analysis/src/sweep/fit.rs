//! The knee of a curve, in the curve's own levels.

use stats::{Knee, Level, NoKnee, Shape, WhyNoKnee};

use super::{Curve, End, Settings, rows};

/// Relative difference below which levels are the same, as logarithms round.
const SAME: f64 = 1e-12;

/// The knee over the levels above 0, or over 1 / level if the plateau lies at high ones.
pub(super) fn shape(curve: &Curve, plateau: End, settings: &Settings) -> Shape {
    let levels = rows::by_level(curve)
        .into_iter()
        .map(|(level, points)| Level { level, costs: rows::costs(points) });
    let mut levels: Vec<Level> =
        levels.filter(|level| level.level > 0.0 && !level.costs.is_empty()).collect();
    let measured: Vec<f64> = levels.iter().map(|level| level.level).collect();
    if plateau == End::High {
        levels.reverse();
        levels.iter_mut().for_each(|level| level.level = level.level.recip());
    }
    in_levels(stats::knee(&levels, &settings.knee), plateau, &measured)
}

/// A shape in the levels that were measured, from logarithms and maybe 1 / level.
fn in_levels(mut shape: Shape, plateau: End, measured: &[f64]) -> Shape {
    let level = |fitted: &mut f64| {
        let own = if plateau == End::Low { *fitted } else { fitted.recip() };
        // The end of an interval may be 0.
        let is_same = |level: &&f64| own.is_finite() && (*level - own).abs() <= SAME * own;
        *fitted = measured.iter().find(is_same).copied().unwrap_or(own);
    };
    let slope = |slope: &mut f64| *slope *= if plateau == End::Low { 1.0 } else { -1.0 };
    match &mut shape {
        Shape::Knee(Knee { level: at, low, high, capacity, beyond, others, steepness, .. }) => {
            [at, low, high, capacity, beyond].into_iter().for_each(level);
            let others = others.iter_mut();
            others.flat_map(|other| [&mut other.capacity, &mut other.beyond]).for_each(level);
            slope(steepness);
        }
        Shape::NoKnee(NoKnee { up_to, growth, why, .. }) => {
            level(up_to);
            slope(growth);
            if let WhyNoKnee::OneLevel { level: at }
            | WhyNoKnee::Returns { level: at }
            | WhyNoKnee::LastLevelOnce { level: at }
            | WhyNoKnee::FirstLevelOnce { level: at } = why
            {
                level(at);
            }
        }
        Shape::TooFew(_) => {}
    }
    if let Shape::Knee(Knee { low, high, .. }) = &mut shape {
        (*low, *high) = (low.min(*high), low.max(*high));
    }
    shape
}
