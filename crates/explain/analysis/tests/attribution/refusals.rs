//! What cannot be attributed is refused, with what to do.

use std::collections::BTreeMap;

use analysis::attribution::{Options, Scale, attribute};

use crate::support::{add, dataset, experiment4};

#[track_caller]
fn refusal(dataset: &analysis::Dataset, options: &Options) -> String {
    attribute(dataset, options).unwrap_err().to_string()
}

#[test]
fn a_missing_combination_is_named() {
    let mut found = experiment4();
    found.trials.retain(|t| t.levels["pl1_version"] != "two" || t.levels["system"] != "18.9");
    let text = refusal(&found, &Options::default());
    assert!(text.contains("pl1_version = two, system = 18.9"), "{text}");
}

#[test]
fn unequal_numbers_of_trials_are_no_obstacle() {
    let mut found = experiment4();
    found.trials.remove(0);
    found.trials.pop();
    let outcome = attribute(&found, &Options::default()).unwrap();
    assert_eq!(outcome.trials, 16);
    let counts: Vec<usize> = outcome.overall.additive.cells.iter().map(|cell| cell.count).collect();
    assert_eq!(counts, [2, 3, 3, 3, 3, 2]);
    assert!((outcome.steps[0].scales.additive.main[0].figure.value - 4186.8).abs() < 30.0);
}

#[test]
fn unknown_names_are_told_what_there_is() {
    let found = experiment4();
    let options = |response: Option<&str>, factor: Option<&str>, level: Option<&str>| Options {
        response: response.map(str::to_owned),
        factors: factor.map(str::to_owned).into_iter().collect(),
        levels: level
            .map(|level| ("system".to_owned(), vec!["17.11".to_owned(), level.to_owned()]))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        ..Options::default()
    };
    let text = refusal(&found, &options(Some("cpu"), None, None));
    assert!(text.contains("choose from page_faults"), "{text}");
    let text = refusal(&found, &options(None, Some("compiler"), None));
    assert!(text.contains("choose from pl1_version, system"), "{text}");
    let text = refusal(&found, &options(None, None, Some("18.0")));
    assert!(text.contains("choose from 17.11, 18.9, 18.11"), "{text}");
}

#[test]
fn one_level_is_no_factor() {
    let mut found = experiment4();
    found.trials.retain(|t| t.levels["pl1_version"] == "two" && t.levels["system"] == "18.9");
    let text = refusal(&found, &Options::default());
    assert!(text.contains("nothing was varied"), "{text}");
    found.trials.clear();
    let text = refusal(&found, &Options::default());
    assert!(text.contains("nothing"), "{text}");
}

#[test]
fn zero_has_no_ratio_but_a_difference() {
    let mut found = dataset(&[("a", &["0", "1"])], &[("faults", "faults")]);
    for (level, value) in [("0", 0.0), ("0", 2.0), ("1", 10.0), ("1", 12.0)] {
        add(&mut found, &[level], &[(None, "faults", value)]);
    }
    let outcome = attribute(&found, &Options::default()).unwrap();
    assert_eq!(outcome.overall.scale, Scale::Additive);
    assert_eq!(outcome.overall.log, None);
    assert!(outcome.overall.reason.contains("a value is 0"), "{}", outcome.overall.reason);
    assert_eq!(outcome.overall.additive.total.value, 10.0);
}

#[test]
fn a_mediator_needs_a_price_and_a_time() {
    let mut found = dataset(&[("a", &["0", "1"])], &[("cpu_s", "s"), ("faults", "faults")]);
    for (level, seconds) in [("0", 1.0), ("1", 3.0)] {
        add(&mut found, &[level], &[(None, "cpu_s", seconds), (None, "faults", 100.0)]);
    }
    let asked = Options { mediator: Some("faults".to_owned()), ..Options::default() };
    assert!(refusal(&found, &asked).contains("--unit-cost"));
    let untimed = Options {
        response: Some("faults".to_owned()),
        mediator: Some("cpu_s".to_owned()),
        ..Options::default()
    };
    assert!(refusal(&found, &untimed).contains("is not a time"));
    let unasked = attribute(&found, &Options::default()).unwrap();
    assert_eq!(unasked.mediation, None);
    assert!(unasked.notes.iter().any(|note| note.contains("--unit-cost")), "{:?}", unasked.notes);
}

#[test]
fn a_trial_with_a_problem_is_left_out_and_told() {
    let mut found = experiment4();
    let status = model::EndStatus::LoadDied;
    found.trials[0].ending = Some(analysis::Ending { status, cause: None, is_cut_off: false });
    let outcome = attribute(&found, &Options::default()).unwrap();
    assert_eq!(outcome.trials, 17);
    assert_eq!(outcome.notes, ["trial 1 is left out: its load died"]);
}

#[test]
fn a_level_that_always_died_is_given_up_and_the_others_are_attributed() {
    let mut found = experiment4();
    let died = |trial: &&mut analysis::Trial| {
        trial.levels["pl1_version"] == "two" && trial.levels["system"] == "18.9"
    };
    for trial in found.trials.iter_mut().filter(died) {
        trial.ending = Some(analysis::Ending {
            status: model::EndStatus::KernelDied,
            cause: Some("BUG: unable to handle page fault".to_owned()),
            is_cut_off: false,
        });
    }
    let outcome = attribute(&found, &Options::default()).unwrap();
    assert_eq!(outcome.trials, 12);
    let said = |text: &str| outcome.notes.iter().any(|note| note.contains(text));
    assert!(said("left out: the kernel died: BUG: unable"), "{:?}", outcome.notes);
    assert!(said("system 18.9 is left out"), "{:?}", outcome.notes);
}
