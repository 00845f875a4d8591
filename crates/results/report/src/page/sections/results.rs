//! The sections of a report with results, as `compare`, `sweep`, `attribute`, `show` and the
//! doctor print them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use analysis::distinct;
use analysis::explained::is_counted;
use analysis::responsiveness::{STALL_FACTOR, WorstSample, claims};
use itertools::Itertools;
use render::{Block, Section, Table};

use super::super::Measurement;
use super::{charts_of, section};
use crate::attribution_text::{attribution_blocks, conclusions};
use crate::charts::{Data, found, panel};
use crate::comparison::{blocks, legend};
use crate::job_document;
use crate::matrix_document::{matrix_table, worst_item};
use curves::{sweep_blocks, sweep_facts};

const MOST_TABLES: usize = 8;
const MOST_WORST: usize = 12;
const MOST_WORST_OF_LOAD: usize = 4;
const MOST_FINDINGS: usize = 8;

pub(super) fn comparison(data: &Data<'_>) -> Option<Section> {
    let comparison = data.material.comparison.as_ref()?;
    let arms = legend(comparison).iter().map(|(arm, text)| format!("{arm}: {text}")).collect();
    let mut all = vec![Block::Notes(arms)];
    all.extend(blocks(comparison, charts_of(data, "comparison")));
    section("comparison", "Comparison", all)
}

pub(super) fn responsiveness(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "responsiveness");
    let shown = data.measurements.iter().take(MOST_TABLES);
    blocks.extend(shown.map(|one| Block::Table(measurement_table(one, &data.label(one)))));
    let more = data.measurements.len().saturating_sub(MOST_TABLES);
    if more > 0 {
        blocks.push(format!("And {more} more, which are in the chart above.").into());
    }
    section("responsiveness", "Responsiveness", blocks)
}

fn measurement_table(one: &Measurement, label: &str) -> Table {
    let probe = if label.is_empty() { &one.label } else { label };
    let rows = one.matrix.rows.iter();
    let ratios = rows.filter_map(|row| Some((row.load.as_str(), row.ratio?)));
    let caption = format!(
        "{probe}: delays from the intended start; stalled: more than {STALL_FACTOR} times the \
         median without load. {}",
        claims(ratios).join(" ")
    );
    matrix_table(&one.matrix, caption)
}

pub(super) fn delays(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "delays");
    let mut worst: Vec<(String, &WorstSample)> = Vec::new();
    for one in &data.measurements {
        let label = data.label(one);
        for load in one.matrix.why_slow.iter().filter(|load| is_counted(&load.slow.parts_ns)) {
            let place = panel(&load.load, &label);
            let slowest = load.worst.iter().take(MOST_WORST_OF_LOAD);
            worst.extend(slowest.map(|sample| (place.clone(), sample)));
        }
    }
    worst.sort_by_key(|(_, sample)| Reverse(sample.explained.delay_ns));
    worst.truncate(MOST_WORST);
    if !worst.is_empty() && !blocks.is_empty() {
        let items = worst.iter().map(|(place, sample)| worst_item(place, sample));
        blocks.push("The slowest responses:".into());
        blocks.push(Block::List(items.collect()));
    }
    section("delays", "Why slow responses were slow", blocks)
}

pub(super) fn sweep(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "sweep");
    for view in data.material.inputs.iter().filter_map(|input| input.sweep.as_ref()) {
        blocks.push(Block::List(view.sentences()));
        let all = "The full output of thrashlab sweep".to_owned();
        let facts = sweep_facts(view).into_iter().filter(|(_, value)| !value.is_empty());
        let facts = facts.map(|(name, value)| format!("{name}: {value}")).collect();
        let facts = [Block::Notes(facts)].into_iter();
        blocks.push(Block::Folded(all, facts.chain(sweep_blocks(view)).collect()));
    }
    section("sweep", "The cliff", blocks)
}

pub(super) fn attribution(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "attribution");
    for attribution in data.material.inputs.iter().filter_map(|input| input.attribution.as_ref()) {
        blocks.push(Block::List(conclusions(attribution)));
        let all = "The full output of thrashlab attribute".to_owned();
        blocks.push(Block::Folded(all, attribution_blocks(attribution)));
    }
    section("attribution", "What caused the change", blocks)
}

pub(super) fn work(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "work");
    for of_job in &data.jobs {
        let input = data.material.inputs[of_job.input].name.as_str();
        let title = [input, of_job.job.name(), of_job.cell];
        let title: Vec<&str> = title.into_iter().filter(|part| !part.is_empty()).collect();
        let Some(found) = job_document(&of_job.runs, BTreeMap::new(), false) else { continue };
        let verdicts = found.verdicts.into_iter().map(|verdict| verdict.text);
        let head = [found.title].into_iter().chain(verdicts).map(Block::from);
        blocks.push(Block::Folded(title.join(" · "), head.chain(found.blocks).collect()));
    }
    section("work", "Work that was timed", blocks)
}

pub(super) fn findings(data: &Data<'_>) -> Option<Section> {
    let diagnoses = || data.material.inputs.iter().flat_map(|input| &input.diagnoses);
    diagnoses().next()?;
    let all = found(data);
    let mut blocks = charts_of(data, "findings");
    if all.is_empty() {
        blocks.push("Nothing was found that costs 1 % of the time of any thread or CPU.".into());
    }
    let rules = distinct(all.iter().map(|one| one.finding.rule));
    let items = rules.iter().take(MOST_FINDINGS).filter_map(|rule| {
        let mut of_rule = all.iter().filter(|one| one.finding.rule == *rule);
        let worst = of_rule.next()?;
        let also = match of_rule.map(|one| one.load.as_str()).collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => none,
            loads => format!(" (also under {loads})"),
        };
        let finding = worst.finding;
        let what_if = finding.counterfactual.as_ref().map(|text| format!(" What if: {text}."));
        let what_if = what_if.unwrap_or_default();
        Some(format!(
            "{rule} under {}{also}: {}.{what_if} Remedy: {}. Confirm: {}",
            worst.load, finding.condition, finding.remedy, finding.confirm
        ))
    });
    blocks.push(Block::List(items.collect()));
    let out = diagnoses().flat_map(|one| &one.diagnosis.ruled_out).map(|(rule, _)| *rule);
    let out = out.filter(|rule| !rules.contains(rule)).sorted().dedup().join(", ");
    if !out.is_empty() {
        blocks.push(format!("Ruled out: {out}.").into());
    }
    section("findings", "What the time was lost to", blocks)
}
