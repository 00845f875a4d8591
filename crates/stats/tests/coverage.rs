//! A against A: the 95 % interval must contain 1 as often as it says, stalls or not.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use stats::hodges_lehmann_ratio;

const EXPERIMENTS: u32 = 2_000;

/// A standard normal number (Box and Muller).
fn normal(generator: &mut Pcg64) -> f64 {
    let radius = (-2.0 * (1.0 - generator.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * generator.random::<f64>()).cos()
}

fn lognormal(generator: &mut Pcg64) -> f64 {
    normal(generator).exp()
}

/// Four in five tight, the fifth a stall of about fifteen times: what resp1 sees under load.
fn with_stalls(generator: &mut Pcg64) -> f64 {
    let tight = (0.05 * normal(generator)).exp();
    if generator.random::<f64>() < 0.2 {
        tight * (10.0 + 10.0 * generator.random::<f64>())
    } else {
        tight
    }
}

/// The share of A/A experiments of n against n whose interval contains 1.
fn coverage(draw: fn(&mut Pcg64) -> f64, n: usize, seed: u64) -> f64 {
    let mut generator = Pcg64::seed_from_u64(seed);
    let mut sample = || -> Vec<f64> { (0..n).map(|_| draw(&mut generator)).collect() };
    let covered = |_: &u32| {
        let found = hodges_lehmann_ratio(&sample(), &sample(), 0.95).expect("positive delays");
        found.low <= 1.0 && 1.0 <= found.high
    };
    f64::from((0..EXPERIMENTS).filter(covered).count() as u32) / f64::from(EXPERIMENTS)
}

#[test]
fn the_interval_covers_the_truth_at_least_as_often_as_it_says() {
    for n in [5, 10] {
        for (name, draw) in
            [("lognormal", lognormal as fn(&mut Pcg64) -> f64), ("with stalls", with_stalls)]
        {
            let covered = coverage(draw, n, 1987 + n as u64);
            assert!((0.93..=1.0).contains(&covered), "{name}, n = {n}: {covered}");
            // Exact intervals: the coverage is known, 0.968 (n = 5) and 0.957 (n = 10).
            let attained = hodges_lehmann_ratio(&vec![1.0; n], &vec![1.0; n], 0.95);
            let attained = attained.expect("positive delays").confidence_attained;
            assert!((covered - attained).abs() < 0.02, "{name}, n = {n}: {covered} {attained}");
        }
    }
}
