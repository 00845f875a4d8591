//! Datasets made by hand.

use std::collections::BTreeMap;

use analysis::{Dataset, Direction, Factor, Response, Trial, Values};

/// Relative difference that numbers computed elsewhere may have.
pub(crate) const TOLERANCE: f64 = 1e-6;

#[track_caller]
pub(crate) fn close(found: f64, expected: f64) {
    let difference = (found - expected).abs();
    assert!(difference <= TOLERANCE * expected.abs().max(1.0), "{found} is not {expected}");
}

#[track_caller]
pub(crate) fn close_interval(found: Option<(f64, f64)>, expected: (f64, f64)) {
    let (low, high) = found.unwrap();
    close(low, expected.0);
    close(high, expected.1);
}

/// A dataset without trials.
pub(crate) fn dataset(factors: &[(&str, &[&str])], responses: &[(&str, &str)]) -> Dataset {
    let factor = |(name, levels): &(&str, &[&str])| Factor {
        name: (*name).to_owned(),
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
    };
    let response = |(name, unit): &(&str, &str)| {
        let response = Response {
            unit: (*unit).to_owned(),
            direction: Direction::LessIsBetter,
            additive: true,
        };
        ((*name).to_owned(), response)
    };
    Dataset {
        name: "made by hand".to_owned(),
        factors: factors.iter().map(factor).collect(),
        responses: responses.iter().map(response).collect(),
        ..Dataset::default()
    }
}

/// Adds a trial with values of the whole (`None`) or of parts.
pub(crate) fn add(dataset: &mut Dataset, levels: &[&str], values: &[(Option<&str>, &str, f64)]) {
    let levels: BTreeMap<String, String> = dataset
        .factors
        .iter()
        .zip(levels)
        .map(|(factor, level)| (factor.name.clone(), (*level).to_owned()))
        .collect();
    let values = values
        .iter()
        .map(|(part, response, value)| Values::exact(part.map(str::to_owned), response, &[*value]))
        .collect();
    let name = format!("trial {}", dataset.trials.len() + 1);
    dataset.trials.push(Trial { name, levels, values, ..Trial::default() });
}

/// Hunt's fourth experiment: page faults of two compilers on three systems.
pub(crate) fn experiment4() -> Dataset {
    let mut found = dataset(
        &[("pl1_version", &["one", "two"]), ("system", &["17.11", "18.9", "18.11"])],
        &[("page_faults", "faults")],
    );
    for (version, system, faults) in [
        ("one", "17.11", [1921.0, 1849.0, 1895.0]),
        ("one", "18.9", [2452.0, 2443.0, 2353.0]),
        ("one", "18.11", [2330.0, 2353.0, 2324.0]),
        ("two", "17.11", [6013.0, 5903.0, 6010.0]),
        ("two", "18.9", [6785.0, 6577.0, 6746.0]),
        ("two", "18.11", [6613.0, 6530.0, 6572.0]),
    ] {
        for faults in faults {
            add(&mut found, &[version, system], &[(None, "page_faults", faults)]);
        }
    }
    found
}

/// Hunt's first experiment: CPU time of six users, and how many page faults a trial had about.
pub(crate) fn experiment1() -> Dataset {
    let mut found =
        dataset(&[("system", &["17.11", "18.9"])], &[("cpu_s", "s"), ("page_faults", "faults")]);
    for (system, faults, seconds) in [
        ("17.11", 65e3, &[128.0, 137.0, 131.0, 137.0][..]),
        ("18.9", 105e3, &[212.0, 191.0, 194.0]),
    ] {
        for &seconds in seconds {
            let values = [(None, "cpu_s", seconds), (None, "page_faults", faults)];
            add(&mut found, &[system], &values);
        }
    }
    found
}
