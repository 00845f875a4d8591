//! The results of jobs: sessions, and work on memory.

use std::collections::BTreeMap;

use model::{Measure, Run};

use super::super::{Block, Section};
use crate::charts::Data;
use crate::{analyse_memory_job, analyse_session, is_of_memory_job, memory_job_text, session_text};

/// The tables of all jobs, as `thrashlab show` prints them.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    for input in data.material.inputs.iter().filter(|input| input.sweep.is_none()) {
        let mut groups: BTreeMap<(&str, &str), Vec<Run>> = BTreeMap::new();
        for (run, cell) in input.runs.iter().zip(&input.cells) {
            if let Some(header) = &run.header
                && let Measure::Job(job) = &header.spec.measure
            {
                groups.entry((&job.name, cell)).or_default().push(run.clone());
            }
        }
        for ((job, cell), runs) in groups {
            let title = [input.name.as_str(), job, cell];
            let title: Vec<&str> = title.into_iter().filter(|part| !part.is_empty()).collect();
            let text = match is_of_memory_job(&runs) {
                true => memory_job_text(&analyse_memory_job(&runs, BTreeMap::new())),
                false => session_text(&analyse_session(&runs, BTreeMap::new()), false),
            };
            blocks.push(Block::Folded(title.join(" · "), text));
        }
    }
    super::section("work", "Work that was timed", blocks)
}
