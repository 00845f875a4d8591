//! What is compared with what, and what is refused.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;

use analysis::comparison::{Cell, Comparison, Outcome, PairedBy, Request, Unit, compare};
use analysis::{Dataset, Direction, Ending, Factor, Response, Trial, Values};
use model::{EndStatus, Observation};
use stats::{Method, Verdict};

fn values(response: &str, samples: &[f64]) -> Vec<Values> {
    let response = response.to_owned();
    vec![Values::exact(None, &response, samples)]
}

fn response(unit: &str) -> Response {
    Response { unit: unit.to_owned(), direction: Direction::LessIsBetter, additive: false }
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
        usual: Vec::new(),
        margin: None,
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
            Response { direction: Direction::from_more(more_is_better), ..response("") },
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
    assert!(cell.notes[0].contains("variation between runs is unknown"));

    let two = |name| {
        probe(name, false, &[("noload", 1, 1, &[10.0, 20.0, 90.0]), ("noload", 2, 5, &[30.0])])
    };
    let found = inputs(&[two("a"), two("b")]);
    let cell = &found.cells[0];
    assert_eq!(
        (cell.unit, &cell.first.values[..]),
        (Unit::Trials, &[20.0, 30.0].map(Observation::exact)[..])
    );
    assert_eq!(cell.paired_by, Some(PairedBy::Block));
}

#[test]
fn what_was_made_before_is_told_and_its_blocks_are_not_pairs() {
    let early = [("noload", 1, 1, &[10.0][..]), ("noload", 2, 2, &[11.0])];
    let late = [("noload", 1, 8, &[10.0][..]), ("noload", 2, 9, &[12.0])];
    let found = inputs(&[probe("old", false, &late), probe("new", false, &early)]);
    assert!(found.warnings[0].starts_with("new ran entirely before old"));
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
    assert!(found.warnings.is_empty(), "run again they are the same: {:?}", found.warnings);

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
    assert!(ask(&[set(), set()], None, Some("x")).contains("choose from delay_ns"));
    let other = probe("b", false, &[("spawnload", 1, 1, &[1.0])]);
    let error = compare(&[set(), other], &Request::default()).unwrap_err().to_string();
    assert!(error.starts_with("nothing in common to compare: "), "{error}");
    assert!(error.contains("(a has noload, cpuload; b has spawnload): compare one"), "{error}");
    let mut cut = set();
    let status = EndStatus::Interrupted;
    let ending = Ending { status, cause: None, is_cut_off: false };
    cut.trials.iter_mut().for_each(|trial| trial.ending = Some(ending.clone()));
    let error = compare(&[set(), cut], &Request::default()).unwrap_err().to_string();
    assert!(error.contains("no trial of") && error.contains("interrupted"), "{error}");
}

#[test]
fn of_a_rate_more_is_better() {
    let old = [100.0, 101.0, 102.0, 103.0];
    let new = old.map(|rate| ("new", rate / 2.0));
    let trials: Vec<(&str, f64)> = old.map(|rate| ("old", rate)).into_iter().chain(new).collect();
    let cell = by_system(figures(true, &trials));
    assert_eq!(cell.verdict, Verdict::Regression);
    assert!((cell.ratio().unwrap() - 2.0).abs() < 0.01);
    assert_eq!(cell.second.median, Some(Observation::exact(50.75)), "shown as it was measured");
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
    assert_eq!(
        (stalls.second.median_ns, stalls.second.largest_ns),
        (Some(Observation::exact(550.0)), Some(Observation::exact(700.0)))
    );
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
    assert!(
        found.cells[0].levels.keys().eq(["load"]),
        "a level that tells arms apart is not a cell"
    );
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

/// Two kernels under two loads with four seeds; the second dies under `largewrite`.
fn kernels(deterministic: bool, dying: usize) -> Dataset {
    let mut set = Dataset {
        name: "kernels".to_owned(),
        factors: [("kernel", ["54", "55"]), ("load", ["noload", "largewrite"])]
            .map(|(name, levels)| Factor {
                name: name.to_owned(),
                levels: levels.map(str::to_owned).to_vec(),
            })
            .to_vec(),
        responses: [("delay_ns".to_owned(), response("ns"))].into(),
        deterministic,
        ..Dataset::default()
    };
    for kernel in ["54", "55"] {
        for load in ["noload", "largewrite"] {
            for seed in 0..4 {
                let dies = kernel == "55" && load == "largewrite" && (seed as usize) < dying;
                let cause = dies.then(|| "BUG: kernel NULL pointer dereference".to_owned());
                let status = if dies { EndStatus::KernelDied } else { EndStatus::Complete };
                set.trials.push(Trial {
                    name: format!("{kernel} {load} {seed}"),
                    levels: [("kernel", kernel), ("load", load)]
                        .map(|(name, level)| (name.to_owned(), level.to_owned()))
                        .into(),
                    seed: Some(seed),
                    block: Some(seed),
                    values: values("delay_ns", &[100.0 + seed as f64]),
                    ending: Some(Ending { status, cause, is_cut_off: false }),
                    ..Trial::default()
                });
            }
        }
    }
    set
}

fn by_kernel(set: &Dataset) -> Comparison {
    let request = Request { factor: Some("kernel".to_owned()), ..Request::default() };
    compare(std::slice::from_ref(set), &request).unwrap()
}

#[test]
fn a_dead_kernel_is_a_regression_with_a_row_and_a_cause() {
    for deterministic in [true, false] {
        let found = by_kernel(&kernels(deterministic, 4));
        let cell = &found.cells[0];
        assert_eq!((cell.response.as_str(), cell.verdict), ("outcome", Verdict::Regression));
        assert_eq!(cell.levels["load"], "largewrite");
        let Outcome::Ends(ends) = &cell.outcome else { panic!("{:?}", cell.outcome) };
        assert_eq!((ends.first.failed, ends.second.failed, ends.second.trials), (0, 4, 4));
        assert_eq!(ends.test.is_some(), !deterministic);
        assert!(found.conclusion.contains("failed 4 of 4, reference 0 of 4: the kernel died: BUG"));
        assert!(found.responses.contains_key("outcome"));
        // The other load is compared as before, and the dead one has no values.
        assert_eq!(found.cells.len(), 2);
    }
}

#[test]
fn few_deaths_are_certain_only_where_seeds_repeat() {
    let verdict = |deterministic| by_kernel(&kernels(deterministic, 1)).cells[0].verdict;
    assert_eq!((verdict(true), verdict(false)), (Verdict::Regression, Verdict::CannotTell));
}

#[test]
fn those_that_lived_are_neither_equivalent_nor_better() {
    let found = by_kernel(&kernels(true, 1));
    let of_load = |load: &str| {
        let is_of = |cell: &&Cell| cell.response == "delay_ns" && cell.levels["load"] == load;
        found.cells.iter().find(is_of).unwrap().verdict
    };
    assert_eq!(of_load("noload"), Verdict::Equivalent);
    assert_eq!(of_load("largewrite"), Verdict::CannotTell);
}

#[test]
fn outcomes_can_be_asked_for_where_nothing_failed() {
    let request = Request {
        factor: Some("kernel".to_owned()),
        responses: vec!["outcome".to_owned()],
        ..Request::default()
    };
    let found = compare(&[kernels(true, 0)], &request).unwrap();
    let verdicts: Vec<Verdict> = found.cells.iter().map(|cell| cell.verdict).collect();
    assert_eq!(verdicts, [Verdict::Equivalent; 2]);
}

#[test]
fn a_hang_is_not_an_improvement() {
    let first: &[(&str, u64, u64, &[f64])] = &[("noload", 1, 1, &[9.0, 9.5, 9.7, 10.0, 10.1, 9.9])];
    let mut sets = [probe("a", false, first), probe("b", false, first)];
    sets[1].trials[0].values[0].samples = vec![Observation::at_least(1.0); 6];
    let found = compare(&sets, &Request::default()).unwrap();
    assert_eq!(found.cells[0].verdict, Verdict::CannotTell);
    assert!(found.cells[0].second.median.unwrap().is_lower_bound);
}

/// Four loads of two trials a side; the second arm is 20 % slower under each, with noise.
fn loads(name: &str, slower: f64, shift: usize) -> Dataset {
    let noise = [0.06_f64, -0.07, 0.09, -0.04, 0.02, -0.08, 0.07, 0.01];
    let delays: Vec<(String, [f64; 1])> = (0..8)
        .map(|at| {
            let load = ["noload", "cpuload", "smallwrite", "largewrite"][at / 2];
            (load.to_owned(), [slower * (10.0 + at as f64) * noise[(at * 3 + shift) % 8].exp()])
        })
        .collect();
    let trials: Vec<(&str, u64, u64, &[f64])> =
        delays.iter().map(|(load, delay)| (load.as_str(), 1, 1, &delay[..])).collect();
    let mut set = probe(name, false, &trials);
    for trial in &mut set.trials {
        (trial.block, trial.started_unix_ns) = (None, None);
    }
    set
}

#[test]
fn cells_that_cannot_tell_have_a_verdict_together() {
    let found = inputs(&[loads("a", 1.0, 0), loads("b", 1.3, 5)]);
    assert!(found.cells.iter().all(|cell| cell.verdict == Verdict::CannotTell));
    let overall = &found.overall[0];
    assert_eq!((overall.cells, overall.verdict), (4, Verdict::Regression), "{overall:?}");
    let effect = overall.effect.as_ref().unwrap();
    assert!((effect.ratio - overall.ratio).abs() < 1e-12);
    assert!(effect.low > 1.0 && effect.high < 2.0, "{effect:?}");
    assert!(found.conclusion.contains("a regression over all 4 cells"), "{}", found.conclusion);

    let found = inputs(&[loads("a", 1.0, 0), loads("b", 1.0, 5)]);
    assert_ne!(found.overall[0].verdict, Verdict::Regression);
}

#[test]
fn a_bound_that_decides_a_median_takes_back_what_it_could_move() {
    let (first, mut second) = (loads("a", 1.3, 0), loads("b", 1.0, 5));
    let found = inputs(&[first.clone(), second.clone()]);
    assert_eq!(found.overall[0].verdict, Verdict::Improvement);
    second.trials[0].values[0].samples[0].is_lower_bound = true;
    let found = inputs(&[first.clone(), second.clone()]);
    assert_eq!(found.overall[0].verdict, Verdict::CannotTell);
    assert!(found.overall[0].reason.as_ref().unwrap().contains("lower bounds"));
    // The slower arm's bound makes a regression larger.
    second.trials[0].values[0].samples[0].is_lower_bound = false;
    let mut slow = first;
    slow.trials[0].values[0].samples[0].is_lower_bound = true;
    assert_eq!(inputs(&[second, slow]).overall[0].verdict, Verdict::Regression);
}

#[test]
fn commands_of_one_session_a_side_have_no_overall_verdict() {
    let session = |name: &str, by: f64| {
        let mut set = probe(name, false, &[("noload", 1, 1, &[1.0])]);
        set.trials[0].values = ["edit", "compile", "link"]
            .iter()
            .zip([1.0, 2.0, 4.0])
            .map(|(part, value)| {
                Values::exact(Some((*part).to_owned()), "delay_ns", &[1e6 * value * by])
            })
            .collect();
        set
    };
    let found = inputs(&[session("a", 1.0), session("b", 1.5)]);
    let overall = &found.overall[0];
    assert_eq!((overall.verdict, overall.effect.as_ref()), (Verdict::CannotTell, None));
    assert!(overall.reason.as_ref().unwrap().contains("single trial"), "{overall:?}");
}

#[test]
fn what_the_timer_tick_quantises_says_so_and_is_not_equivalent_within_less() {
    let arm = |name: &str, unit: f64| {
        let ticks: [&[f64]; 4] = [&[2.01], &[2.02], &[2.01], &[2.03]];
        let delays: Vec<Vec<f64>> =
            ticks.iter().map(|one| one.iter().map(|tick| tick * unit).collect()).collect();
        let trials: Vec<(&str, u64, u64, &[f64])> =
            (1..).zip(&delays).map(|(seed, one)| ("noload", seed, 1, &one[..])).collect();
        probe(name, false, &trials)
    };
    let found = inputs(&[arm("a", 4e6), arm("b", 4e6)]);
    let cell = &found.cells[0];
    assert_eq!(cell.tick.unwrap().hz, 250);
    assert_eq!(cell.verdict, Verdict::CannotTell);
    assert!(cell.notes.iter().any(|note| note.contains("multiples of 4 ms")), "{:?}", cell.notes);
    // Values in another unit of time are not multiples of a tick.
    let found = inputs(&[arm("a", 4.7e6), arm("b", 4.7e6)]);
    assert_eq!(found.cells[0].tick, None);
    assert_eq!(found.cells[0].verdict, Verdict::Equivalent);
}
