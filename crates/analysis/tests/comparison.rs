//! What is compared with what, and what is refused.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;

use analysis::comparison::{
    Cell, Comparison, ComparisonError, Outcome, PairedBy, Request, Unit, compare,
};
use analysis::{Dataset, Factor, Response, Trial, Values};
use stats::{Method, Verdict};

fn values(response: &str, samples: &[f64]) -> Vec<Values> {
    let response = response.to_owned();
    vec![Values { part: None, response, samples: samples.to_vec(), censored: 0 }]
}

fn response(unit: &str) -> Response {
    Response { unit: unit.to_owned(), more_is_better: false, additive: false }
}

/// Trials of a probe: load, seed and block, start, delays in ns.
fn probe(name: &str, deterministic: bool, trials: &[(&str, u64, u64, &[f64])]) -> Dataset {
    let mut levels: Vec<String> = Vec::new();
    for (load, ..) in trials {
        if !levels.contains(&(*load).to_owned()) {
            levels.push((*load).to_owned());
        }
    }
    let trial = |(load, seed, start, delays): &(&str, u64, u64, &[f64])| Trial {
        name: format!("{load} {seed}"),
        levels: [("load".to_owned(), (*load).to_owned())].into(),
        block: Some(*seed),
        seed: Some(*seed),
        started_unix_ns: Some(*start),
        values: values("delay_ns", delays),
        meaning: [("load".to_owned(), format!("{load} version 1"))].into(),
        ..Trial::default()
    };
    Dataset {
        name: name.to_owned(),
        factors: vec![Factor { name: "load".to_owned(), levels }],
        responses: [("delay_ns".to_owned(), response("ns"))].into(),
        trials: trials.iter().map(trial).collect(),
        deterministic,
        wanted: Vec::new(),
        notes: Vec::new(),
    }
}

/// One figure a trial at the levels of a factor `system`.
fn figures(more_is_better: bool, trials: &[(&str, f64)]) -> Dataset {
    let levels = vec!["old".to_owned(), "new".to_owned()];
    let trial = |(level, value): &(&str, f64)| Trial {
        levels: [("system".to_owned(), (*level).to_owned())].into(),
        values: values("rate", &[*value]),
        ..Trial::default()
    };
    Dataset {
        name: "figures".to_owned(),
        factors: vec![Factor { name: "system".to_owned(), levels }],
        responses: BTreeMap::from([(
            "rate".to_owned(),
            Response { more_is_better, ..response("") },
        )]),
        trials: trials.iter().map(trial).collect(),
        ..Dataset::default()
    }
}

fn inputs(sets: &[Dataset]) -> Comparison {
    compare(sets, &Request::default()).unwrap()
}

fn by_system(set: Dataset) -> Cell {
    let request = Request { factor: Some("system".to_owned()), ..Request::default() };
    compare(&[set], &request).unwrap().cells.remove(0)
}

#[test]
fn a_trial_is_the_unit_where_both_arms_have_two() {
    let one = |name| probe(name, false, &[("noload", 1, 1, &[10.0, 20.0, 30.0])]);
    let found = inputs(&[one("a"), one("b")]);
    let cell = &found.cells[0];
    assert_eq!((cell.unit, cell.first.values.len()), (Unit::Samples, 3));
    assert!(cell.notes[0].contains("how runs differ from each other was not seen"));

    let two = |name| {
        probe(name, false, &[("noload", 1, 1, &[10.0, 20.0, 90.0]), ("noload", 2, 5, &[30.0])])
    };
    let found = inputs(&[two("a"), two("b")]);
    let cell = &found.cells[0];
    assert_eq!((cell.unit, cell.first.values.as_slice()), (Unit::Trials, [20.0, 30.0].as_slice()));
    assert_eq!(cell.paired_by, Some(PairedBy::Block));
}

#[test]
fn what_was_made_before_is_told_and_its_blocks_are_not_pairs() {
    let early = [("noload", 1, 1, &[10.0][..]), ("noload", 2, 2, &[11.0])];
    let late = [("noload", 1, 8, &[10.0][..]), ("noload", 2, 9, &[12.0])];
    let found = inputs(&[probe("old", false, &late), probe("new", false, &early)]);
    assert!(found.warnings[0].starts_with("new was made wholly before old"));
    assert_eq!(found.cells[0].paired_by, None);

    let mut unknown = probe("x", false, &early);
    for trial in &mut unknown.trials {
        (trial.started_unix_ns, trial.block) = (None, None);
    }
    let found = inputs(&[unknown.clone(), unknown]);
    assert!(found.warnings[0].contains("is not recorded"), "{:?}", found.warnings);
}

#[test]
fn seeds_of_deterministic_arms_are_pairs_with_exact_ratios() {
    let arm = |name, factor: f64| {
        let delays: Vec<[f64; 1]> = (1..=6).map(|seed| [factor * f64::from(seed)]).collect();
        let trials: Vec<(&str, u64, u64, &[f64])> =
            (1..=6).zip(&delays).map(|(seed, delays)| ("noload", seed, 1, &delays[..])).collect();
        probe(name, true, &trials)
    };
    let found = inputs(&[arm("a", 10.0), arm("b", 15.0)]);
    let cell = &found.cells[0];
    let seeds = cell.seeds.as_ref().unwrap();
    assert_eq!((cell.paired_by, seeds.worse, seeds.better), (Some(PairedBy::Seed), 6, 0));
    assert_eq!((seeds.lowest, seeds.quartiles[1], seeds.ratios[&3]), (1.5, 1.5, 1.5));
    assert_eq!(cell.verdict, Verdict::Regression);
    assert!(found.warnings.is_empty(), "made again they are the same: {:?}", found.warnings);

    let found = inputs(&[arm("a", 10.0), arm("b", 10.0)]);
    assert_eq!(found.cells[0].outcome, Outcome::Identical);
    assert_eq!(found.cells[0].verdict, Verdict::Equivalent);
}

#[test]
fn another_version_of_a_load_is_refused() {
    let first = probe("a", false, &[("cpuload", 1, 1, &[1.0])]);
    let mut second = first.clone();
    second.name = "b".to_owned();
    second.trials[0].meaning.insert("load".to_owned(), "cpuload version 2".to_owned());
    let error = compare(&[first, second], &Request::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "a and b cannot be compared: the load under cpuload is cpuload version 1 in one and \
         cpuload version 2 in the other; a difference would say nothing about the systems"
    );
}

#[test]
fn wrong_questions_are_told_what_there_is() {
    let set = || probe("a", false, &[("noload", 1, 1, &[1.0]), ("cpuload", 1, 1, &[1.0])]);
    let ask = |sets: &[Dataset], factor: Option<&str>, response: Option<&str>| {
        let request = Request {
            factor: factor.map(str::to_owned),
            responses: response.into_iter().map(str::to_owned).collect(),
            ..Request::default()
        };
        compare(sets, &request).unwrap_err().to_string()
    };
    assert!(ask(&[set()], None, None).contains("load (noload, cpuload)"));
    assert!(ask(&[set()], Some("x"), None).contains("no factor \"x\""));
    assert!(ask(&[set(), set()], Some("load"), None).contains("2 were given"));
    assert!(ask(&[set(), set()], None, Some("x")).contains("there are delay_ns"));
    let other = probe("b", false, &[("spawnload", 1, 1, &[1.0])]);
    let error = compare(&[set(), other], &Request::default()).unwrap_err();
    assert!(matches!(&error, ComparisonError::NothingInCommon { left_out } if left_out.len() == 3));
}

#[test]
fn of_a_rate_more_is_better() {
    let old = [100.0, 101.0, 102.0, 103.0];
    let new = old.map(|rate| ("new", rate / 2.0));
    let trials: Vec<(&str, f64)> = old.map(|rate| ("old", rate)).into_iter().chain(new).collect();
    let cell = by_system(figures(true, &trials));
    assert_eq!(cell.verdict, Verdict::Regression);
    assert!((cell.ratio().unwrap() - 2.0).abs() < 0.01);
    assert_eq!(cell.second.median, 50.75, "shown as it was measured");
    assert_eq!(by_system(figures(false, &trials)).verdict, Verdict::Improvement);
}

#[test]
fn values_of_zero_are_the_same_or_have_no_ratio() {
    let zeros = [("old", 0.0), ("old", 0.0), ("new", 0.0), ("new", 0.0)];
    assert_eq!(by_system(figures(false, &zeros)).outcome, Outcome::Identical);
    let some = [("old", 0.0), ("old", 0.0), ("new", 5.0), ("new", 6.0)];
    let cell = by_system(figures(false, &some));
    assert_eq!(cell.verdict, Verdict::CannotTell);
    assert!(
        matches!(&cell.outcome, Outcome::Untested { reason, .. } if reason.contains("has no ratio"))
    );
    let single = [("old", 4.0), ("new", 4.0)];
    assert_eq!(by_system(figures(false, &single)).verdict, Verdict::CannotTell);
}

#[test]
fn stalls_are_counted_against_the_first_arm_without_load() {
    let calm = [10.0, 11.0, 12.0, 10.0, 11.0, 12.0, 10.0, 11.0];
    let stalled = [10.0, 11.0, 400.0, 10.0, 500.0, 12.0, 600.0, 700.0];
    let set = |name, under: &[f64]| {
        probe(name, false, &[("noload", 1, 1, &calm), ("cpuload", 1, 2, under)])
    };
    let found = inputs(&[set("a", &calm), set("b", &stalled)]);
    let stalls = found.cells[1].stalls.as_ref().unwrap();
    assert_eq!((stalls.limit_ns, stalls.of_noload), (33.0, true));
    assert_eq!((stalls.first.stalled, stalls.second.stalled), (0, 4));
    assert_eq!((stalls.second.median_ns, stalls.second.largest_ns), (Some(550.0), Some(700.0)));
    // Fisher's exact test of 0 of 8 against 4 of 8: 2 × C(8,4) / C(16,4).
    assert!((stalls.p - 2.0 * 70.0 / 1820.0).abs() < 1e-12, "{}", stalls.p);
    assert!((stalls.p_adjusted - 2.0 * stalls.p).abs() < 1e-12, "Holm over two cells");
    // Clopper and Pearson, 0 of 8: 1 - .025^(1/8).
    assert!((stalls.first.high - (1.0 - 0.025_f64.powf(0.125))).abs() < 1e-9);
}

#[test]
fn facts_that_differ_are_listed_and_the_unknown_is_not_recorded() {
    let set = |name, build: &str, facts: &[(&str, &str)]| {
        let mut set = probe(name, false, &[("noload", 1, 1, &[1.0])]);
        set.factors.push(Factor { name: "build".to_owned(), levels: vec![build.to_owned()] });
        let trial = &mut set.trials[0];
        trial.levels.insert("build".to_owned(), build.to_owned());
        let facts = facts.iter().map(|(name, fact)| ((*name).to_owned(), (*fact).to_owned()));
        trial.environment.extend(facts);
        set
    };
    let old = set("old", "x", &[("kernel", "6.1"), ("thp", "always"), ("hostname", "h")]);
    let new = set("new", "y", &[("kernel", "6.2"), ("hostname", "h")]);
    let found = inputs(&[old, new]);
    let facts: Vec<&str> =
        found.differences.iter().map(|difference| difference.fact.as_str()).collect();
    assert_eq!(facts, ["build", "kernel", "thp"]);
    assert!(found.differences[0].compared && !found.differences[1].compared);
    assert_eq!(found.differences[2].values, [vec!["always".to_owned()], vec![]]);
    assert!(found.not_recorded.contains(&"governor".to_owned()));
    assert!(found.cells[0].levels.keys().eq(["load"]), "a level that tells arms apart is no cell");
}

#[test]
fn the_regression_of_1973_that_rank_tests_cannot_see() {
    let old = [128.0, 137.0, 131.0, 137.0].map(|cpu| ("old", cpu));
    let new = [212.0, 191.0, 194.0].map(|cpu| ("new", cpu));
    let trials: Vec<_> = old.into_iter().chain(new).collect();
    let cell = by_system(figures(false, &trials));
    let found = cell.judged().unwrap();
    assert_eq!((found.verdict, found.method), (Verdict::Regression, Method::WelchLog));
    assert!((found.ratio - 1.4925).abs() < 1e-4);
    assert!((found.low - 1.3306).abs() < 1e-4 && (found.high - 1.6741).abs() < 1e-4);
    assert!(!found.rank_can_fire && (found.smallest_p - 2.0 / 35.0).abs() < 1e-12);
    assert!((found.permutation_p.unwrap() - 1.0 / 35.0).abs() < 1e-12);
}
