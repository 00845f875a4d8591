//! Observations as a document: how a file was interpreted.

use std::collections::BTreeSet;

use analysis::{Dataset, Trial, distinct};
use model::Observation;
use render::{Block, Cell, Document, Table, format};

/// Factors, responses, a row for each trial and part, and the notes.
pub fn dataset_document(set: &Dataset) -> Document<'_> {
    let factors = set.factors.iter().map(|it| [it.name.clone(), it.levels.join(", ")]);
    let responses = set.responses.iter().map(|(name, response)| {
        let unit = (!response.unit.is_empty()).then_some(&response.unit);
        let better = if response.more_is_better { "more" } else { "less" };
        [Cell::from(name), unit.into(), better.into()]
    });
    let facts: BTreeSet<(&String, &String)> =
        set.trials.iter().flat_map(|trial| &trial.environment).collect();
    let facts = facts.into_iter().map(|(fact, value)| format!("{fact}: {value}"));
    let notes = facts.chain(set.notes.iter().map(|note| format!("Note: {note}.")));
    let blocks = vec![
        Table::of("", ["factor", "levels"], factors).into(),
        Table::of("", ["response", "unit", "better"], responses).into(),
        trials(set).into(),
        Block::Notes(notes.collect()),
    ];
    let title = format!("{}: {}", set.name, format::counted(set.trials.len(), "trial"));
    Document { title, ..Document::of(blocks) }.with_data(set)
}

fn trials(set: &Dataset) -> Table {
    let mut values = set.trials.iter().flat_map(|trial| &trial.values);
    let has_parts = values.any(|values| values.part.is_some());
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

/// A single figure, or the median of several with their number.
fn figure(trial: &Trial, part: Option<&str>, response: &str) -> Cell {
    let samples = trial.samples(part, response).unwrap_or_default();
    Cell::figure(stats::bounded_median(samples).map(|median| match samples.len() {
        1 => observed(&median),
        count => format!("{} (median of {count})", observed(&median)),
    }))
}

fn observed(observed: &Observation) -> String {
    format!("{}{}", observed.mark(), observed.value)
}
