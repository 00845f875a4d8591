//! Noisy curves, drawn reproducibly.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use stats::Level;

pub(crate) struct Source(Pcg64);

impl Source {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64::seed_from_u64(seed))
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// Standard normal (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// The `curve` at each level with log-normal noise.
    pub(crate) fn curve(
        &mut self,
        levels: &[f64],
        replicates: usize,
        noise: f64,
        curve: impl Fn(f64) -> f64,
    ) -> Vec<Level> {
        let mut costs = |level: f64| {
            (0..replicates).map(|_| curve(level) * (noise * self.normal()).exp()).collect()
        };
        levels.iter().map(|level| Level { level: *level, costs: costs(*level) }).collect()
    }
}

/// `count` levels from 2 to 512, in equal steps of the logarithm.
pub(crate) fn levels(count: usize) -> Vec<f64> {
    (0..count).map(|index| 2.0_f64.powf(1.0 + 8.0 * index as f64 / (count - 1) as f64)).collect()
}
