//! The two points omitted from a printed summary of five.
//!
//! One number is free. [`FivePoints::recovered`] tries the second point in short intervals and
//! keeps those consistent with the printed figures, by interval arithmetic.

use serde::Serialize;

/// Number of intervals for the second point.
const STEPS: u32 = 2_000;
/// Relative error of arithmetic.
const ARITHMETIC: f64 = 1e-11;

/// The range of a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The lowest possible value.
    pub low: f64,
    /// The highest possible value.
    pub high: f64,
}

impl Bounds {
    /// The range of a printed `value`, rounded to within `half_unit`.
    pub fn printed(value: f64, half_unit: f64) -> Self {
        let slack = half_unit * (1.0 + 1e-6) + value.abs() * ARITHMETIC;
        Self { low: value - slack, high: value + slack }
    }

    /// Its middle.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// Its distance to either end.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }

    fn minus(self, other: Self) -> Self {
        Self { low: self.low - other.high, high: self.high - other.low }
    }

    /// Multiplies by a nonnegative factor.
    fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    fn squared(self) -> Self {
        let (low, high) = (self.low.powi(2), self.high.powi(2));
        let least = if self.low <= 0.0 && self.high >= 0.0 { 0.0 } else { low.min(high) };
        Self { low: least, high: low.max(high) }
    }

    fn meets(self, other: Self) -> Option<Self> {
        let both = Self { low: self.low.max(other.low), high: self.high.min(other.high) };
        (both.low <= both.high).then_some(both)
    }

    /// The smallest bounds around both.
    fn around(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// Another printed figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Nothing.
    Unknown,
    /// The standard deviation with divisor n - 1.
    Deviation(Bounds),
    /// The [`one_sd_mean`](crate::one_sd_mean).
    OneSdMean(Bounds),
}

/// The printed figures of five points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FivePoints {
    /// The lowest.
    pub low: Bounds,
    /// The third.
    pub median: Bounds,
    /// The highest.
    pub high: Bounds,
    /// Their mean.
    pub average: Bounds,
}

/// The unprinted points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovered {
    /// The second lowest.
    pub second: Bounds,
    /// The second highest, which falls as the second rises.
    pub fourth: Bounds,
    /// The [`one_sd_mean`](crate::one_sd_mean).
    pub one_sd_mean: Bounds,
}

impl FivePoints {
    /// The possible second and fourth points; `None` if no five points have these figures.
    pub fn recovered(&self, spread: Spread) -> Option<Recovered> {
        let (from, to) = (self.low.low, self.median.high.max(self.low.low));
        let edge = |step: u32| from + (to - from) * f64::from(step) / f64::from(STEPS);
        let piece = |step| Bounds { low: edge(step), high: edge(step + 1) };
        let possible = (0..STEPS).filter_map(|step| self.with_second(piece(step), spread));
        possible.reduce(|one, other| Recovered {
            second: one.second.around(other.second),
            fourth: one.fourth.around(other.fourth),
            one_sd_mean: one.one_sd_mean.around(other.one_sd_mean),
        })
    }

    /// As [`Self::recovered`], with the second point in part of its range.
    fn with_second(&self, second: Bounds, spread: Spread) -> Option<Recovered> {
        let both = self.average.times(5.0).minus(self.low).minus(self.median).minus(self.high);
        let above = Bounds { low: self.median.low, high: self.high.high };
        let fourth = both.minus(second).meets(above)?;
        let second = second.meets(both.minus(fourth))?;
        let points = [self.low, second, self.median, fourth, self.high];
        let deviation = self.deviation(&points);
        let mut means = one_sd_means(&points, deviation);
        match spread {
            Spread::Unknown => {}
            Spread::Deviation(printed) => {
                deviation.meets(printed)?;
            }
            Spread::OneSdMean(printed) => means.retain(|mean| mean.meets(printed).is_some()),
        }
        let one_sd_mean = means.into_iter().reduce(Bounds::around)?;
        Some(Recovered { second, fourth, one_sd_mean })
    }

    fn deviation(&self, points: &[Bounds; 5]) -> Bounds {
        let squares = points.iter().map(|point| point.minus(self.average).squared());
        let sum = squares.reduce(Bounds::plus).unwrap_or(Bounds { low: 0.0, high: 0.0 });
        Bounds { low: (sum.low / 4.0).sqrt(), high: (sum.high / 4.0).sqrt() }
    }
}

/// The possible means of the points within `deviation` of the median, one per set of points.
fn one_sd_means(points: &[Bounds; 5], deviation: Bounds) -> Vec<Bounds> {
    let mut sets = vec![(Bounds { low: 0.0, high: 0.0 }, 0_u32)];
    for point in points {
        let distance = point.minus(points[2]);
        let nearest = if distance.low > 0.0 { distance.low } else { (-distance.high).max(0.0) };
        let farthest = distance.high.max(-distance.low);
        let kept = sets.iter().map(|(sum, count)| (sum.plus(*point), count + 1));
        sets = match (farthest <= deviation.low, nearest > deviation.high) {
            (true, _) => kept.collect(),
            (false, true) => continue,
            (false, false) => kept.chain(sets.iter().copied()).collect(),
        };
    }
    let mean = |(sum, count): (Bounds, u32)| (count > 0).then(|| sum.times(1.0 / f64::from(count)));
    sets.into_iter().filter_map(mean).collect()
}
