//! `compare` keeps what it promises, on thousands of experiments whose truth is known.
//!
//! All draws are seeded, so a test passes always or never. The limits are the requirements; how far
//! a share of so many experiments may be from its probability is stated with each. The benchmark
//! `verdicts` is the same on many more experiments.

mod experiments;
mod joint;
mod promises;
mod runs;
mod shapes;

use experiments::{
    ALPHA, Order, alarms_under_drift, coverage, false_claims_at_the_margin, family_false_alarms,
    power,
};
use joint::{Design, joint};
use promises::promise;
use runs::{Runs, coverage_of_one_run, coverage_of_seeds};
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

#[test]
fn as_many_values_as_asked_for_give_the_verdict_as_often_as_promised() {
    // Standard error .013 at .8. A ratio near the margin is the hard case: power against 1 alone
    // would have suggested too few.
    for (ratio, spread) in [(1.11, 0.1), (1.13, 0.1), (1.3, 0.3), (1.05, 0.1), (1.0, 0.15)] {
        let kept = promise(ratio, spread, 3, 1_000);
        let few = kept.more < 2_000;
        assert!(few && (0.77..=0.9).contains(&kept.share), "{ratio}: {kept:?}");
    }
}

#[test]
fn an_effect_over_all_cells_covers_the_truth_whatever_varies() {
    // Standard error .015 at .95.
    const EXPERIMENTS: u32 = 200;
    let base = Design {
        cells: 8,
        trials: 2,
        pairing: Pairing::Unpaired,
        ratio: 1.2,
        by_cell: 0.0,
        by_trial: 0.05,
        shared: 0.0,
    };
    let designs = [
        base,
        Design { by_cell: 0.1, ..base },
        Design { pairing: Pairing::Paired, trials: 3, by_cell: 0.05, ..base },
        Design { cells: 3, trials: 4, ..base },
        Design { cells: 3, trials: 4, by_cell: 0.2, ..base },
        Design { cells: 5, trials: 1, by_cell: 0.1, ..base },
        // Sessions that differ by more than their commands do.
        Design { shared: 0.15, trials: 5, ..base },
        Design { shared: 0.15, trials: 5, by_cell: 0.1, ..base },
        Design { shared: 0.15, trials: 5, pairing: Pairing::Paired, ..base },
    ];
    for design in designs {
        let (covered, _) = joint(&design, EXPERIMENTS);
        assert!(covered >= 0.915, "{design:?}: {covered}");
    }
}

#[test]
fn ten_cells_that_cannot_tell_have_a_joint_verdict() {
    let design = Design {
        cells: 10,
        trials: 2,
        pairing: Pairing::Unpaired,
        ratio: 1.0,
        by_cell: 0.02,
        by_trial: 0.04,
        shared: 0.0,
    };
    // Standard error .025 at .85.
    let (_, found) = joint(&Design { ratio: 1.2, ..design }, 200);
    assert!(found >= 0.8, "{found}");
    let (_, alarms) = joint(&design, 200);
    assert!(alarms <= 0.05, "{alarms}");
}

#[test]
fn the_interval_of_one_run_covers_its_own_ratio_though_samples_follow_each_other() {
    // Standard error .01 at .95.
    for (samples, correlation) in [(12, 0.0), (30, 0.0), (30, 0.3), (100, 0.6), (300, 0.8)] {
        let runs = Runs { samples, correlation, by_run: 0.0 };
        let (covered, independent) = coverage_of_one_run(&runs, 500);
        assert!(covered >= 0.92, "{runs:?}: {covered}");
        assert!(correlation < 0.5 || independent < 0.85, "{runs:?}: {independent}");
    }
}

#[test]
fn the_interval_over_seeds_covers_what_all_runs_have_in_common() {
    // Standard error .007 at .95.
    for seeds in [2, 3, 5, 10] {
        for correlation in [0.0, 0.7] {
            let runs = Runs { samples: 20, correlation, by_run: 0.2 };
            let (covered, pooled) = coverage_of_seeds(&runs, seeds, 1_000);
            assert!(covered >= 0.93, "{seeds} {runs:?}: {covered}");
            assert!(pooled < 0.75, "{seeds} {runs:?}: {pooled}");
        }
    }
}
