//! An attribution of made-up sessions as it reads: seeds, parts by factor, scales, a rate.

use std::collections::BTreeMap;

use analysis::attribution::{Options, attribute};
use analysis::{Dataset, Direction, Factor, Response, Trial, Values};
use render::plain_text;
use report::attribution_document;

/// Two factors and one response, with the values that `measure` gives for levels and trial.
fn dataset(
    (response, unit): (&str, &str),
    measure: impl Fn(f64, f64, u32) -> Vec<(Option<&'static str>, f64)>,
) -> Dataset {
    let factor = |name: &str| Factor {
        name: name.to_owned(),
        levels: vec!["old".to_owned(), "new".to_owned()],
    };
    let more_is_better = unit == "/s";
    let measured = Response {
        unit: unit.to_owned(),
        direction: Direction::from_more(more_is_better),
        additive: !more_is_better,
    };
    let mut found = Dataset {
        name: "made up".to_owned(),
        factors: vec![factor("kernel"), factor("compiler")],
        responses: BTreeMap::from([(response.to_owned(), measured)]),
        ..Dataset::default()
    };
    for cell in 0..12_u32 {
        let (kernel, compiler, trial) = (cell & 1, cell >> 1 & 1, cell >> 2);
        let level = |index: u32| if index == 0 { "old" } else { "new" }.to_owned();
        let values = measure(f64::from(kernel), f64::from(compiler), trial);
        found.trials.push(Trial {
            name: format!("trial {cell}"),
            levels: BTreeMap::from([
                ("kernel".to_owned(), level(kernel)),
                ("compiler".to_owned(), level(compiler)),
            ]),
            seed: Some(u64::from(trial)),
            values: values
                .into_iter()
                .map(|(part, value)| Values::exact(part.map(str::to_owned), response, &[value]))
                .collect(),
            ..Trial::default()
        });
    }
    found
}

/// Its words, wherever lines end.
fn words(dataset: &Dataset) -> String {
    text(dataset).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn text(dataset: &Dataset) -> String {
    let found = [attribute(dataset, &Options::default()).expect("it can be attributed")];
    plain_text(&attribution_document(&found, None))
}

/// A little that depends on everything, as chaos does.
fn chaos(kernel: f64, compiler: f64, trial: u32) -> f64 {
    let step = 7.0 * kernel + 3.0 * compiler + 5.0 * f64::from(trial);
    step.rem_euclid(4.0) - 1.5
}

#[test]
fn a_deterministic_session_by_command_and_factor() {
    let mut found = dataset(("cpu_ns", "ns"), |kernel, compiler, trial| {
        let seconds = 1e9 + 1e7 * f64::from(trial);
        let compile = seconds * (2.0 + 3.0 * compiler) + 1e6 * chaos(kernel, compiler, trial);
        vec![(Some("compile"), compile), (Some("copy"), seconds * (1.0 + 0.5 * kernel))]
    });
    found.deterministic = true;
    insta::assert_snapshot!(text(&found));
}

#[test]
fn costs_that_multiply_are_told_as_ratios() {
    let found = dataset(("faults", "faults"), |kernel, compiler, trial| {
        let whole = 1000.0 * (1.0 + kernel) * (1.0 + 2.0 * compiler);
        vec![(None, whole * (1.0 + 0.01 * chaos(kernel, compiler, trial)))]
    });
    insta::assert_snapshot!(text(&found));
}

#[test]
fn of_a_rate_less_is_a_loss() {
    let found = dataset(("copies_per_s", "/s"), |kernel, compiler, trial| {
        vec![(None, 500.0 - 100.0 * kernel - 50.0 * compiler + chaos(kernel, compiler, trial))]
    });
    let told = words(&found);
    assert!(told.contains("Of the loss of 149 /s"), "{told}");
    assert!(told.contains("kernel alone to old would regain"), "{told}");
    assert!(told.contains("gives 0.7"), "{told}");
}

#[test]
fn what_cannot_be_told_from_noise_is_not_shared_out() {
    let found = dataset(("faults", "faults"), |kernel, compiler, trial| {
        vec![(None, 100.0 + 5.0 * chaos(kernel, compiler, trial))]
    });
    let told = words(&found);
    assert!(told.contains("no change of faults exceeds the noise"), "{told}");
    assert!(!told.contains("Of the loss") && !told.contains("Of the gain"), "{told}");
}

#[test]
fn a_price_that_may_be_nothing_explains_nothing() {
    let mut found = dataset(("cpu_s", "s"), |kernel, compiler, trial| {
        let value = 100.0 + 20.0 * kernel + 5.0 * compiler + chaos(kernel, compiler, trial);
        vec![(None, value)]
    });
    let faults =
        Response { unit: "faults".to_owned(), direction: Direction::LessIsBetter, additive: true };
    found.responses.insert("faults".to_owned(), faults);
    for (index, trial) in found.trials.iter_mut().enumerate() {
        // Within a cell they have nothing to do with the time.
        let new = f64::from(u8::from(trial.levels["kernel"] == "new"));
        trial.values.push(Values::exact(
            None,
            "faults",
            &[1000.0 + 400.0 * new + [3.0, 1.0, 2.0][index / 4]],
        ));
    }
    let told = words(&found);
    assert!(told.contains("do not determine what one of the faults costs"), "{told}");
    assert!(told.contains("each would explain all"), "{told}");
}
