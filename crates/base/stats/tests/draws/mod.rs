//! What simulations of the tests draw, and what they may find by chance.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Standard normal (Box and Muller).
pub(crate) fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// Student's t with three degrees of freedom, from a standard normal number that was drawn before.
pub(crate) fn heavy(z: f64, random: &mut Pcg64Mcg) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    z / (squares / 3.0).sqrt()
}

/// How many of `of` may happen with this chance, but for one test in 1,000.
pub(crate) fn most(of: usize, chance: f64) -> usize {
    let of = of as f64;
    (chance * of + 3.1 * (of * chance * (1.0 - chance)).sqrt()) as usize
}
