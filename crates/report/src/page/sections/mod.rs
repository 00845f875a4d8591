//! The sections of a report: those for which there are data, verdicts first.

mod attribution;
mod comparison;
mod findings;
mod responsiveness;
mod sweep;
mod verdicts;
mod work;

use super::json::ReportData;
use super::{Input, Material, command, environment};
use model::shown::quoted;
use render::{Block, Document, Section};

use crate::charts::{self, Data};
use std::collections::BTreeMap;

use analysis::Remarks;

/// Most notes that are told.
const MOST_NOTES: usize = 60;

/// Makes a report.
#[must_use]
pub fn report<'a>(material: &'a Material<'a>) -> Document<'a> {
    let inputs = material.inputs.iter().enumerate();
    let measurements = inputs.flat_map(|(index, input)| input.measurements(index)).collect();
    let inputs = material.inputs.iter().enumerate();
    let jobs = inputs.flat_map(|(index, input)| input.jobs(index)).collect();
    let data = Data { material, measurements, jobs };
    let names: Vec<&str> = material.inputs.iter().map(|input| input.name.as_str()).collect();
    let mut sections: Vec<Section> = [
        comparison::section(&data),
        responsiveness::section(&data),
        responsiveness::delays(&data),
        sweep::section(&data),
        attribution::section(&data),
        work::section(&data),
        findings::section(&data),
        section("counters", "Counters over time", charts_of(&data, "counters")),
        environment_section(material),
        reproduce(material),
        notes(&data),
    ]
    .into_iter()
    .flatten()
    .collect();
    sections.retain(|section| !section.blocks.is_empty());
    let (title, verdicts) = (names.join(" · "), verdicts::verdicts(&data));
    Document {
        title: title.clone(),
        verdicts: verdicts.clone(),
        facts: verdicts::facts(&data),
        sections,
        ..Document::default()
    }
    .with_data(ReportData { material, title, verdicts })
}

/// A section, if there is anything in it.
fn section(id: &str, title: &str, blocks: Vec<Block>) -> Option<Section> {
    let (id, title) = (id.to_owned(), title.to_owned());
    (!blocks.is_empty()).then_some(Section { id, title, blocks })
}

/// The charts of a section, in the order of the table of all kinds.
fn charts_of(data: &Data<'_>, section: &str) -> Vec<Block> {
    let wanted = charts::ALL.iter().filter(|kind| kind.section == section);
    wanted.flat_map(|kind| kind.charts(data)).map(|chart| Block::Chart(Box::new(chart))).collect()
}

fn environment_section(material: &Material<'_>) -> Option<Section> {
    let (table, differing) = environment::table(&material.inputs)?;
    let mut blocks = Vec::new();
    if table.head.len() > 2 {
        blocks.push(Block::Sentence(match differing.is_empty() {
            true => "The systems differ in no fact that was recorded.".to_owned(),
            false => format!("The systems differ in: {}.", differing.join(", ")),
        }));
    }
    blocks.push(Block::Table(table));
    section("environment", "Environment", blocks)
}

/// How the results, and the report on them, are made again.
fn reproduce(material: &Material<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    let several = material.inputs.len() > 1;
    for input in &material.inputs {
        if several {
            blocks.push(Block::Sentence(format!("{}:", input.name)));
        }
        match &input.plan {
            Some((command, plan)) => {
                blocks.push(Block::Command(command.clone()));
                blocks.push(Block::Folded("plan.toml".to_owned(), plan.clone()));
            }
            None => {
                blocks.extend(command::blocks(input.headers(), &material.machines));
            }
        }
    }
    let version = material.inputs.iter().flat_map(Input::headers).map(|header| &header.thrashlab);
    let mut versions: Vec<&String> = version.collect();
    versions.sort_unstable();
    versions.dedup();
    if !versions.is_empty() {
        let versions: Vec<&str> = versions.into_iter().map(String::as_str).collect();
        blocks.push(Block::Sentence(format!("Measured with thrashlab {}.", versions.join(", "))));
    }
    let names = material.inputs.iter().map(|input| quoted(&input.typed));
    let names: Vec<String> = names.collect();
    blocks.push(Block::Sentence("This report, from the same files:".to_owned()));
    blocks.push(Block::Command(format!("thrashlab report {} -o report.html", names.join(" "))));
    section("reproduce", "How to reproduce", blocks)
}

/// Warnings, what was missed, and what could not be told.
fn notes(data: &Data<'_>) -> Option<Section> {
    let several = data.material.inputs.len() > 1;
    let mut all: Vec<String> = data.material.notes.clone();
    for input in &data.material.inputs {
        let Remarks { warnings, missed, .. } =
            Remarks::new(&input.runs.iter().collect::<Vec<_>>(), BTreeMap::new());
        let own = warnings.into_iter().map(|text| format!("Warning: {text}"));
        let lacks = missed.into_iter().map(|text| format!("Not available: {text}"));
        let told = own.chain(lacks).map(|text| match several {
            true => format!("{}: {text}", input.name),
            false => text,
        });
        all.extend(told);
    }
    let more = all.len().saturating_sub(MOST_NOTES);
    all.truncate(MOST_NOTES);
    if more > 0 {
        all.push(format!("And {more} more."));
    }
    let mut blocks = Vec::new();
    if !all.is_empty() {
        blocks.push(Block::List(all));
    }
    section("notes", "Notes", blocks)
}
