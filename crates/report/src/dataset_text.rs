//! Observations as a table: what was understood of a file.

use std::collections::BTreeSet;

use analysis::{Dataset, Trial};
use model::Observation;

use crate::columns::aligned;

/// Factors, responses, a row a trial and part, and the notes. Ends in a newline.
///
/// Of several samples the row shows how many there are and their median.
#[must_use]
pub fn dataset_text(set: &Dataset) -> String {
    let plural = if set.trials.len() == 1 { "" } else { "s" };
    let mut text = format!("{}: {} trial{plural}\n\n", set.name, set.trials.len());
    let mut rows = vec![["factor", "levels"].map(str::to_owned).to_vec()];
    rows.extend(
        set.factors.iter().map(|factor| vec![factor.name.clone(), factor.levels.join(", ")]),
    );
    text.push_str(&aligned(&rows));
    let mut rows = vec![["response", "unit", "better"].map(str::to_owned).to_vec()];
    rows.extend(set.responses.iter().map(|(name, response)| {
        let better = if response.more_is_better { "more" } else { "less" };
        let unit = if response.unit.is_empty() { "-" } else { &response.unit };
        vec![name.clone(), unit.to_owned(), better.to_owned()]
    }));
    text.push_str(&format!("\n{}\n{}", aligned(&rows), trials(set)));
    for note in &set.notes {
        text.push_str(&format!("Note: {note}.\n"));
    }
    text
}

fn trials(set: &Dataset) -> String {
    let parts =
        set.trials.iter().flat_map(|trial| &trial.values).any(|values| values.part.is_some());
    let problems = set.trials.iter().any(|trial| trial.remark().is_some());
    let mut head: Vec<String> = vec!["trial".to_owned()];
    head.extend(set.factors.iter().map(|factor| factor.name.clone()));
    head.extend(parts.then(|| "part".to_owned()));
    head.extend(set.responses.keys().cloned());
    head.extend(problems.then(|| "problem".to_owned()));
    let mut rows = vec![head];
    for trial in &set.trials {
        let mut of_trial: Vec<Option<&str>> = Vec::new();
        for values in &trial.values {
            if !of_trial.contains(&values.part.as_deref()) {
                of_trial.push(values.part.as_deref());
            }
        }
        if of_trial.is_empty() {
            of_trial.push(None);
        }
        for part in of_trial {
            let level = |name: &String| trial.levels.get(name).cloned().unwrap_or_default();
            let mut row = vec![trial.name.clone()];
            row.extend(set.factors.iter().map(|factor| level(&factor.name)));
            row.extend(parts.then(|| part.unwrap_or("whole").to_owned()));
            row.extend(set.responses.keys().map(|response| figure(trial, part, response)));
            row.extend(trial.remark().filter(|_| problems));
            rows.push(row);
        }
    }
    let facts: BTreeSet<(&String, &String)> =
        set.trials.iter().flat_map(|trial| &trial.environment).collect();
    let mut text = aligned(&rows);
    text.push('\n');
    for (fact, value) in facts {
        text.push_str(&format!("{fact}: {value}\n"));
    }
    text
}

/// A single figure, or the median of several with their number; `-` where there is none.
fn figure(trial: &Trial, part: Option<&str>, response: &str) -> String {
    match trial.samples(part, response) {
        None | Some([]) => "-".to_owned(),
        Some([single]) => observed(single),
        Some(several) => match stats::bounded_median(several) {
            Some(median) => format!("{} (median of {})", observed(&median), several.len()),
            None => "-".to_owned(),
        },
    }
}

/// A value, with a mark if it is a lower bound.
fn observed(observed: &Observation) -> String {
    format!("{}{}", observed.mark(), observed.value)
}
