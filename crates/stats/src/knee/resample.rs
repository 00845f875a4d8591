//! Bootstrap samples of a curve.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::judge::{Found, judge};
use super::sums::Point;
use super::{KneeSettings, Level};
use crate::design::below;
use crate::median;

/// The knees of all bootstrap samples that have one, as the levels between which they lie.
pub(super) fn resampled_ends(
    points: &[Point],
    deviations: &Deviations,
    settings: &KneeSettings,
) -> Vec<(f64, f64)> {
    let reach = settings.least_rise.ln();
    let mut random = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut sample = points.to_vec();
    let mut knees = Vec::with_capacity(settings.resamples);
    for _ in 0..settings.resamples {
        for (index, (drawn, point)) in sample.iter_mut().zip(points).enumerate() {
            drawn.y = point.y + deviations.draw(index, point, &mut random);
        }
        knees.extend(judge(&sample, reach).ok().map(|found| found.ends(&sample)));
    }
    knees
}

/// How far costs are from where they belong, on the log scale.
pub(super) enum Deviations {
    /// Of all replicates from the middle of their level.
    Pooled(Vec<f64>),
    /// Of each point from the curve.
    OfPoints(Vec<f64>),
}

impl Deviations {
    /// Pooled where there are replicates, each enlarged by what the middle took from it; else the
    /// residuals of the fit, enlarged alike.
    pub(super) fn new(levels: &[&Level], points: &[Point], found: &Found) -> Self {
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

    /// How far one bootstrap sample has the point from where it was measured, or fitted.
    ///
    /// Pooled: the middle of as many draws as the point has replicates. Of points: its own
    /// deviation with a random sign, the wild bootstrap (Wu 1986), so that noise beyond a knee does
    /// not blur the plateau.
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
