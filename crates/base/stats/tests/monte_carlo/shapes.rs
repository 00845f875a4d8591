//! Costs as they are drawn: tight, skewed, with stalls, with a heavy tail.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A distribution of positive costs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Log-normal with this standard deviation of the logarithm.
    LogNormal(f64),
    /// Four in five tight, the fifth a stall of about fifteen times: what resp1 sees under load.
    Stalls,
    /// Pareto with exponent 1.5: a mean, but no variance.
    Pareto,
}

pub(crate) const SHAPES: [Shape; 4] =
    [Shape::LogNormal(0.1), Shape::LogNormal(1.0), Shape::Stalls, Shape::Pareto];

/// Draws, reproducibly.
pub(crate) struct Source(Pcg64);

impl Source {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    /// Uniform, 0 to 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn cost(&mut self, shape: Shape) -> f64 {
        match shape {
            Shape::LogNormal(spread) => (spread * self.normal()).exp(),
            Shape::Stalls => {
                let tight = (0.05 * self.normal()).exp();
                if self.uniform() < 0.2 { tight * (10.0 + 10.0 * self.uniform()) } else { tight }
            }
            Shape::Pareto => (1.0 - self.uniform()).powf(-1.0 / 1.5),
        }
    }

    /// `n` costs, each times `scale`.
    pub(crate) fn costs(&mut self, shape: Shape, n: usize, scale: f64) -> Vec<f64> {
        (0..n).map(|_| self.cost(shape) * scale).collect()
    }
}
