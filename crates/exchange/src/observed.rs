//! Observations as a table: what `compare` sees, of runs and of other programs' results alike.

use analysis::Dataset;

use crate::table::{Cell, Column, ExportError, Kind, RowSink};

const BEFORE_LEVELS: [(&str, Kind); 6] = [
    ("trial", Kind::Text),
    ("block", Kind::Count),
    ("seed", Kind::Count),
    ("part", Kind::Text),
    ("response", Kind::Text),
    ("unit", Kind::Text),
];
/// `lower_bound` is 1 where this value is one, `lower_bounds` how many values of this trial, part and response are lower bounds only.
const AFTER_LEVELS: [(&str, Kind); 5] = [
    ("sample", Kind::Count),
    ("value", Kind::Number),
    ("lower_bound", Kind::Count),
    ("lower_bounds", Kind::Count),
    ("problem", Kind::Text),
];

/// The columns of a dataset, and its rows, a value each, into the sink that is made for them.
///
/// # Errors
/// When they cannot be written.
pub fn observed<'a>(
    set: &Dataset,
    sink: impl FnOnce(&[Column]) -> Result<Box<dyn RowSink + 'a>, ExportError>,
) -> Result<(), ExportError> {
    let fixed = |columns: &[(&str, Kind)]| -> Vec<Column> {
        columns.iter().map(|(name, kind)| Column::new(*name, *kind)).collect()
    };
    let mut columns = fixed(&BEFORE_LEVELS);
    columns
        .extend(set.factors.iter().map(|it| Column::new(format!("level_{}", it.name), Kind::Text)));
    columns.extend(fixed(&AFTER_LEVELS));
    let mut sink = sink(&columns)?;
    for trial in &set.trials {
        let remark = trial.remark();
        for values in &trial.values {
            let unit = set.responses.get(&values.response).map(|it| it.unit.as_str());
            let mut row = vec![
                Cell::Text(&trial.name),
                Cell::count(trial.block),
                Cell::count(trial.seed),
                Cell::text(values.part.as_deref()),
                Cell::Text(&values.response),
                Cell::text(unit),
            ];
            let level = |name: &String| Cell::text(trial.levels.get(name).map(String::as_str));
            row.extend(set.factors.iter().map(|factor| level(&factor.name)));
            let place = row.len();
            row.extend([
                Cell::Absent,
                Cell::Absent,
                Cell::Absent,
                Cell::Count(values.censored() as u64),
                Cell::text(remark.as_deref()),
            ]);
            for (index, sample) in values.samples.iter().enumerate() {
                row[place] = Cell::Count(index as u64);
                row[place + 1] = Cell::Number(sample.value);
                row[place + 2] = Cell::Count(u64::from(sample.is_lower_bound));
                sink.row(&row)?;
            }
        }
    }
    sink.finish()
}
