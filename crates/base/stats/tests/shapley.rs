//! Shapley shares: against their definition, against published figures, and how often their
//! intervals hold.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stats::{
    Contribution, Factor, Factorial, FactorialTrial, Scale, shapley, shapley_intervals, shapley_of,
};

/// Page faults of Hunt's experiment 4 (1973), by version of PL/1 and system (17.11, 18.9, 18.11).
const FAULTS: [[[f64; 3]; 3]; 2] = [
    [[1921.0, 1849.0, 1895.0], [2452.0, 2443.0, 2353.0], [2330.0, 2353.0, 2324.0]],
    [[6013.0, 5903.0, 6010.0], [6785.0, 6577.0, 6746.0], [6613.0, 6530.0, 6572.0]],
];

fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor { name: name.to_owned(), levels: levels.iter().map(|&level| level.to_owned()).collect() }
}

fn hunt() -> Factorial {
    let mut observations = Vec::new();
    for (version, systems) in FAULTS.iter().enumerate() {
        for (system, trials) in systems.iter().enumerate() {
            let levels = vec![version, system];
            let observation =
                |value: &f64| FactorialTrial { levels: levels.clone(), block: None, value: *value };
            observations.extend(trials.iter().map(observation));
        }
    }
    let factors =
        vec![factor("compiler", &["v1", "v2"]), factor("system", &["17.11", "18.9", "18.11"])];
    Factorial { factors, observations }
}

fn percent(part: Option<f64>) -> String {
    format!("{:.2}", 100.0 * part.expect("a share"))
}

#[test]
fn shares_of_compiler_and_system_are_the_published_ones() {
    let log = shapley_of(&hunt(), &[0, 0], &[1, 1], Scale::Log).unwrap();
    let [compiler, system] = log[..] else { panic!("two factors") };
    assert_eq!([percent(compiler.share), percent(system.share)], ["85.74", "14.26"]);
    let bounds = [percent(compiler.lowest_share), percent(compiler.highest_share)];
    assert_eq!(bounds, ["80.55", "90.94"]);
    assert_eq!(format!("{:.4}", compiler.effect * system.effect), "3.5496");

    let additive = shapley_of(&hunt(), &[0, 0], &[1, 1], Scale::Additive).unwrap();
    let [compiler, system] = additive[..] else { panic!("two factors") };
    assert_eq!([percent(compiler.share), percent(system.share)], ["86.97", "13.03"]);
    let bounds = [percent(compiler.lowest_share), percent(compiler.highest_share)];
    assert_eq!(bounds, ["84.89", "89.04"]);
    assert_eq!(format!("{:.2}", compiler.effect + system.effect), "4814.33");

    let later = [Scale::Log, Scale::Additive]
        .map(|scale| percent(shapley_of(&hunt(), &[0, 0], &[1, 2], scale).unwrap()[0].share));
    assert_eq!(later, ["87.66", "88.86"]);
}

#[test]
fn intervals_hold_the_share_and_are_the_same_every_time() {
    let levels = (&[0, 0][..], &[1, 1][..]);
    let draw = |seed| shapley_intervals(&hunt(), levels, Scale::Log, 0.95, 2000, seed).unwrap();
    let intervals = draw(7);
    let (low, high) = intervals[0].unwrap();
    assert!(0.84 < low && low < 0.8574 && 0.8574 < high && high < 0.875, "{low} {high}");
    assert_eq!(draw(7), intervals);
    assert_ne!(draw(8), intervals);
    // The two shares add up to one, so their intervals mirror each other.
    assert!((intervals[1].unwrap().0 - (1.0 - high)).abs() < 1e-9);
}

#[test]
fn what_has_no_shares_says_why() {
    let error = |data: &Factorial, before: &[usize], after: &[usize]| {
        shapley_of(data, before, after, Scale::Log).unwrap_err().to_string()
    };
    assert!(error(&hunt(), &[0, 0], &[1, 0]).contains("not two different levels"));
    assert!(error(&hunt(), &[0], &[1]).contains("not two different levels"));
    let mut unseen = hunt();
    unseen.factors[1].levels.push("19".to_owned());
    let missing = "no observation of compiler = v1, system = 19: measure it";
    assert_eq!(error(&unseen, &[0, 0], &[1, 3]), missing);
    let mut zero = hunt();
    zero.observations[0].value = 0.0;
    assert!(error(&zero, &[0, 0], &[1, 1]).starts_with("the mean of cell 0 is 0"));
    assert!(shapley(&[1.0; 3], Scale::Log).unwrap_err().to_string().starts_with("3 means"));
    let none = shapley(&[2.0; 4], Scale::Additive).unwrap();
    assert_eq!(none[0].share, None);
    let levels = (&[0, 0][..], &[1, 1][..]);
    let settings = shapley_intervals(&hunt(), levels, Scale::Log, 0.95, 0, 1);
    assert!(settings.unwrap_err().to_string().contains("resamples at least 2"));
    let mut single = hunt();
    single.observations.drain(1..3);
    let intervals = shapley_intervals(&single, levels, Scale::Log, 0.95, 10, 1).unwrap();
    assert_eq!(intervals, [None, None]);
}

/// The definition: the average over all orders of what switching the factor adds.
fn over_all_orders(worth: &[f64], factors: usize) -> Vec<(f64, f64, f64)> {
    let mut found = vec![(0.0, f64::INFINITY, f64::NEG_INFINITY); factors];
    let orders = permutations(factors);
    for order in &orders {
        let mut set = 0;
        for &factor in order {
            let added = worth[set | 1 << factor] - worth[set];
            set |= 1 << factor;
            let (sum, low, high) = found[factor];
            found[factor] = (sum + added, low.min(added), high.max(added));
        }
    }
    found.iter().map(|(sum, low, high)| (sum / orders.len() as f64, *low, *high)).collect()
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let insert = |shorter: Vec<usize>| {
        (0..count).map(move |place| {
            let mut order = shorter.clone();
            order.insert(place, count - 1);
            order
        })
    };
    permutations(count - 1).into_iter().flat_map(insert).collect()
}

fn effects(found: &[Contribution]) -> Vec<f64> {
    found.iter().map(|contribution| contribution.effect).collect()
}

proptest! {
    #[test]
    fn shares_are_those_of_the_definition_and_add_up(
        factors in 1..6_usize,
        table in proptest::collection::vec(1.0..1000.0_f64, 32),
        log in any::<bool>(),
    ) {
        let means = &table[..1 << factors];
        let scale = if log { Scale::Log } else { Scale::Additive };
        let found = shapley(means, scale).unwrap();
        let worth: Vec<f64> = means.iter().map(|m| if log { m.ln() } else { *m }).collect();
        let total = worth[means.len() - 1] - worth[0];
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()));
        for (each, (value, low, high)) in
            found.iter().zip(over_all_orders(&worth, factors))
        {
            let (low, high) = if total < 0.0 { (high, low) } else { (low, high) };
            prop_assert!(close(each.share.unwrap(), value / total));
            prop_assert!(close(each.lowest_share.unwrap(), low / total));
            prop_assert!(close(each.highest_share.unwrap(), high / total));
        }
        let whole: f64 = found.iter().map(|each| each.share.unwrap()).sum();
        prop_assert!(close(whole, 1.0));
        let together = if log {
            effects(&found).iter().product::<f64>()
        } else {
            effects(&found).iter().sum()
        };
        let expected = if log { total.exp() } else { total };
        prop_assert!(close(together, expected));
    }

    #[test]
    fn exchanging_factors_exchanges_their_shares(
        table in proptest::collection::vec(1.0..1000.0_f64, 8),
    ) {
        // Factors 0, 1, 2 become 2, 0, 1.
        let moved = |set: usize| (set & 1) << 2 | set >> 1;
        let mut exchanged = vec![0.0; 8];
        for set in 0..8 {
            exchanged[moved(set)] = table[set];
        }
        let original = effects(&shapley(&table, Scale::Additive).unwrap());
        let exchanged = effects(&shapley(&exchanged, Scale::Additive).unwrap());
        for (factor, place) in [2, 0, 1].into_iter().enumerate() {
            prop_assert!((original[factor] - exchanged[place]).abs() < 1e-9);
        }
    }
}

/// How often an interval at 95 % holds the true share in a 2 × 2 with `trials` a cell.
fn coverage(trials: usize, blocked: bool) -> f64 {
    const EXPERIMENTS: u64 = 1000;
    let mut held = 0;
    for seed in 0..EXPERIMENTS {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut normal = || {
            let (u, v): (f64, f64) = (random.random(), random.random());
            (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let mut observations = Vec::new();
        for trial in 0..trials {
            // A block's level is common to its cells and much noisier than they are.
            let level = if blocked { 0.3 * normal() } else { 0.0 };
            for cell in 0..4 {
                let levels = vec![cell & 1, cell >> 1];
                let log = 0.6 * levels[0] as f64 + 0.3 * levels[1] as f64 + level;
                let value = (log + 0.1 * normal()).exp();
                let block = blocked.then_some(trial);
                observations.push(FactorialTrial { levels, block, value });
            }
        }
        let factors = vec![factor("a", &["0", "1"]), factor("b", &["0", "1"])];
        let data = Factorial { factors, observations };
        let levels = (&[0, 0][..], &[1, 1][..]);
        let found =
            shapley_intervals(&data, levels, Scale::Log, 0.95, 200, seed).expect("all cells");
        let (low, high) = found[0].expect("an interval");
        held += u32::from(low <= 2.0 / 3.0 && 2.0 / 3.0 <= high);
    }
    f64::from(held) / EXPERIMENTS as f64
}

#[test]
fn intervals_hold_as_often_as_documented() {
    for blocked in [false, true] {
        for trials in [3, 5, 10] {
            let held = coverage(trials, blocked);
            assert!((0.93..=0.98).contains(&held), "{trials} trials, blocks {blocked}: {held}");
        }
    }
}
