//! Observations of runs or other programs as a table.

use std::collections::BTreeSet;

use analysis::{Dataset, Trial, Values};
use results::{Cells, Column};

use crate::sink::{ExportError, Sink};

/// Columns that a row without a value lacks.
const OF_VALUES: [&str; 3] = ["sample", "value", "lower_bound"];

/// Writes a row per value into the sink that `sink` creates for these columns, and a row without a
/// value for a trial or a response that has none.
pub fn observed<'a>(
    set: &Dataset,
    sink: impl FnOnce(&[Column]) -> Result<Box<dyn Sink + 'a>, ExportError>,
) -> Result<(), ExportError> {
    let mut sink = sink(&columns(set, &Trial::default(), Some(&Values::exact(None, "", &[])), ""))?;
    for trial in &set.trials {
        let outcome = trial.outcome();
        for values in &trial.values {
            sink.rows(&columns(set, trial, Some(values), &outcome))?;
        }
        for (response, why) in &trial.lost {
            let values = Values { part: None, response: response.clone(), samples: Vec::new() };
            let failed = format!("failed: {why}");
            sink.rows(&row_without_value(columns(set, trial, Some(&values), &failed)))?;
        }
        if trial.values.is_empty() && trial.lost.is_empty() {
            sink.rows(&row_without_value(columns(set, trial, None, &outcome)))?;
        }
    }
    sink.finish()
}

/// The parts of the identity that are not factors.
fn identity_names(set: &Dataset) -> BTreeSet<&String> {
    let names = set.trials.iter().flat_map(|trial| trial.identity.keys());
    names.filter(|name| set.factor(name).is_none()).collect()
}

/// The columns of one row; its `value` and what describes it are absent.
fn row_without_value(columns: Vec<Column>) -> Vec<Column> {
    let absent = |column: &mut Column| match &mut column.cells {
        Cells::Count(values) => values.resize(1, 0),
        Cells::Number(values) => values.resize(1, 0.0),
        _ => {}
    };
    let mut columns = columns;
    for column in columns.iter_mut().filter(|column| OF_VALUES.contains(&&*column.name)) {
        absent(column);
        column.present = vec![false];
    }
    columns
}

/// The rows of a trial and response; of neither a value nor a response one row. `lower_bound` is 1
/// for lower bounds; `lower_bounds` counts those of this trial, part and response.
fn columns(set: &Dataset, trial: &Trial, values: Option<&Values>, outcome: &str) -> Vec<Column> {
    let samples = values.map_or(&[][..], |values| &values.samples);
    let is_heading = trial.name.is_empty();
    let rows = if samples.is_empty() && !is_heading { 1 } else { samples.len() };
    let text = |name: &'static str, text: Option<&str>| Column::text(name, text, rows);
    let count = |name: &'static str, count: Option<u64>| Column::count(name, count, rows);
    let name = values.map(|values| values.response.as_str());
    let response = name.and_then(|name| set.responses.get(name));
    let mut columns = vec![
        text("trial", Some(&trial.name)),
        count("block", trial.block),
        count("seed", trial.seed),
        text("part", values.and_then(|values| values.part.as_deref())),
        text("response", name),
        text("unit", response.map(|it| it.unit.as_str())),
    ];
    columns.extend(set.factors.iter().map(|factor| {
        let level = trial.levels.get(&factor.name).map(String::as_str);
        Column::text(format!("level_{}", factor.name), level, rows)
    }));
    // What names the work but is the same in all trials is not a level.
    columns.extend(identity_names(set).into_iter().map(|name| {
        let value = trial.identity.get(name).map(String::as_str);
        Column::text(format!("identity_{name}"), value, rows)
    }));
    let numbers = samples.iter().map(|it| it.value).collect();
    let bounds = samples.iter().map(|it| u64::from(it.is_lower_bound)).collect();
    let censored = values.map_or(0, |values| values.censored() as u64);
    let optional = |column: Column| Column { is_optional: true, ..column };
    columns.extend([
        optional(Column::whole("sample", Cells::Count((0..samples.len() as u64).collect()))),
        optional(Column::whole("value", Cells::Number(numbers))),
        optional(Column::whole("lower_bound", Cells::Count(bounds))),
        count("lower_bounds", Some(censored)),
        text("problem", trial.remark().as_deref()),
        text("better", response.map(|it| it.direction.word())),
        text("session", Some(trial.session.as_deref().unwrap_or(&trial.name))),
        text("outcome", Some(outcome)),
    ]);
    columns
}
