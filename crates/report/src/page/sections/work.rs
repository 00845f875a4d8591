//! The results of jobs: sessions, and work on memory.

use std::collections::BTreeMap;

use crate::charts::Data;
use crate::{memory_job_document, session_document};
use analysis::{MemoryJob, Session};
use render::plain_text;
use render::{Block, Section};

/// Charts, and the tables of all jobs, as `thrashlab show` prints them.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let mut blocks = super::charts_of(data, "work");
    for of_job in &data.jobs {
        let input = data.material.inputs[of_job.input].name.as_str();
        let title = [input, of_job.job.name.as_str(), of_job.cell];
        let title: Vec<&str> = title.into_iter().filter(|part| !part.is_empty()).collect();
        let runs = || of_job.runs.iter().copied();
        let text = match of_job.is_of_memory() {
            true => plain_text(&memory_job_document(
                &MemoryJob::from_runs(runs(), BTreeMap::new()),
                false,
            )),
            false => {
                plain_text(&session_document(&Session::from_runs(runs(), BTreeMap::new()), false))
            }
        };
        blocks.push(Block::Folded(title.join(" · "), text));
    }
    super::section("work", "Work that was timed", blocks)
}
