//! Histories of planted kernels: each step is found with its kind, and nothing else.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;

/// What a planted kernel does under a measure: the factor of its costs, and the spread of them.
type Plant = (f64, f64);

/// A history of one measure whose kernels are planted, with this many seeds of each.
fn planted(plants: &[Plant], seeds: u32, seed: u64) -> HistoryData {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut data = HistoryData { schema: HISTORY_SCHEMA, ..HistoryData::default() };
    data.measures = vec!["smallwrite".to_owned()];
    for (index, (factor, spread)) in plants.iter().enumerate() {
        let name = format!("6.1.{index}-1");
        let run = |seed: u32| HistoryRun {
            seed: u64::from(seed),
            value: Some(1e8 * factor * (spread * (random.random::<f64>() - 0.5)).exp()),
            state: BTreeMap::from([("dirty".to_owned(), 20 << 20)]),
            ..HistoryRun::default()
        };
        let runs = (1..=seeds).map(run).collect();
        let (measure, response) = ("smallwrite".to_owned(), "delay_ns".to_owned());
        let kernel = name.clone();
        data.cells.push(HistoryCell { kernel, measure, response, runs, ..HistoryCell::default() });
        data.kernels.push(HistoryKernel { name, ..HistoryKernel::default() });
    }
    data
}

fn shown(data: &HistoryData) -> History {
    History::of(data, &mut ChangeScan::default())
}

/// Kinds and places of the steps.
fn steps(data: &HistoryData) -> Vec<(StepKind, usize)> {
    shown(data).steps.iter().map(|step| (step.kind, step.after)).collect()
}

#[test]
fn quiet_kernels_that_are_alike_need_no_more_seeds() {
    let history = shown(&planted(&[(1.0, 0.01); 8], 4, 1));
    assert!(history.steps.is_empty() && history.open_cells().is_empty(), "{history:?}");
    assert!(history.comparisons.iter().all(|it| it.pair.state == PairState::Within));
}

#[test]
fn equal_values_are_equal() {
    let mut data = planted(&[(1.0, 2.0); 2], 4, 1);
    data.cells[1].runs = data.cells[0].runs.clone();
    assert_eq!(shown(&data).comparisons[0].pair.state, PairState::Equal);
}

#[test]
fn chaotic_kernels_are_open_and_ask_for_seeds() {
    let history = shown(&planted(&[(1.0, 2.0); 4], 4, 1));
    assert!(history.steps.is_empty());
    assert_eq!(history.open_cells().len(), 4);
    let needs = |it: &NeighbourPair| match it.pair.state {
        PairState::Open { needs } => needs.unwrap_or(u64::MAX),
        _ => 0,
    };
    assert!(history.open().all(|it| needs(it) > 4), "{history:?}");
}

#[test]
fn a_step_is_found_with_its_kind_ratio_and_states() {
    let mut plants = vec![(1.0, 0.2); 5];
    plants.extend([(3.0, 0.2); 4]);
    let mut data = planted(&plants, 12, 2);
    for run in data.cells.iter_mut().skip(5).flat_map(|cell| &mut cell.runs) {
        run.state.insert("dirty".to_owned(), 60 << 20);
    }
    data.cells[4].facts.insert("lru_gen".to_owned(), "0x0000".to_owned());
    data.cells[5].facts.insert("lru_gen".to_owned(), "0x0007".to_owned());
    let history = shown(&data);
    let [step] = &history.steps[..] else { panic!("{:?}", history.steps) };
    assert_eq!((step.kind, step.before, step.after), (StepKind::Slower, Some(4), 5));
    let ratio = step.ratio.unwrap();
    assert!((2.5..3.5).contains(&ratio.ratio) && ratio.low > 1.05, "{ratio:?}");
    let states: Vec<&str> = step.states.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(states, ["lru_gen", "dirty"]);
}

#[test]
fn few_seeds_of_many_kernels_show_a_step_and_where_it_may_be() {
    let mut plants = vec![(1.0, 0.4); 8];
    plants.extend([(0.4, 0.4); 8]);
    let history = shown(&planted(&plants, 4, 3));
    let [step] = &history.steps[..] else { panic!("{:?}", history.steps) };
    assert_eq!((step.kind, step.evidence), (StepKind::Faster, Evidence::ChangePoint));
    let (first, last) = step.between.unwrap();
    assert!(first <= 7 && last >= 8, "{step:?}");
    assert!(!history.open_cells().is_empty(), "more seeds would narrow it");
}

#[test]
fn a_spread_that_grows_is_a_step() {
    let mut plants = vec![(1.0, 0.1); 8];
    plants.extend([(1.0, 3.0); 8]);
    let found = steps(&planted(&plants, 12, 5));
    assert!(found.contains(&(StepKind::MoreVariable, 8)), "{found:?}");
}

#[test]
fn kernels_that_die_and_live_again_have_their_rows() {
    let mut data = planted(&[(1.0, 0.01); 5], 4, 1);
    for run in &mut data.cells[2].runs {
        let failure = Some("the kernel died: BUG: kernel NULL pointer dereference".to_owned());
        *run = HistoryRun { seed: run.seed, failure, has_died: true, ..HistoryRun::default() };
    }
    data.kernels[4].problem = Some("the guest does not boot".to_owned());
    data.cells.pop();
    let history = shown(&data);
    let kinds: Vec<_> = history.steps.iter().map(|it| (it.kind, it.after, it.failed)).collect();
    assert_eq!(
        kinds,
        [
            (StepKind::Died, 2, Some((4, 4))),
            (StepKind::Recovered, 3, None),
            (StepKind::Died, 4, None)
        ]
    );
    assert!(history.steps[0].cause.as_ref().unwrap().contains("NULL pointer"));
    // Its neighbours are compared with each other.
    let pairs: Vec<_> = history.comparisons.iter().map(|it| (it.before, it.after)).collect();
    assert_eq!(pairs, [(0, 1), (1, 3)]);
}

#[test]
fn a_kernel_that_dies_with_one_seed_is_compared_with_none() {
    let mut data = planted(&[(1.0, 0.3), (1.0, 0.3), (9.0, 0.3), (1.0, 0.3)], 12, 1);
    let run = &mut data.cells[2].runs[5];
    let failure = Some("the kernel died: BUG".to_owned());
    *run = HistoryRun { seed: run.seed, failure, has_died: true, ..HistoryRun::default() };
    let history = shown(&data);
    let kinds: Vec<_> = history.steps.iter().map(|it| (it.kind, it.failed)).collect();
    assert_eq!(kinds, [(StepKind::Died, Some((1, 12))), (StepKind::Recovered, None)]);
}

#[test]
fn runs_that_fail_more_often_are_a_step() {
    let mut data = planted(&[(1.0, 0.01); 4], 12, 1);
    for run in data.cells.iter_mut().skip(2).flat_map(|cell| &mut cell.runs) {
        let failure = Some("out of memory".to_owned());
        *run = HistoryRun { seed: run.seed, failure, ..HistoryRun::default() };
    }
    assert_eq!(steps(&data), [(StepKind::Failing, 2)]);
}

#[test]
fn changes_within_the_margin_are_counted_only() {
    let mut plants = vec![(1.0, 0.001); 8];
    plants.extend([(1.02, 0.001); 8]);
    let history = shown(&planted(&plants, 12, 1));
    assert!(history.steps.is_empty() && history.smaller == 1, "{history:?}");
}

/// A whole history of chaotic kernels that are all alike, looked at after 4, 8 and 12 seeds, has
/// false steps no more often than α.
#[test]
fn histories_of_equal_kernels_have_no_steps() {
    let mut scan = ChangeScan::default();
    let runs = 200;
    let wrong = |seed: u64| {
        let data = planted(&[(1.0, 2.0); 10], 12, 1000 + seed);
        !History::of(&data, &mut scan).steps.is_empty()
    };
    let alarms = (0..runs).map(wrong).filter(|wrong| *wrong).count();
    assert!(alarms <= 19, "{alarms} of {runs} with a chance of 5 %");
}

#[test]
fn rounds_are_the_numbers_of_seeds_at_which_something_can_be_decided() {
    let rounds = |kernels: usize, seeds: u32| {
        let mut data = planted(&vec![(1.0, 0.1); kernels], 1, 1);
        data.settings.seeds = seeds;
        History::rounds(&data)
    };
    assert_eq!(rounds(16, 12), [4, 8, 10, 12]);
    assert_eq!(rounds(2, 12), [4, 6, 8, 10, 12], "fewer comparisons have larger levels");
    assert_eq!(rounds(40, 3), [3]);
    assert!(rounds(16, 40).starts_with(&[4, 8, 10, 12]) && rounds(16, 40).ends_with(&[34, 40]));
}

#[test]
fn figures_are_read_as_they_were_written() {
    let data = planted(&[(1.0, 0.5), (2.0, 0.5)], 4, 1);
    let text = serde_json::to_string(&data).unwrap();
    assert_eq!(serde_json::from_str::<HistoryData>(&text).unwrap(), data);
}
