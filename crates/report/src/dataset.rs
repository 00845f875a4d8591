//! Observations as a document: what was understood of a file.

use std::collections::BTreeSet;

use analysis::distinct;
use analysis::{Dataset, Trial};
use model::Observation;
use render::{Block, Cell, Document, Table, format};

/// Factors, responses, a row a trial and part, and the notes.
///
/// Of several samples the row shows how many there are and their median.
pub fn dataset_document(set: &Dataset) -> Document<'_> {
    let factors = set.factors.iter().map(|it| [it.name.clone(), it.levels.join(", ")]);
    let responses = set.responses.iter().map(|(name, response)| {
        let unit = (!response.unit.is_empty()).then(|| Cell::from(&response.unit));
        let better = if response.more_is_better { "more" } else { "less" };
        [Cell::from(name), unit.into(), better.into()]
    });
    let facts: BTreeSet<(&String, &String)> =
        set.trials.iter().flat_map(|trial| &trial.environment).collect();
    let facts = facts.into_iter().map(|(fact, value)| format!("{fact}: {value}"));
    let notes = facts.chain(set.notes.iter().map(|note| format!("Note: {note}.")));
    Document {
        title: format!("{}: {}", set.name, format::counted(set.trials.len(), "trial")),
        ..Document::of(vec![
            Table::of("", ["factor", "levels"], factors).into(),
            Table::of("", ["response", "unit", "better"], responses).into(),
            trials(set).into(),
            Block::Notes(notes.collect()),
        ])
    }
    .with_data(set)
}

fn trials(set: &Dataset) -> Table {
    let has_parts =
        set.trials.iter().flat_map(|trial| &trial.values).any(|values| values.part.is_some());
    let has_problems = set.trials.iter().any(|trial| trial.remark().is_some());
    let mut table = Table::new("", ["trial"]);
    table.head.extend(set.factors.iter().map(|factor| factor.name.clone()));
    table.head.extend(has_parts.then(|| "part".to_owned()));
    table.head.extend(set.responses.keys().cloned());
    table.head.extend(has_problems.then(|| "problem".to_owned()));
    for trial in &set.trials {
        let parts = distinct(trial.values.iter().map(|values| values.part.as_deref()));
        for part in if parts.is_empty() { vec![None] } else { parts } {
            let level = |name: &String| trial.levels.get(name).map_or("", String::as_str);
            let mut row = vec![Cell::from(&trial.name)];
            row.extend(set.factors.iter().map(|factor| Cell::parsed(level(&factor.name))));
            row.extend(has_parts.then(|| Cell::from(part.unwrap_or("whole"))));
            row.extend(set.responses.keys().map(|response| figure(trial, part, response)));
            row.extend(trial.remark().filter(|_| has_problems).map(Cell::from));
            table.row(row);
        }
    }
    table
}

/// A single figure, or the median of several with their number; absent where there is none.
fn figure(trial: &Trial, part: Option<&str>, response: &str) -> Cell {
    match trial.samples(part, response) {
        None | Some([]) => Cell::absent(),
        Some([single]) => Cell::figure(observed(single)),
        Some(several) => stats::bounded_median(several)
            .map(|median| {
                Cell::figure(format!("{} (median of {})", observed(&median), several.len()))
            })
            .into(),
    }
}

/// A value with all of its digits, and a mark if it is a lower bound.
fn observed(observed: &Observation) -> String {
    format!("{}{}", observed.mark(), observed.value)
}
