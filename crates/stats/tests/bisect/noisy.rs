//! Bisection of measurements: a simulation of whole searches.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stats::{Conclusion, NoisyBisect, NoisySettings};

const STEPS: usize = 128;
const NOISE: f64 = 0.03;

/// Standard normal, by Box and Muller.
fn normal(random: &mut Pcg64Mcg) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

struct Figures {
    right: f64,
    wrong: f64,
    no_change: f64,
    mean: f64,
    p95: usize,
}

/// Searches for a shift of `shift` standard deviations while the machine drifts by `drift` in a
/// hundred measurements.
fn simulate(shift: f64, drift: f64, settings: NoisySettings, searches: u64) -> Figures {
    let (mut right, mut wrong, mut no_change) = (0, 0, 0);
    let mut used = Vec::new();
    for seed in 0..searches {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let changed = random.random_range(1..STEPS);
        let mut bisect = NoisyBisect::new(STEPS, settings).unwrap();
        while let Some(step) = bisect.next() {
            let level = if step >= changed { shift } else { 0.0 };
            let drifted = drift * bisect.measurements() as f64 / 100.0;
            let value = (NOISE * (level + normal(&mut random)) + drifted).exp();
            bisect.tell(step, value).unwrap();
        }
        match bisect.conclusion() {
            Conclusion::Changed(steps) if shift != 0.0 && steps == (changed..=changed) => {
                right += 1
            }
            Conclusion::Changed(_) => wrong += 1,
            Conclusion::NoChange => no_change += 1,
            Conclusion::Undecided => {}
        }
        used.push(bisect.measurements());
    }
    used.sort_unstable();
    let part = |count: i32| f64::from(count) / searches as f64;
    Figures {
        right: part(right),
        wrong: part(wrong),
        no_change: part(no_change),
        mean: used.iter().sum::<usize>() as f64 / searches as f64,
        p95: used[used.len() * 95 / 100],
    }
}

#[test]
fn explore() {
    for drift_model in [false, true] {
        for every in [0, 3, 4, 5, 6, 8] {
            for (shift, drift) in [
                (2.0, 0.0),
                (4.0, 0.0),
                (0.0, 0.0),
                (2.0, 0.05),
                (2.0, 0.2),
                (0.0, 0.2),
                (1.0, 0.0),
            ] {
                let s = NoisySettings {
                    anchor_every: every,
                    drift: drift_model,
                    ..NoisySettings::default()
                };
                let f = simulate(shift, drift, s, 500);
                println!(
                    "{drift_model} {every} shift {shift} drift {drift}: right {:.3} wrong {:.3} none {:.3} mean {:.1} p95 {}",
                    f.right, f.wrong, f.no_change, f.mean, f.p95
                );
            }
        }
    }
}
