//! A report: the sections that have data, verdicts first, and the data as JSON.

mod results;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use analysis::Remarks;
use analysis::comparison::BOOT_ID;
use itertools::Itertools;
use model::shown::quoted;
use model::units::format_size;
use render::{Block, Cell, Document, Section, Table, Tone, Verdict};
use serde_json::{Value, json};

use super::{Input, Material, command};
use crate::charts::{self, Data};
use crate::doctor_json;
use crate::job::job_json;

const MOST_NOTES: usize = 60;

/// The report on some results.
pub fn report<'a>(material: &'a Material<'a>) -> Document<'a> {
    let inputs = || material.inputs.iter().enumerate();
    let measurements = inputs().flat_map(|(index, input)| input.measurements(index)).collect();
    let jobs = inputs().flat_map(|(index, input)| input.jobs(index)).collect();
    let data = Data { material, measurements, jobs };
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
    let title = material.inputs.iter().map(|input| &input.name).join(" · ");
    let verdicts = verdicts::verdicts(&data);
    let facts = verdicts::facts(&data);
    let document = Document { sections, facts, ..Document::default() };
    let document = Document { title: title.clone(), verdicts: verdicts.clone(), ..document };
    // Lazy: the data take longer than the page, and only JSON needs them.
    document.with_json(move || json_data(material, &title, &verdicts))
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
    let (table, differing) = environment_table(&material.inputs)?;
    let mut blocks = Vec::new();
    if table.head.len() > 2 {
        blocks.push(match differing.is_empty() {
            true => "The systems agree in all facts that were recorded.".into(),
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
            None => blocks.extend(command::blocks(input, &material.machines)),
        }
    }
    let headers = material.inputs.iter().flat_map(Input::headers);
    let versions = headers.map(|header| &header.thrashlab).sorted().dedup().join(", ");
    if !versions.is_empty() {
        blocks.push(format!("Measured with thrashlab {versions}.").into());
    }
    let names = material.inputs.iter().map(|input| quoted(&input.typed)).join(" ");
    blocks.push("This report, from the same files:".into());
    blocks.push(Block::Command(format!("thrashlab report {names} -o report.html")));
    section("reproduce", "How to reproduce", blocks)
}

fn notes(data: &Data<'_>) -> Option<Section> {
    let several = data.material.inputs.len() > 1;
    let mut all: Vec<String> = data.material.notes.clone();
    for input in &data.material.inputs {
        let name = if several { format!("{}: ", input.name) } else { String::new() };
        let runs = input.runs.iter().collect_vec();
        let Remarks { warnings, missed, .. } = Remarks::new(&runs, BTreeMap::new());
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

/// Facts listed first.
const FIRST: &str = "kernel cpu_model cpus_online memory_bytes swap_bytes governor thp lru_gen \
                     swappiness hypervisor cmdline";
const MOST_VALUES: usize = 4;

/// The facts of all inputs and the names of those that differ, which come first, then [`FIRST`],
/// then the others by name. `None` if nothing was recorded.
fn environment_table(inputs: &[Input<'_>]) -> Option<(Table, Vec<String>)> {
    let of_each = inputs.iter().map(|input| (input.name.as_str(), input.environment()));
    let of_each: Vec<_> = of_each.filter(|(_, facts)| !facts.is_empty()).collect();
    let all: BTreeSet<&str> = of_each.iter().flat_map(|(_, facts)| facts.keys().copied()).collect();
    let differs = |fact: &str| of_each.iter().any(|it| it.1.get(fact) != of_each[0].1.get(fact));
    let place = |fact: &&str| FIRST.split(' ').position(|first| first == *fact);
    let facts = all.into_iter().filter(|fact| *fact != BOOT_ID);
    let mut facts: Vec<(&str, bool)> = facts.map(|fact| (fact, differs(fact))).collect();
    if facts.is_empty() {
        return None;
    }
    facts.sort_by_key(|(fact, differs)| (!differs, place(fact).unwrap_or(usize::MAX)));
    let names = of_each.iter().map(|(name, _)| *name);
    let rows = facts.iter().map(|(fact, differs)| {
        let (mark, tone) =
            if *differs { (" (differs)", Tone::Doubtful) } else { ("", Tone::Plain) };
        let cells = of_each.iter().map(move |(_, facts)| {
            let values = facts.get(fact).map(|values| value_text(fact, values));
            Cell::Text(values.unwrap_or_else(|| "not recorded".to_owned()), tone)
        });
        [Cell::from(format!("{fact}{mark}"))].into_iter().chain(cells)
    });
    let caption = "The systems, as their runs recorded them";
    let table = Table::of(caption, ["fact"].into_iter().chain(names), rows);
    let differing = facts.into_iter().filter(|(_, differs)| *differs);
    Some((table, differing.map(|(fact, _)| fact.to_owned()).collect()))
}

fn value_text(fact: &str, values: &BTreeSet<&str>) -> String {
    let text = |value: &&str| match value.parse::<u64>() {
        Ok(size_bytes) if fact.ends_with("_bytes") => format_size(size_bytes),
        _ => (*value).to_owned(),
    };
    let mut texts: Vec<String> = values.iter().take(MOST_VALUES).map(text).collect();
    if values.len() > MOST_VALUES {
        texts.push(format!("and {} more", values.len() - MOST_VALUES));
    }
    texts.join(" | ")
}

const SCHEMA: u32 = 1;

fn json_data(material: &Material<'_>, title: &str, verdicts: &[Verdict]) -> Value {
    let inputs = material.inputs.iter().enumerate().map(input_json);
    json!({
        "schema": SCHEMA,
        "title": title,
        "verdicts": verdicts.iter().map(|verdict| verdict.text.as_str()).collect::<Value>(),
        "inputs": inputs.collect::<Value>(),
        "comparison": material.comparison,
        "notes": material.notes,
    })
}

fn input_json((index, input): (usize, &Input<'_>)) -> Value {
    let measurements = input.measurements(index).into_iter();
    let measurements = measurements.map(|one| json!({ "what": one.label, "matrix": one.matrix }));
    let sweeps = input.sweep.iter().flat_map(|view| &view.rows);
    let sweeps =
        sweeps.map(|row| json!({ "level": row.label, "curve": row.curve, "found": row.found }));
    let diagnoses = input.diagnoses.iter().map(|one| {
        json!({ "run_id": one.run_id, "load": one.load, "diagnosis": doctor_json(&one.diagnosis) })
    });
    let job = job_json(&input.runs.iter().collect::<Vec<_>>());
    json!({
        "name": input.name,
        "measurements": measurements.collect::<Value>(),
        "job": job,
        "sweep": sweeps.collect::<Value>(),
        "grid": input.sweep.as_ref().and_then(|view| view.grid.as_ref()),
        "attribution": input.attribution,
        "diagnoses": diagnoses.collect::<Value>(),
        "environment": input.environment(),
    })
}
