//! Observations as a table, from runs or other programs.

use analysis::{Dataset, Trial, Values};
use frames::{Cells, Column};

use crate::sink::{ExportError, Sink};

/// Writes a row per value into the sink that `sink` creates for these columns.
pub fn observed<'a>(
    set: &Dataset,
    sink: impl FnOnce(&[Column]) -> Result<Box<dyn Sink + 'a>, ExportError>,
) -> Result<(), ExportError> {
    let mut sink = sink(&columns(set, &Trial::default(), &Values::exact(None, "", &[])))?;
    for trial in &set.trials {
        for values in &trial.values {
            sink.rows(&columns(set, trial, values))?;
        }
    }
    sink.finish()
}

/// The rows of a trial and response. `lower_bound` is 1 for lower bounds; `lower_bounds` counts
/// those of this trial, part and response.
fn columns(set: &Dataset, trial: &Trial, values: &Values) -> Vec<Column> {
    let rows = values.samples.len();
    let text = |name: &'static str, text: Option<&str>| Column::text(name, text, rows);
    let count = |name: &'static str, count: Option<u64>| Column::count(name, count, rows);
    let unit = set.responses.get(&values.response).map(|it| it.unit.as_str());
    let mut columns = vec![
        text("trial", Some(&trial.name)),
        count("block", trial.block),
        count("seed", trial.seed),
        text("part", values.part.as_deref()),
        text("response", Some(&values.response)),
        text("unit", unit),
    ];
    columns.extend(set.factors.iter().map(|factor| {
        let level = trial.levels.get(&factor.name).map(String::as_str);
        Column::text(format!("level_{}", factor.name), level, rows)
    }));
    let samples = values.samples.iter();
    let bounds = samples.clone().map(|it| u64::from(it.is_lower_bound));
    columns.extend([
        Column::whole("sample", Cells::Count((0..rows as u64).collect())),
        Column::whole("value", Cells::Number(samples.map(|it| it.value).collect())),
        Column::whole("lower_bound", Cells::Count(bounds.collect())),
        count("lower_bounds", Some(values.censored() as u64)),
        text("problem", trial.remark().as_deref()),
    ]);
    columns
}
