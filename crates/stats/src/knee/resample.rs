//! Bootstrap samples of a curve.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::KneeSettings;
use super::fit::Point;
use super::judge::{Ends, Found, judge};
use crate::design::below;
use crate::median;

/// The knees of all bootstrap samples that have one, as the logarithms of their ends.
pub(super) fn resampled_ends(
    points: &[Point],
    deviations: &Deviations,
    (reach, ends): (f64, Ends),
    settings: &KneeSettings,
) -> Vec<(f64, f64)> {
    let mut random = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut sample = points.to_vec();
    let mut knees = Vec::with_capacity(settings.resamples);
    for _ in 0..settings.resamples {
        for (drawn, point) in sample.iter_mut().zip(points) {
            drawn.y = point.y + deviations.draw(point.weight as usize, &mut random);
        }
        knees.extend(judge(&sample, reach, ends).ok().map(|found| found.ends(points)));
    }
    knees
}

/// How far costs are from where they belong, on the log scale.
pub(super) struct Deviations {
    pool: Vec<f64>,
    /// Without replicates a deviation may as well have the other sign.
    either_sign: bool,
}

impl Deviations {
    /// Of the replicates from the middle of their level, where there are any; else of the points
    /// from the curve. Each is enlarged by what the fit took from it.
    pub(super) fn new(costs: &[Vec<f64>], points: &[Point], found: &Found) -> Self {
        let mut pool = vec![];
        for (logs, point) in costs.iter().zip(points).filter(|(logs, _)| logs.len() > 1) {
            let count = logs.len() as f64;
            let enlarged = (count / (count - 1.0)).sqrt();
            pool.extend(logs.iter().map(|log| (log - point.y) * enlarged));
        }
        if !pool.is_empty() {
            return Self { pool, either_sign: false };
        }
        let count = points.len() as f64;
        let enlarged = (count / (count - 4.0).max(1.0)).sqrt();
        let residual = |(index, point): (usize, &Point)| {
            (point.y - found.bend.fitted(index, point.x)) * enlarged
        };
        pool.extend(points.iter().enumerate().map(residual));
        Self { pool, either_sign: true }
    }

    /// The middle of `count` deviations.
    fn draw(&self, count: usize, random: &mut Pcg64Mcg) -> f64 {
        let mut one = || {
            let sign = if self.either_sign && below(random, 2) == 1 { -1.0 } else { 1.0 };
            sign * self.pool[below(random, self.pool.len())]
        };
        let drawn: Vec<f64> = (0..count.max(1)).map(|_| one()).collect();
        median(&drawn).unwrap_or(0.0)
    }
}
