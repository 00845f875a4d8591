//! The ratio that a comparison detects, and the number of values that a verdict needs.
//!
//! Power is the chance of a *verdict*: the test rejects "the ratio is 1" and the estimate is
//! beyond the margin. Near the margin the second condition needs far more values than the first.
//!
//! All of it is the power of the t-test on logarithms. A spread is the standard deviation of
//! natural logarithms, of values or of pairs' ratios; for a rank test the one implied by its
//! interval.

use crate::distributions::{normal_cdf, t_critical};
use crate::search::first_where;

/// Most further values per side.
const MOST_VALUES: u64 = 1_000_000;

/// Fewest and most points of an integral.
const FEWEST_POINTS: f64 = 64.0;
const MOST_POINTS: f64 = 4096.0;

/// How many values a comparison has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleSizes {
    /// Two independent samples.
    Unpaired(u64, u64),
    /// Pairs.
    Paired(u64),
}

impl SampleSizes {
    /// Standard error of the mean difference for values, or differences of pairs, of spread 1.
    pub(crate) fn standard_error(self) -> f64 {
        match self {
            Self::Unpaired(n, m) => (1.0 / n as f64 + 1.0 / m as f64).sqrt(),
            Self::Paired(pairs) => (1.0 / pairs as f64).sqrt(),
        }
    }

    /// Degrees of freedom of t with equal variances.
    pub(crate) fn degrees_of_freedom(self) -> f64 {
        match self {
            Self::Unpaired(n, m) => n as f64 + m as f64 - 2.0,
            Self::Paired(pairs) => pairs as f64 - 1.0,
        }
    }

    fn and(self, more: u64) -> Self {
        match self {
            Self::Unpaired(n, m) => Self::Unpaired(n + more, m + more),
            Self::Paired(pairs) => Self::Paired(pairs + more),
        }
    }
}

/// The required power. Equivalence is tested at `alpha` on each side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Ratios from 1 / (1 + margin) to 1 + margin do not matter; 0 or more.
    pub margin: f64,
    /// Chance of a false rejection, above 0 and below 1.
    pub alpha: f64,
    /// Chance of a right one, above `alpha` and below 1.
    pub power: f64,
}

/// The smallest ratio above 1 that these samples show with this power to be different and beyond
/// the margin; its reciprocal is the largest below 1. `None` without a degree of freedom, for a
/// spread that is not finite, an impossible goal, or a ratio beyond the floats.
pub fn minimum_detectable_ratio(spread: f64, sizes: SampleSizes, goal: Goal) -> Option<f64> {
    let df = sizes.degrees_of_freedom();
    let possible = goal.alpha > 0.0 && goal.alpha < goal.power && goal.power < 1.0;
    if !(df >= 1.0 && spread >= 0.0 && goal.margin >= 0.0 && goal.margin.is_finite() && possible) {
        return None;
    }
    let unit = spread * sizes.standard_error();
    if unit == 0.0 {
        // Every ratio beyond the margin is detected.
        return Some(1.0 + goal.margin);
    }
    let test = NoncentralT::new(goal.alpha, df);
    let room = goal.margin.ln_1p() / unit;
    let lacking = |distance: f64| goal.power - test.rejection_beyond(distance, room);
    // False position (Illinois): an end that stays has its weight halved.
    let (mut low, mut high) = ((0.0, goal.power - goal.alpha), (1.0, lacking(1.0)));
    while high.1 > 0.0 {
        low = high;
        high = (2.0 * high.0, lacking(2.0 * high.0));
    }
    let mut last = low.0;
    let distance = loop {
        let middle = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
        if (middle - last).abs() <= 1e-9 * middle {
            break middle;
        }
        last = middle;
        let found = (middle, lacking(middle));
        if found.1 > 0.0 {
            (low, high.1) = (found, high.1 / 2.0);
        } else {
            (high, low.1) = (found, low.1 / 2.0);
        }
    };
    Some((distance * unit).exp()).filter(|ratio| ratio.is_finite())
}

/// Further values per side (or pairs) to show a true `ratio` beyond the margin to be different, or
/// one within it to be equivalent by two one-sided tests (Schuirmann 1987), whose joint power is
/// at least the sum of both powers less 1. `None` above a million, or for a ratio at the margin.
pub(crate) fn more_values_to_decide(
    ratio: f64,
    spread: f64,
    sizes: SampleSizes,
    goal: Goal,
) -> Option<u64> {
    let (effect, room) = (ratio.ln().abs(), goal.margin.ln_1p());
    if ratio.max(1.0 / ratio) > 1.0 + goal.margin {
        return fewest(effect.is_finite() && effect > room, sizes, |sizes| {
            let unit = spread * sizes.standard_error();
            let test = NoncentralT::new(goal.alpha, sizes.degrees_of_freedom());
            unit == 0.0 || test.rejection_beyond(effect / unit, room / unit) >= goal.power
        });
    }
    fewest(effect < room && room.is_finite(), sizes, |sizes| {
        let test = NoncentralT::new(2.0 * goal.alpha.min(0.49), sizes.degrees_of_freedom());
        let unit = spread * sizes.standard_error();
        let one = |distance: f64| test.rejection_beyond(distance / unit, 0.0);
        one(room - effect) + one(room + effect) - 1.0 >= goal.power
    })
}

/// Further values per side (or pairs) until the upper end is at most `widest` lower ends.
pub(crate) fn more_values_for_interval(
    widest: f64,
    spread: f64,
    sizes: SampleSizes,
    alpha: f64,
) -> Option<u64> {
    fewest(widest > 1.0, sizes, |sizes| {
        let critical = t_critical(alpha, sizes.degrees_of_freedom());
        2.0 * critical * spread * sizes.standard_error() <= widest.ln()
    })
}

/// The smallest number of further values that is `enough`, as are all larger ones.
fn fewest(usable: bool, sizes: SampleSizes, enough: impl Fn(SampleSizes) -> bool) -> Option<u64> {
    let enough = |more: u64| {
        let larger = sizes.and(more);
        larger.degrees_of_freedom() >= 1.0 && enough(larger)
    };
    if !usable || !enough(MOST_VALUES) {
        return None;
    }
    // Doubled first: small numbers are usual, and large ones are slow.
    let mut high = 0;
    while !enough(high) {
        high = (2 * high + 1).min(MOST_VALUES);
    }
    Some(first_where(high / 2, high, enough))
}

/// The chance that T exceeds a critical value for noncentral t, `distance` standard errors from the
/// null hypothesis: the mean of Φ(distance - critical · s) over s = √(χ² / df).
///
/// By the trapezoidal rule over ln s. Φ rises within 1 / critical: two points in it give nine
/// digits, unless that would take more than `MOST_POINTS` (two or three values, strict level): two.
struct NoncentralT {
    /// critical · s, and its share of the mean.
    points: Vec<(f64, f64)>,
}

impl NoncentralT {
    /// For the two-sided test at the level `alpha`.
    fn new(alpha: f64, df: f64) -> Self {
        let critical = t_critical(alpha, df);
        let spread = 8.0 / (2.0 * df).sqrt();
        let (left, right) = (-spread.max(24.0 / df), spread.min(2.0));
        let steps = ((right - left) * 2.0 * critical).ceil().clamp(FEWEST_POINTS, MOST_POINTS);
        let point = |step: u32| {
            let x = left + (right - left) * f64::from(step) / steps;
            let s = x.exp();
            (critical * s, (df * (x - s * s / 2.0 + 0.5)).exp())
        };
        let mut points: Vec<(f64, f64)> = (0..=steps as u32).map(point).collect();
        let total: f64 = points.iter().map(|(_, weight)| weight).sum();
        points.iter_mut().for_each(|(_, weight)| *weight /= total);
        points.retain(|(_, weight)| *weight > 1e-13);
        Self { points }
    }

    /// The chance that the test rejects and the estimate is `least` standard errors away or more.
    fn rejection_beyond(&self, distance: f64, least: f64) -> f64 {
        let chance = |limit: f64| normal_cdf(distance - limit.max(least));
        self.points.iter().map(|(limit, weight)| weight * chance(*limit)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: Goal = Goal { margin: 0.0, alpha: 0.05, power: 0.8 };
    const WITHIN: Goal = Goal { margin: 0.1, ..GOAL };

    #[test]
    fn more_values_detect_what_was_asked_for_and_one_less_does_not() {
        let sizes = SampleSizes::Unpaired(4, 3);
        let more = more_values_to_decide(1.1, 0.1, sizes, GOAL).unwrap();
        assert!(minimum_detectable_ratio(0.1, sizes.and(more), GOAL).unwrap() <= 1.1);
        assert!(minimum_detectable_ratio(0.1, sizes.and(more - 1), GOAL).unwrap() > 1.1);
        assert_eq!(more_values_to_decide(1.1, 0.1, sizes.and(more), GOAL), Some(0));
        assert_eq!(more_values_to_decide(1.0 / 1.1, 0.1, sizes, GOAL), Some(more));
    }

    #[test]
    fn equivalence_takes_more_the_nearer_the_ratio_is_to_the_margin() {
        let needed =
            |ratio| more_values_to_decide(ratio, 0.1, SampleSizes::Paired(2), WITHIN).unwrap();
        assert!(needed(1.0) < needed(1.04) && needed(1.04) < needed(1.09));
        assert_eq!(needed(1.04), needed(1.0 / 1.04));
    }

    #[test]
    fn near_the_margin_it_takes_far_more_than_to_reject_one() {
        let sizes = SampleSizes::Unpaired(5, 5);
        let away = more_values_to_decide(1.11, 0.02, sizes, GOAL).unwrap();
        let beyond = more_values_to_decide(1.11, 0.02, sizes, WITHIN).unwrap();
        assert!(away == 0 && beyond >= 2, "{away} {beyond}");
        // The estimate's own distance from the margin decides: 0.842 standard errors for 80 %.
        let least = minimum_detectable_ratio(0.02, SampleSizes::Unpaired(50, 50), WITHIN).unwrap();
        let expected = 1.1 * (0.8416 * 0.02 * 0.04_f64.sqrt()).exp();
        assert!((least - expected).abs() < 1e-5, "{least} {expected}");
        assert_eq!(more_values_to_decide(1.1, 0.02, sizes, WITHIN), None);
    }

    #[test]
    fn an_interval_of_two_pairs_needs_few_more_to_say_something() {
        let two = SampleSizes::Paired(2);
        let more = more_values_for_interval(2.0, 0.3, two, 0.05).unwrap();
        let factor = |pairs: u64| {
            let sizes = SampleSizes::Paired(pairs);
            let critical = t_critical(0.05, sizes.degrees_of_freedom());
            (2.0 * critical * 0.3 * sizes.standard_error()).exp()
        };
        assert!(factor(2 + more) <= 2.0 && factor(1 + more) > 2.0);
        assert_eq!(more_values_for_interval(1.0, 0.3, two, 0.05), None);
        assert_eq!(more_values_for_interval(2.0, 0.0, two, 0.05), Some(0));
    }

    #[test]
    fn without_spread_everything_is_seen() {
        let sizes = SampleSizes::Unpaired(2, 2);
        assert_eq!(minimum_detectable_ratio(0.0, sizes, GOAL), Some(1.0));
        assert_eq!(more_values_to_decide(1.001, 0.0, sizes, GOAL), Some(0));
        // One value has no spread of its own: a second one is needed.
        assert_eq!(more_values_to_decide(1.001, 0.0, SampleSizes::Paired(1), GOAL), Some(1));
    }

    #[test]
    fn what_cannot_be_reached_is_none() {
        let sizes = SampleSizes::Unpaired(5, 5);
        assert_eq!(more_values_to_decide(1.0, 0.1, sizes, GOAL), None);
        assert_eq!(more_values_to_decide(1.000_01, 1.0, sizes, GOAL), None);
        assert_eq!(more_values_to_decide(1.1, 0.1, sizes, WITHIN), None);
        assert_eq!(more_values_to_decide(f64::INFINITY, 0.1, sizes, GOAL), None);
        assert_eq!(minimum_detectable_ratio(0.1, SampleSizes::Paired(1), GOAL), None);
        assert_eq!(minimum_detectable_ratio(f64::NAN, sizes, GOAL), None);
        let timid = Goal { power: 0.01, ..GOAL };
        assert_eq!(minimum_detectable_ratio(0.1, sizes, timid), None);
    }
}
