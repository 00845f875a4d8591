//! The sections of a report that have data, verdicts first.

mod results;
mod verdicts;

use std::collections::BTreeMap;

use analysis::{Remarks, distinct};
use model::shown::quoted;
use render::{Block, Document, Section};

use super::{Input, Material, command, environment, json};
use crate::charts::{self, Data};

const MOST_NOTES: usize = 60;

/// The report on some results.
pub fn report<'a>(material: &'a Material<'a>) -> Document<'a> {
    let inputs = || material.inputs.iter().enumerate();
    let measurements = inputs().flat_map(|(index, input)| input.measurements(index)).collect();
    let jobs = inputs().flat_map(|(index, input)| input.jobs(index)).collect();
    let data = Data { material, measurements, jobs };
    let names: Vec<&str> = material.inputs.iter().map(|input| input.name.as_str()).collect();
    let sections = [
        results::comparison(&data),
        results::responsiveness(&data),
        results::delays(&data),
        results::sweep(&data),
        results::attribution(&data),
        results::work(&data),
        results::findings(&data),
        section("counters", "Counters over time", charts_of(&data, "counters")),
        environment_section(material),
        reproduce(material),
        notes(&data),
    ];
    let sections = sections.into_iter().flatten().collect();
    let (title, verdicts) = (names.join(" · "), verdicts::verdicts(&data));
    let facts = verdicts::facts(&data);
    let document = Document { sections, facts, ..Document::default() };
    let document = Document { title: title.clone(), verdicts: verdicts.clone(), ..document };
    // The data take longer than the page, and only JSON needs them.
    document.with_json(move || json::data(material, &title, &verdicts))
}

fn section(id: &str, title: &str, blocks: Vec<Block>) -> Option<Section> {
    (!blocks.is_empty()).then(|| Section::new(id, title, blocks))
}

/// The charts of a section, in the order of the table of kinds.
fn charts_of(data: &Data<'_>, section: &str) -> Vec<Block> {
    let kinds = charts::ALL.iter().filter(|kind| kind.section == section);
    kinds.flat_map(|kind| kind.charts(data)).map(|chart| Block::Chart(Box::new(chart))).collect()
}

fn environment_section(material: &Material<'_>) -> Option<Section> {
    let (table, differing) = environment::table(&material.inputs)?;
    let mut blocks = Vec::new();
    if table.head.len() > 2 {
        blocks.push(match differing.is_empty() {
            true => "The systems differ in no fact that was recorded.".into(),
            false => format!("The systems differ in: {}.", differing.join(", ")).into(),
        });
    }
    blocks.push(Block::Table(table));
    section("environment", "Environment", blocks)
}

fn reproduce(material: &Material<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    let several = material.inputs.len() > 1;
    for input in &material.inputs {
        if several {
            blocks.push(format!("{}:", input.name).into());
        }
        match &input.plan {
            Some((command, plan)) => {
                blocks.push(Block::Command(command.clone()));
                let plan = vec![Block::Verbatim(plan.clone())];
                blocks.push(Block::Folded("plan.toml".to_owned(), plan));
            }
            None => blocks.extend(command::blocks(input.headers(), &material.machines)),
        }
    }
    let headers = material.inputs.iter().flat_map(Input::headers);
    let mut versions: Vec<&str> = distinct(headers.map(|header| header.thrashlab.as_str()));
    versions.sort_unstable();
    if !versions.is_empty() {
        blocks.push(format!("Measured with thrashlab {}.", versions.join(", ")).into());
    }
    let names: Vec<String> = material.inputs.iter().map(|input| quoted(&input.typed)).collect();
    blocks.push("This report, from the same files:".into());
    blocks.push(Block::Command(format!("thrashlab report {} -o report.html", names.join(" "))));
    section("reproduce", "How to reproduce", blocks)
}

/// Warnings, unavailable capabilities, and what is missing from the report.
fn notes(data: &Data<'_>) -> Option<Section> {
    let several = data.material.inputs.len() > 1;
    let mut all: Vec<String> = data.material.notes.clone();
    for input in &data.material.inputs {
        let name = if several { format!("{}: ", input.name) } else { String::new() };
        let Remarks { warnings, missed, .. } =
            Remarks::new(&input.runs.iter().collect::<Vec<_>>(), BTreeMap::new());
        all.extend(warnings.into_iter().map(|text| format!("{name}Warning: {text}")));
        all.extend(missed.into_iter().map(|text| format!("{name}Not available: {text}")));
    }
    let more = all.len().saturating_sub(MOST_NOTES);
    all.truncate(MOST_NOTES);
    if more > 0 {
        all.push(format!("And {more} more."));
    }
    let notes = (!all.is_empty()).then_some(Block::List(all));
    section("notes", "Notes", notes.into_iter().collect())
}
