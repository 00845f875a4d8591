//! The difference of two mean delays, part by part: what it sums to, and what it rests on.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;

use analysis::comparison::{Cell, PairedBy, Request, compare};
use analysis::explained::{Explained, ExplainedDifference, Part};
use analysis::{Dataset, Direction, Factor, Response, Trial, Values};

const MS: u64 = 1_000_000;

/// A delay of these parts in ms; IRQ is unknown.
fn explained(parts_ms: &[(Part, u64)]) -> Explained {
    let mut parts_ns: BTreeMap<Part, Option<u64>> =
        Part::ALL.iter().map(|part| (*part, Some(0))).collect();
    parts_ns.insert(Part::Irq, None);
    for (part, part_ms) in parts_ms {
        parts_ns.insert(*part, Some(part_ms * MS));
    }
    Explained { delay_ns: parts_ns.values().flatten().sum(), parts_ns }
}

/// Runs of one load by seed, each with its samples.
fn set(name: &str, deterministic: bool, runs: &[(u64, &[Explained])]) -> Dataset {
    let response =
        Response { unit: "ns".to_owned(), direction: Direction::LessIsBetter, additive: false };
    let trial = |(seed, samples): &(u64, &[Explained])| Trial {
        name: format!("{name} {seed}"),
        levels: [("load".to_owned(), "2ctx-mem".to_owned())].into(),
        seed: Some(*seed),
        values: vec![Values::exact(
            None,
            "delay_ns",
            &samples.iter().map(|sample| sample.delay_ns as f64).collect::<Vec<f64>>(),
        )],
        explained: samples.to_vec(),
        ..Trial::default()
    };
    Dataset {
        name: name.to_owned(),
        factors: vec![Factor { name: "load".to_owned(), levels: vec!["2ctx-mem".to_owned()] }],
        responses: [("delay_ns".to_owned(), response)].into(),
        trials: runs.iter().map(trial).collect(),
        deterministic,
        ..Dataset::default()
    }
}

fn cell(sets: [Dataset; 2]) -> Cell {
    compare(&sets, &Request::default()).unwrap().cells.remove(0)
}

fn run(user_ms: u64, thrashing_ms: u64) -> [Explained; 2] {
    let sample = |user_ms| explained(&[(Part::User, user_ms), (Part::Thrashing, thrashing_ms)]);
    [sample(user_ms), sample(user_ms + 2)]
}

fn assert_sums(found: &ExplainedDifference) {
    let sum = |read: fn(&analysis::explained::PartDifference) -> f64| -> f64 {
        found.parts.values().map(read).sum()
    };
    let close = |a: f64, b: f64| (a - b).abs() < 1e-3;
    assert!(close(sum(|part| part.difference_ns), found.delay.difference_ns), "{found:?}");
    assert!(close(sum(|part| part.first_ns), found.delay.first_ns), "{found:?}");
}

#[test]
fn a_regression_comes_with_its_cause() {
    let runs: Vec<_> = (1..=4).map(|seed| (seed, run(10 + seed, 100 + 7 * seed))).collect();
    let worse: Vec<_> = (1..=4).map(|seed| (seed, run(10 + seed, 180 + 5 * seed))).collect();
    let as_runs = |name, runs: &[(u64, [Explained; 2])]| {
        let runs: Vec<_> = runs.iter().map(|(seed, samples)| (*seed, &samples[..])).collect();
        set(name, false, &runs)
    };
    let found = cell([as_runs("old", &runs), as_runs("new", &worse)]).explained.unwrap();
    assert_sums(&found);
    assert_eq!((found.values, &found.unknown[..]), ([4, 4], &[Part::Irq][..]));
    let thrashing = found.parts[&Part::Thrashing];
    assert!((thrashing.difference_ns - 75.0 * MS as f64).abs() < 1.0, "{thrashing:?}");
    let (low_ns, high_ns) = thrashing.interval_ns.unwrap();
    assert!(low_ns > 50.0 * MS as f64 && high_ns < 100.0 * MS as f64, "{thrashing:?}");
    let user = found.parts[&Part::User];
    let (low_ns, high_ns) = user.interval_ns.unwrap();
    assert!(user.difference_ns.abs() < 1.0 && low_ns < 0.0 && high_ns > 0.0, "{user:?}");
}

#[test]
fn seeds_in_common_are_partners_and_others_are_left_out() {
    // Seeds differ far more than the arms do.
    let runs = |more_ms| -> Vec<_> {
        (1..=5).map(|seed| (seed, run(10, 100 * seed + more_ms + seed % 2))).collect()
    };
    let as_runs = |name, runs: &[(u64, [Explained; 2])]| {
        let runs: Vec<_> = runs.iter().map(|(seed, samples)| (*seed, &samples[..])).collect();
        set(name, true, &runs)
    };
    let found = cell([as_runs("old", &runs(0)), as_runs("new", &runs(20)[..4])]);
    assert_eq!(found.paired_by, Some(PairedBy::Seed));
    let explained = found.explained.unwrap();
    assert_sums(&explained);
    assert_eq!(explained.values, [4, 4]);
    let thrashing = explained.parts[&Part::Thrashing];
    assert!((thrashing.difference_ns - 20.0 * MS as f64).abs() < 1.0, "{thrashing:?}");
    let (low_ns, _) = thrashing.interval_ns.unwrap();
    assert!(low_ns > 19.0 * MS as f64, "a seed is compared with itself: {thrashing:?}");
}

#[test]
fn of_single_runs_the_samples_count_and_a_part_that_one_arm_lacks_is_unknown() {
    let (first, mut second) = (run(10, 100), run(20, 100));
    for sample in &mut second {
        sample.parts_ns.insert(Part::Remainder, Some(100 * MS));
        sample.parts_ns.insert(Part::Thrashing, None);
    }
    let found = cell([set("old", false, &[(1, &first)]), set("new", false, &[(1, &second)])]);
    let explained = found.explained.unwrap();
    assert_eq!(explained.values, [2, 2]);
    assert_eq!(explained.unknown, [Part::Thrashing, Part::Irq]);
    assert!(!explained.parts.contains_key(&Part::Thrashing));
    assert!((explained.parts[&Part::User].difference_ns - 10.0 * MS as f64).abs() < 1.0);
}

#[test]
fn without_explained_samples_on_both_sides_nothing_is_said() {
    let samples = run(10, 100);
    let mut bare = set("old", false, &[(1, &samples)]);
    bare.trials[0].explained.clear();
    assert!(cell([bare, set("new", false, &[(1, &samples)])]).explained.is_none());
}
