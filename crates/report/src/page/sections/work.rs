//! The results of jobs: sessions, and work on memory.

use std::collections::BTreeMap;

use model::Run;

use crate::charts::Data;
use crate::{analyse_memory_job, analyse_session, memory_job_text, session_text};
use render::{Block, Section};

/// The charts of jobs.
const CHARTS: [&str; 4] = ["command-ratios", "commands", "touch-cost", "touches"];

/// Charts, and the tables of all jobs, as `thrashlab show` prints them.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let mut blocks = super::charts_of(data, &CHARTS);
    for of_job in &data.jobs {
        let input = data.material.inputs[of_job.input].name.as_str();
        let title = [input, of_job.job.name.as_str(), of_job.cell];
        let title: Vec<&str> = title.into_iter().filter(|part| !part.is_empty()).collect();
        let runs: Vec<Run> = of_job.runs.iter().map(|run| (*run).clone()).collect();
        let text = match of_job.is_of_memory() {
            true => memory_job_text(&analyse_memory_job(&runs, BTreeMap::new()), false),
            false => session_text(&analyse_session(&runs, BTreeMap::new()), false),
        };
        blocks.push(Block::Folded(title.join(" · "), text));
    }
    super::section("work", "Work that was timed", blocks)
}
