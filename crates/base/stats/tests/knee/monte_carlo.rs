//! What the knee promises, on thousands of noisy curves.
//!
//! All draws are seeded, so a test passes always or never. The limits are the requirements.

use stats::{Knee, KneeKind, KneeSettings, Level, Shape, knee};

use crate::source::{Source, levels};

/// The knee of noisy data, with few resamples for many curves.
fn sampled(levels: &[Level], seed: u64) -> Option<Knee> {
    let settings = KneeSettings { resamples: 200, seed, ..KneeSettings::default() };
    match knee(levels, &settings) {
        Shape::Knee(knee) => Some(knee),
        _ => None,
    }
}

/// The knees found in `curves` noisy versions of the curve.
fn knees(
    curves: u64,
    (count, replicates, noise): (usize, usize, f64),
    cost: impl Fn(f64) -> f64,
) -> Vec<Knee> {
    let mut source = Source::new(4 + count as u64);
    let levels = levels(count);
    let mut one = |seed| sampled(&source.curve(&levels, replicates, noise, &cost), seed);
    (0..curves).filter_map(&mut one).collect()
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Standard error at .05: .007. Of 72 designs one is beyond by chance, so it is drawn ten times as
/// often before it counts.
#[test]
fn noise_and_ramps_are_rarely_knees() {
    for count in [4, 5, 9, 17] {
        for replicates in [1, 2, 4] {
            for noise in [0.05, 0.2] {
                for elasticity in [0.0, 0.23, 1.0] {
                    let design = (count, replicates, noise);
                    let false_alarms = |curves: u64| {
                        let found = knees(curves, design, |level| level.powf(elasticity)).len();
                        share(found, curves as usize)
                    };
                    let alarms = Some(false_alarms(1000)).filter(|share| *share > 0.05);
                    let alarms = alarms.map_or(0.0, |_| false_alarms(10_000));
                    assert!(alarms <= 0.05, "{design:?} elasticity {elasticity}: {alarms}");
                }
            }
        }
    }
}

/// A step to twice the cost, noise of 10 %, two replicates, nine levels: between any two of them.
#[test]
fn a_step_to_twice_the_cost_is_found_where_it_is() {
    let grid = levels(9);
    for pair in grid.windows(2) {
        let truth = (pair[0] * pair[1]).sqrt();
        let found = knees(300, (9, 2, 0.1), |level| if level > truth { 2.0 } else { 1.0 });
        let power = share(found.len(), 300);
        assert!(power >= 0.95, "{pair:?}: {power}");
        let covered = found.iter().filter(|knee| knee.low <= truth && truth <= knee.high);
        let coverage = share(covered.count(), found.len());
        assert!(coverage >= 0.93, "{pair:?}: {coverage}");
    }
}

/// A hinge that is reported as a step lies between where a quarter of the least rise is reached,
/// and all of it.
#[test]
fn intervals_cover_the_hinge() {
    for (count, replicates, noise) in [(9, 2, 0.02), (9, 4, 0.1), (17, 2, 0.05), (17, 6, 0.1)] {
        for (hinge, elasticity) in [(20.0, 1.0), (45.0, 1.0), (64.0, 1.0), (45.0, 3.0)] {
            let cost = |level: f64| (level / hinge).powf(elasticity).max(1.0);
            let found = knees(300, (count, replicates, noise), cost);
            let case = format!("{count} {replicates} {noise} {hinge} {elasticity}");
            assert!(share(found.len(), 300) >= 0.95, "{case}: {} found", found.len());
            let quarter = hinge * 1.5_f64.powf(0.25 / elasticity);
            let covers = |knee: &&Knee| {
                let latest = if knee.kind == KneeKind::Step { quarter } else { hinge };
                knee.low <= latest && hinge <= knee.high
            };
            let coverage = share(found.iter().filter(covers).count(), found.len());
            assert!(coverage >= 0.93, "{case}: {coverage}");
        }
    }
}

/// One replicate in twenty takes ten times as long.
#[test]
fn stalls_neither_make_nor_hide_a_knee() {
    let mut source = Source::new(10);
    let grid = levels(9);
    let mut stalled = |cost: &dyn Fn(f64) -> f64| {
        let mut levels = source.curve(&grid, 4, 0.05, cost);
        // Noise is independent of its digits: every twentieth cost or so is one of these.
        for cost in levels.iter_mut().flat_map(|level| &mut level.costs) {
            *cost *= if cost.to_bits() % 20 == 0 { 10.0 } else { 1.0 };
        }
        levels
    };
    let (mut alarms, mut right) = (0, 0);
    for seed in 0..300 {
        alarms += usize::from(sampled(&stalled(&|_| 1.0), seed).is_some());
        let stepped = stalled(&|level| if level > 50.0 { 3.0 } else { 1.0 });
        right += usize::from(sampled(&stepped, seed).is_some_and(|knee| knee.capacity == 32.0));
    }
    assert!(share(alarms, 300) <= 0.05 && share(right, 300) >= 0.95, "{alarms} {right}");
}
