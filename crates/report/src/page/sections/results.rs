//! Sections with what the commands show: `compare`, `sweep`, `attribute`, and `show` of jobs.

use std::collections::BTreeMap;

use analysis::{MemoryJob, Session};
use render::{Block, Section};

use super::{charts_of, section};
use crate::attribution_text::{attribution_blocks, conclusions};
use crate::charts::Data;
use crate::comparison::{blocks, legend};
use crate::sweep_text::{sweep_blocks, sweep_facts};
use crate::{memory_job_document, session_document};

/// All that `thrashlab compare` shows, with the charts.
pub(super) fn comparison(data: &Data<'_>) -> Option<Section> {
    let comparison = data.material.comparison.as_ref()?;
    let arms: Vec<String> =
        legend(comparison).iter().map(|(arm, text)| format!("{arm}: {text}")).collect();
    let mut all = vec![Block::Notes(arms)];
    all.extend(blocks(comparison, charts_of(data, "comparison")));
    section("comparison", "Comparison", all)
}

/// The charts of all sweeps, the knees, and what else was found.
pub(super) fn sweep(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "sweep");
    for view in data.material.inputs.iter().filter_map(|input| input.sweep.as_ref()) {
        blocks.push(Block::List(view.sentences()));
        let all = "All that thrashlab sweep says".to_owned();
        let facts = sweep_facts(view).into_iter().filter(|(_, value)| !value.is_empty());
        let facts = facts.map(|(name, value)| format!("{name}: {value}")).collect();
        let whole = [Block::Notes(facts)].into_iter().chain(sweep_blocks(view)).collect();
        blocks.push(Block::Folded(all, whole));
    }
    section("sweep", "The cliff", blocks)
}

/// The charts and sentences of all experiments.
pub(super) fn attribution(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "attribution");
    for attribution in data.material.inputs.iter().filter_map(|input| input.attribution.as_ref()) {
        blocks.push(Block::List(conclusions(attribution)));
        let all = "All that thrashlab attribute says".to_owned();
        blocks.push(Block::Folded(all, attribution_blocks(attribution)));
    }
    section("attribution", "What it is to be put down to", blocks)
}

/// Charts, and the tables of all jobs, as `thrashlab show` prints them.
pub(super) fn work(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "work");
    for of_job in &data.jobs {
        let input = data.material.inputs[of_job.input].name.as_str();
        let title = [input, of_job.job.name.as_str(), of_job.cell];
        let title: Vec<&str> = title.into_iter().filter(|part| !part.is_empty()).collect();
        let (runs, none) = (of_job.runs.iter().copied(), BTreeMap::new());
        let found = match of_job.is_of_memory() {
            true => memory_job_document(&MemoryJob::from_runs(runs, none), false),
            false => session_document(&Session::from_runs(runs, none), false),
        };
        let said = found.verdicts.into_iter().map(|verdict| verdict.text);
        let mut all: Vec<Block> = [found.title].into_iter().chain(said).map(Block::from).collect();
        all.extend(found.blocks);
        blocks.push(Block::Folded(title.join(" · "), all));
    }
    section("work", "Work that was timed", blocks)
}
