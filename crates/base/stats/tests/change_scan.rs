//! Simulations of change points: no distribution raises false alarms, and steps are found where they
//! are. The figures are in docs/history.md.

mod draws;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stats::{Change, ChangeScan, narrowest};

use draws::{heavy, most, normal};

const RUNS: usize = 1000;
const ALPHA: f64 = 0.05;
/// Kernels and seeds.
const KERNELS: usize = 12;
const SEEDS: usize = 8;

/// Costs of one kernel over its seeds.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Two modes, one three times the other: a machine that thrashes with some seeds.
    Modes,
    /// Student's t with three degrees of freedom on logarithms.
    Heavy,
    /// A few values, each of which ties with many others.
    Ticks,
}

const NOISES: [Noise; 4] = [Noise::Normal, Noise::Modes, Noise::Heavy, Noise::Ticks];

fn cost(noise: Noise, random: &mut Pcg64Mcg) -> f64 {
    let z = normal(random);
    match noise {
        Noise::Normal => (0.1 * z).exp(),
        Noise::Modes if random.random::<f64>() < 0.5 => 3.0 + 0.01 * z,
        Noise::Modes => 1.0 + 0.01 * z,
        Noise::Heavy => (0.5 * heavy(z, random)).exp(),
        Noise::Ticks => (4.0 * (0.1 * z).exp()).round(),
    }
}

/// Kernels of which those from each start on have the given factor.
fn kernels(noise: Noise, steps: &[(usize, f64)], random: &mut Pcg64Mcg) -> Vec<Option<Vec<f64>>> {
    let kernel = |index: usize, random: &mut Pcg64Mcg| {
        let found = steps.iter().rfind(|(start, _)| *start <= index);
        let factor = found.map_or(1.0, |(_, factor)| *factor);
        Some((0..SEEDS).map(|_| factor * cost(noise, random)).collect())
    };
    (0..KERNELS).map(|index| kernel(index, random)).collect()
}

fn found(scan: &mut ChangeScan, groups: &[Option<Vec<f64>>]) -> Vec<Change> {
    narrowest(&scan.intervals(groups, SEEDS, ALPHA))
}

#[test]
fn equal_kernels_are_called_different_no_more_often_than_promised() {
    let mut scan = ChangeScan::default();
    for noise in NOISES {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let alarms = (0..RUNS)
            .filter(|_| !found(&mut scan, &kernels(noise, &[], &mut random)).is_empty())
            .count();
        println!("{noise:?}: {alarms} of {RUNS}");
        assert!(alarms <= most(RUNS, ALPHA), "{noise:?}: {alarms}");
    }
}

#[test]
fn a_true_step_brings_no_false_ones_with_it() {
    let mut scan = ChangeScan::default();
    for noise in NOISES {
        let mut random = Pcg64Mcg::seed_from_u64(2);
        let is_false = |change: &Change| !(change.first <= 6 && change.last > 6);
        let alarms = (0..RUNS)
            .filter(|_| {
                let groups = kernels(noise, &[(7, 4.0)], &mut random);
                found(&mut scan, &groups).iter().any(is_false)
            })
            .count();
        println!("{noise:?}: {alarms} of {RUNS}");
        assert!(alarms <= most(RUNS, ALPHA), "{noise:?}: {alarms}");
    }
}

#[test]
fn intervals_include_the_place_of_the_change() {
    let mut scan = ChangeScan::default();
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let (mut included, mut all, mut exact) = (0, 0, 0);
    for _ in 0..RUNS {
        for change in found(&mut scan, &kernels(Noise::Normal, &[(7, 1.2)], &mut random)) {
            all += 1;
            included += usize::from(change.first <= 6 && change.last > 6);
            exact += usize::from(change.before == 6);
        }
    }
    println!("{included} of {all}, exactly there {exact}");
    assert!(all >= RUNS * 99 / 100 && all - included <= most(RUNS, ALPHA), "{included} of {all}");
    assert!(exact * 10 >= all * 6, "{exact} of {all}");
}

/// The spread of a kernel over seeds, as distances of two seeds each, which are independent of each
/// other and of the level.
#[test]
fn spreads_that_are_equal_are_called_different_no_more_often_than_promised() {
    let mut scan = ChangeScan::default();
    for noise in NOISES {
        let mut random = Pcg64Mcg::seed_from_u64(4);
        let distances = |group: &Option<Vec<f64>>| {
            let pairs = group.as_ref()?.chunks_exact(2);
            Some(pairs.map(|pair| (pair[0].ln() - pair[1].ln()).abs()).collect::<Vec<f64>>())
        };
        let alarms = (0..RUNS)
            .filter(|_| {
                let groups = kernels(noise, &[(3, 2.0), (8, 1.0)], &mut random);
                let groups: Vec<_> = groups.iter().map(distances).collect();
                !narrowest(&scan.intervals(&groups, SEEDS / 2, ALPHA)).is_empty()
            })
            .count();
        println!("spread, {noise:?}: {alarms} of {RUNS}");
        assert!(alarms <= most(RUNS, ALPHA), "{noise:?}: {alarms}");
    }
}
