//! The knee of a curve, in the curve's own levels.

use stats::{Knee, KneeSettings, Level, NoKnee, OtherKnee, Shape, WhyNoKnee};

use super::{Curve, End, Settings, rows};

/// Levels that differ by less than this part are one that went through a logarithm.
const SAME: f64 = 1e-12;

/// The knee over the levels, or over 1 / level if the plateau lies at high ones. Levels that are not
/// above 0 have no logarithm and are left out.
pub(super) fn shape(curve: &Curve, plateau: End, settings: &Settings) -> Shape {
    let mut levels: Vec<Level> = Vec::new();
    for (level, points) in rows::by_level(curve) {
        let costs = rows::costs(&points);
        if level > 0.0 && !costs.is_empty() {
            levels.push(Level { level, costs });
        }
    }
    let knee_settings = KneeSettings {
        confidence: settings.confidence,
        least_rise: settings.least_rise,
        resamples: settings.resamples,
        seed: settings.seed,
    };
    let measured: Vec<f64> = levels.iter().map(|level| level.level).collect();
    if plateau == End::High {
        levels.reverse();
        for level in &mut levels {
            level.level = level.level.recip();
        }
    }
    in_levels(stats::knee(&levels, &knee_settings), plateau, &measured)
}

/// A shape in the levels that were measured: these went through logarithms, and through 1 / level
/// where the plateau lies at high ones.
fn in_levels(shape: Shape, plateau: End, measured: &[f64]) -> Shape {
    let level = |fitted: f64| {
        let fitted = if plateau == End::Low { fitted } else { fitted.recip() };
        // The end of an interval may be 0, and its reciprocal like no level that was measured.
        let is_same = |level: &&f64| fitted.is_finite() && (*level - fitted).abs() <= SAME * fitted;
        measured.iter().find(is_same).copied().unwrap_or(fitted)
    };
    let slope = |slope: f64| if plateau == End::Low { slope } else { -slope };
    match shape {
        Shape::Knee(knee) => {
            let (low, high) = (level(knee.low), level(knee.high));
            Shape::Knee(Knee {
                level: level(knee.level),
                low: low.min(high),
                high: low.max(high),
                capacity: level(knee.capacity),
                beyond: level(knee.beyond),
                steepness: slope(knee.steepness),
                others: knee
                    .others
                    .into_iter()
                    .map(|other| OtherKnee {
                        capacity: level(other.capacity),
                        beyond: level(other.beyond),
                        ..other
                    })
                    .collect(),
                ..knee
            })
        }
        Shape::NoKnee(none) => Shape::NoKnee(NoKnee {
            up_to: level(none.up_to),
            growth: slope(none.growth),
            why: match none.why {
                WhyNoKnee::OneLevel { level: at } => WhyNoKnee::OneLevel { level: level(at) },
                WhyNoKnee::Returns { level: at } => WhyNoKnee::Returns { level: level(at) },
                WhyNoKnee::LastLevelOnce { level: at } => {
                    WhyNoKnee::LastLevelOnce { level: level(at) }
                }
                WhyNoKnee::FirstLevelOnce { level: at } => {
                    WhyNoKnee::FirstLevelOnce { level: level(at) }
                }
                why => why,
            },
            ..none
        }),
        too_few => too_few,
    }
}
