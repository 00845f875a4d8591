//! `compare` keeps what it promises, on thousands of experiments whose truth is known.
//!
//! All draws are seeded, so a test passes always or never. The limits are the requirements; how far
//! a share of so many experiments may be from its probability is stated beside each. The benchmark
//! `verdicts` is the same on many more experiments.

mod experiments;
mod shapes;

use experiments::{
    ALPHA, Order, alarms_under_drift, coverage, false_claims_at_the_margin, family_false_alarms,
    power,
};
use shapes::{SHAPES, Shape};
use stats::Pairing;

const SIZES: [usize; 5] = [5, 7, 10, 15, 20];

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    // Standard error .0034 at .95: a coverage of .93 would be found out in 99 of 100 seeds.
    const EXPERIMENTS: u32 = 4_000;
    for shape in SHAPES {
        for pairing in [Pairing::Unpaired, Pairing::Paired] {
            let sizes = if pairing == Pairing::Unpaired { &SIZES[..] } else { &[5, 10, 20] };
            for n in sizes.iter().copied() {
                let covered = coverage(shape, pairing, n, EXPERIMENTS);
                let high = if n < 10 { 1.0 } else { 0.98 };
                assert!((0.94..=high).contains(&covered), "{shape:?} {pairing:?} {n}: {covered}");
            }
        }
    }
}

#[test]
fn a_family_of_equal_systems_rarely_raises_any_alarm() {
    // Standard error .007. Ranks are discrete, so that the true share is below .05.
    for n in [3, 6, 10] {
        let alarms = family_false_alarms(n, 1_000);
        assert!(alarms <= ALPHA, "{n}: {alarms}");
    }
}

#[test]
fn differences_and_equivalences_share_one_level() {
    // Standard error .005.
    let claims = false_claims_at_the_margin(2_000);
    assert!((0.02..=ALPHA).contains(&claims), "{claims}");
}

#[test]
fn blocks_in_random_order_withstand_drift_and_one_after_the_other_does_not() {
    // Standard error .005 at .05.
    let blocks = alarms_under_drift(Order::RandomisedBlocks, 0.05, 2_000);
    assert!(blocks <= 0.07, "{blocks}");
    let sequence = alarms_under_drift(Order::OneAfterTheOther, 0.05, 2_000);
    assert!(sequence > 0.2, "{sequence}");
}

#[test]
fn ranks_see_no_less_than_t_on_logarithms_and_far_more_under_stalls() {
    for shape in SHAPES {
        let (ranks, welch) = power(shape, 2_000);
        // Where logarithms are normal, t is the best test there is, and ranks need 5 % more values
        // for the same power: a loss of .02 at most here, and a standard error of .01.
        let least = match shape {
            Shape::LogNormal(_) => welch - 0.03,
            Shape::Stalls => welch + 0.4,
            Shape::Pareto => welch + 0.1,
        };
        assert!(ranks >= least, "{shape:?}: {ranks}, Welch {welch}");
    }
}
