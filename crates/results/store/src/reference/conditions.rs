//! The published conditions of experiments.

use std::collections::BTreeMap;

use analysis::{Dataset, Direction, Response, Values};

use super::rows;

/// Adds an experiment's published conditions as facts, and counts for whole trials.
pub fn add_conditions(dataset: &mut Dataset) {
    let Some(name) = dataset.name.strip_prefix("reference:multics/").map(str::to_owned) else {
        return;
    };
    for row in rows("multics/conditions") {
        if let [experiment, condition, value] = row[..]
            && experiment == name
        {
            for trial in &mut dataset.trials {
                trial.environment.insert(condition.to_owned(), value.to_owned());
            }
        }
    }
    if name == "experiment1" {
        add_paging(dataset);
    }
}

/// Page faults of experiment 1 are published by system only.
fn add_paging(dataset: &mut Dataset) {
    let faults: BTreeMap<&str, f64> = rows("multics/paging")
        .iter()
        .filter_map(|row| Some((row[0], row.get(1)?.parse().ok()?)))
        .collect();
    for trial in &mut dataset.trials {
        let level = trial.levels.get("system").map(String::as_str).unwrap_or_default();
        trial
            .values
            .extend(faults.get(level).map(|count| Values::exact(None, "page_faults", &[*count])));
    }
    let response =
        Response { unit: "faults".to_owned(), direction: Direction::LessIsBetter, additive: true };
    dataset.responses.insert("page_faults".to_owned(), response);
    dataset.notes.push(
        "page faults are published by system only, as an approximate number per trial".to_owned(),
    );
}
