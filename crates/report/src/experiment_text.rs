//! An experiment as text: its plan, and what its cells came to.

use analysis::{Dataset, Factor, Standing, Trial};
use model::{Manifest, Observation};
use stats::{bounded_median, bounded_quantile};

use crate::columns::aligned;

/// The plan of an experiment: factors, order of the runs block by block, and what cannot be told
/// apart. Ends in a newline.
#[must_use]
pub fn plan_text(manifest: &Manifest) -> String {
    let mut text = format!("{}\n\n", manifest.name);
    let mut rows = vec![vec!["factor".to_owned(), "levels".to_owned()]];
    rows.extend(
        manifest.factors.iter().map(|factor| vec![factor.name.clone(), factor.levels.join(", ")]),
    );
    text += &aligned(&rows);
    if !manifest.aliases.is_empty() {
        text += "\nCannot be told apart in this fraction:\n";
        for line in &manifest.aliases {
            text += &format!("  {line}\n");
        }
    }
    text += &format!("\n{} runs, in this order:\n", manifest.runs.len());
    let mut rows = vec![vec!["block".to_owned(), "seed".to_owned(), "run".to_owned()]];
    rows.extend(
        manifest
            .runs
            .iter()
            .map(|run| vec![(run.block + 1).to_string(), run.seed.to_string(), run.run_id.clone()]),
    );
    text + &aligned(&rows)
}

/// What the cells came to: for each combination of levels and each response of the whole, how many
/// runs, their median and range. Ends in a newline.
#[must_use]
pub fn cells_text(dataset: &Dataset) -> String {
    let mut text = String::new();
    for (name, response) in &dataset.responses {
        let rows = rows(dataset, name);
        if rows.is_empty() {
            continue;
        }
        let unit = match response.unit.as_str() {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        let mut heading: Vec<String> = varied(dataset).map(|factor| factor.name.clone()).collect();
        heading.extend(["runs", "median", "least", "most", "failed"].map(str::to_owned));
        let table: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
        text += &format!("{name}{unit}\n{}\n", aligned(&table));
    }
    let problems: Vec<String> = dataset
        .trials
        .iter()
        .filter_map(|trial| Some(format!("{}: {}\n", trial.name, trial.remark()?)))
        .collect();
    if !problems.is_empty() {
        text += &format!("Runs that did not end as they should:\n{}", problems.concat());
    }
    for note in &dataset.notes {
        text += &format!("{note}\n");
    }
    text
}

/// The factors that have more than one level.
fn varied(dataset: &Dataset) -> impl Iterator<Item = &Factor> {
    dataset.factors.iter().filter(|factor| factor.levels.len() > 1)
}

/// A row for each combination of levels that has trials, in the order of the levels.
fn rows(dataset: &Dataset, response: &str) -> Vec<Vec<String>> {
    let counts: Vec<usize> = varied(dataset).map(|factor| factor.levels.len()).collect();
    let cells = stats::full_factorial(&counts);
    cells.into_iter().filter_map(|cell| row(dataset, response, &cell)).collect()
}

fn row(dataset: &Dataset, response: &str, cell: &[usize]) -> Option<Vec<String>> {
    let factors = varied(dataset).zip(cell);
    let levels: Vec<(&str, &str)> = factors
        .map(|(factor, level)| (factor.name.as_str(), factor.levels[*level].as_str()))
        .collect();
    let of_cell = dataset.trials.iter().filter(|trial| {
        levels
            .iter()
            .all(|(factor, level)| trial.levels.get(*factor).is_some_and(|found| found == level))
    });
    let of_cell: Vec<&Trial> = of_cell.collect();
    if of_cell.is_empty() {
        return None;
    }
    // A run with many samples counts with their median.
    let counts = of_cell.iter().filter(|trial| trial.standing() == Standing::Counts);
    let values: Vec<Observation> =
        counts.filter_map(|trial| bounded_median(trial.samples(None, response)?)).collect();
    let failed = of_cell.iter().filter(|trial| trial.failed() == Some(true)).count();
    let mut row: Vec<String> = levels.iter().map(|(_, level)| (*level).to_owned()).collect();
    row.push(of_cell.len().to_string());
    row.extend([0.5, 0.0, 1.0].map(|share| {
        bounded_quantile(&values, share).map_or_else(
            || "-".to_owned(),
            |found| format!("{}{}", found.mark(), figure(found.value)),
        )
    }));
    row.push(if failed == 0 { "-".to_owned() } else { format!("{failed} of {}", of_cell.len()) });
    Some(row)
}

/// Four digits that count, or all of a larger whole number.
pub(crate) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = 3 - (value.abs().log10().floor() as i32);
    format!("{value:.*}", digits.max(0) as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use analysis::{Response, Trial, Values};

    use super::*;

    fn trial(system: &str, seed: u64, cpu_s: f64) -> Trial {
        Trial {
            name: format!("{system}-seed{seed}"),
            levels: BTreeMap::from([("system".to_owned(), system.to_owned())]),
            seed: Some(seed),
            values: vec![Values::exact(None, "cpu_s", &[cpu_s])],
            ..Trial::default()
        }
    }

    #[test]
    fn cells_stand_in_the_order_of_their_levels() {
        let response = Response { unit: "s".to_owned(), more_is_better: false, additive: true };
        let dataset = Dataset {
            factors: vec![Factor {
                name: "system".to_owned(),
                levels: vec!["17.11".to_owned(), "18.9".to_owned()],
            }],
            responses: BTreeMap::from([("cpu_s".to_owned(), response)]),
            trials: vec![
                trial("18.9", 1, 212.0),
                trial("17.11", 1, 128.0),
                trial("17.11", 2, 0.125),
                Trial { problem: Some("interrupted".to_owned()), ..trial("18.9", 2, 191.0) },
            ],
            ..Dataset::default()
        };
        insta::assert_snapshot!(cells_text(&dataset), @r"
        cpu_s (s)
        system  runs  median   least   most  failed
         17.11     2   64.06  0.1250  128.0       -
          18.9     2   201.5   191.0  212.0       -

        Runs that did not end as they should:
        18.9-seed2: interrupted
        ");
    }
}
