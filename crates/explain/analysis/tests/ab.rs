//! When a comparison of two levels that grows is over, and why.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::collections::BTreeMap;

use analysis::ab::{AbLook, AbRequest, Stop};
use analysis::explained::{Explained, Part};
use analysis::{Dataset, Direction, Ending, Factor, Response, Trial, Values};
use model::EndStatus;
use stats::looks;

const MS: f64 = 1e6;

fn request() -> AbRequest {
    AbRequest {
        factor: "command".to_owned(),
        response: "elapsed_ns".to_owned(),
        second: None,
        margin: 0.03,
        looks: looks(4, 12, 0.05),
    }
}

/// Twelve blocks of two levels: B takes `ratio` times as long, with about 1 % noise.
fn set(ratio: f64) -> Dataset {
    let response =
        Response { unit: "ns".to_owned(), direction: Direction::LessIsBetter, additive: false };
    let levels = vec!["old".to_owned(), "new".to_owned()];
    let mut set = Dataset {
        factors: vec![Factor { name: "command".to_owned(), levels }],
        responses: ["elapsed_ns", "cpu_ns"].map(|it| (it.to_owned(), response.clone())).into(),
        ..Dataset::default()
    };
    for block in 0..12_u64 {
        for (level, cost) in [("old", 1.0), ("new", ratio)] {
            let run = 2 * block + u64::from(level == "new");
            let noise = ((run.pow(3) * 31 + 7 * run) % 23) as f64;
            let elapsed = cost * MS * (1.0 + 0.001 * noise) * (1.0 + 0.1 * block as f64);
            set.trials.push(Trial {
                name: format!("{level}-{block}"),
                levels: BTreeMap::from([("command".to_owned(), level.to_owned())]),
                block: Some(block),
                seed: Some(block + 1),
                values: vec![
                    Values::exact(None, "elapsed_ns", &[elapsed]),
                    Values::exact(Some("cc".to_owned()), "elapsed_ns", &[1e3]),
                    Values::exact(None, "cpu_ns", &[1e3 + noise]),
                ],
                ..Trial::default()
            });
        }
    }
    set
}

fn dying(set: &mut Dataset, level: &str) {
    for trial in set.trials.iter_mut().filter(|trial| trial.levels["command"] == level) {
        trial.values.clear();
        let cause = Some("killed by signal 11".to_owned());
        trial.ending = Some(Ending { status: EndStatus::Killed, cause, is_cut_off: false });
    }
}

fn last(set: &Dataset) -> AbLook {
    request().last_look(set).unwrap().unwrap()
}

#[test]
fn it_stops_when_the_difference_or_the_equivalence_is_certain() {
    let found = last(&set(1.2));
    assert_eq!((found.stop, found.blocks), (Some(Stop::Different), 4), "{}", found.so_far());
    // One comparison: neither parts nor other responses are in the family.
    assert_eq!(found.comparison.cells.len(), 1);
    assert!((found.comparison.alpha - found.level).abs() < 1e-12 && found.level < 0.05);
    let found = last(&set(1.0));
    assert_eq!(found.stop, Some(Stop::Equivalent), "{}", found.so_far());
    let ratio = found.comparison.cells[0].ratio().unwrap();
    assert!((0.99..1.01).contains(&ratio), "{ratio}");
    assert!(found.so_far().contains(&format!("elapsed_ns ×{ratio:.3}")), "{}", found.so_far());
    assert!(found.reason().contains("the equivalence is certain"), "{}", found.reason());
    let words = found.interval_words(0.05);
    assert!(words.contains("at this look") && words.ends_with("hold with 95 %."), "{words}");
}

#[test]
fn what_is_not_certain_goes_on_to_the_last_block() {
    let unclear = set(1.03);
    let request = AbRequest { looks: looks(4, 8, 0.05), ..request() };
    let found = request.last_look(&unclear).unwrap().unwrap();
    assert_eq!((found.stop, found.blocks), (Some(Stop::MostBlocks), 8), "{}", found.so_far());
    let first = request.look(&unclear, 0).unwrap();
    assert_eq!((first.stop, first.blocks), (None, 4));
    assert!(first.so_far().ends_with("not certain yet"), "{}", first.so_far());
}

/// A set of equal times, of which a part was waiting for a CPU.
fn busy(wait_share: f64) -> Dataset {
    let mut set = set(1.0);
    for (number, trial) in set.trials.iter_mut().enumerate() {
        let is_new = trial.levels["command"] == "new";
        let noise = ((number * number * 37 + 11 * number) % 29) as f64 / 29.0;
        let elapsed = 1e8 * (1.0 + noise);
        let cpu = if is_new { 1.05e7 } else { 1e7 } * (1.0 + 0.002 * noise);
        trial.values = vec![
            Values::exact(None, "elapsed_ns", &[elapsed]),
            Values::exact(None, "cpu_ns", &[cpu]),
        ];
        let wait_ns = (wait_share * elapsed) as u64;
        let parts_ns = [(Part::CpuWait, Some(wait_ns)), (Part::User, Some(cpu as u64))].into();
        trial.explained = vec![Explained { delay_ns: elapsed as u64, parts_ns }];
    }
    set
}

#[test]
fn cpu_time_decides_only_where_others_took_the_cpu() {
    let request = AbRequest { second: Some("cpu_ns".to_owned()), ..request() };
    let found = request.last_look(&busy(0.3)).unwrap().unwrap();
    assert_eq!((found.stop, found.blocks), (Some(Stop::Second), 4), "{}", found.so_far());
    let sentence = found.sentence();
    for words in ["new takes more CPU time than old", "% more,", "as 30 % of it was waiting"] {
        assert!(sentence.contains(words), "{words:?} is not in {sentence}");
    }
    // Where nobody waits, elapsed time is decided as before, and CPU time is still named.
    let found = request.last_look(&busy(0.0)).unwrap().unwrap();
    assert_eq!(found.stop, Some(Stop::MostBlocks), "{}", found.so_far());
    let sentence = found.sentence();
    assert!(sentence.contains("more CPU time") && !sentence.contains("waiting"), "{sentence}");
}

#[test]
fn an_interrupted_comparison_has_a_ratio_before_its_first_look() {
    let mut few = set(1.2);
    few.trials.retain(|trial| trial.block < Some(2));
    let seen = request().seen_before_looks(&few).unwrap();
    assert!(seen.starts_with("after 2 blocks the median ratio of time is ×1.2"), "{seen}");
    few.trials.clear();
    assert_eq!(request().seen_before_looks(&few), None);
}

#[test]
fn later_blocks_do_not_change_a_look_and_missing_runs_end_none() {
    let mut all = set(1.2);
    let of_all = request().look(&all, 0).unwrap();
    all.trials.retain(|trial| trial.block < Some(4));
    assert_eq!(request().look(&all, 0).unwrap(), of_all);
    all.trials.pop();
    assert!(request().last_look(&all).unwrap().is_none());
}

#[test]
fn a_level_that_dies_is_the_verdict_and_two_that_die_are_the_end() {
    let mut set = set(1.0);
    dying(&mut set, "new");
    let found = last(&set);
    assert_eq!(found.stop, Some(Stop::Outcome), "{}", found.so_far());
    assert!(found.comparison.conclusion.contains("failed"), "{}", found.comparison.conclusion);
    dying(&mut set, "old");
    let found = last(&set);
    assert_eq!((found.stop, found.blocks), (Some(Stop::AllFailed), 4));
    assert!(found.so_far().contains("no ratio yet"), "{}", found.so_far());
}
