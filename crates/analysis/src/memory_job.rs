//! What a memory job cost under each load.

use std::collections::BTreeMap;

use model::{BASELINE, EndStatus, Header, JobSpec, Measure, Run, SubjectSpec};
use serde::Serialize;

use crate::remarks::headers;
use crate::setup::seeds;
use crate::{MemoryWork, Remarks, Setup};

/// The result of one invocation with a memory job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryJob {
    /// The subject in words: kind, memory, CPUs, swap, kernel.
    pub place: String,
    /// The job as it was asked for.
    pub job: Option<JobSpec>,
    /// Whether the machine is a simulated one.
    pub simulated: bool,
    /// The seeds, in ascending order.
    pub seeds: Vec<u64>,
    /// The runs in their order.
    pub rows: Vec<MemoryJobRow>,
    /// What a reader must know of the runs.
    #[serde(flatten)]
    pub remarks: Remarks,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryJobRow {
    /// The load.
    pub load: String,
    /// The seed.
    pub seed: u64,
    /// What was done in the steady state and what it took; `None` if nothing was.
    pub work: Option<MemoryWork>,
    /// Cost of a touch in ns.
    pub touch_ns: Option<f64>,
    /// Speed relative to the run without load of the same seed.
    pub relative_speed: Option<f64>,
    /// Pages that the whole machine read from swap; of a simulated one processes swapped in.
    pub swap_ins: Option<u64>,
    /// How the run ended.
    pub status: EndStatus,
}

/// Whether runs are those of a memory job.
#[must_use]
pub fn is_of_memory_job(runs: &[Run]) -> bool {
    runs.iter().filter_map(|run| run.header.as_ref()).any(|header| job(header).is_some())
}

fn job(header: &Header) -> Option<&JobSpec> {
    match &header.spec.measure {
        Measure::Job(job) if job.script.is_none() => Some(job),
        _ => None,
    }
}

impl MemoryJob {
    /// The table of the runs of one invocation. Runs without a header are left out.
    #[must_use]
    pub fn from_runs<'a>(
        runs: impl IntoIterator<Item = &'a Run>,
        skipped: BTreeMap<String, String>,
    ) -> Self {
        let runs: Vec<&Run> = runs.into_iter().collect();
        let row = |run: &&Run| {
            let header = run.header.as_ref().filter(|header| job(header).is_some())?;
            let work = MemoryWork::of(run);
            let counted = |work: &MemoryWork| work.increase("vmstat", "pswpin");
            Some(MemoryJobRow {
                load: header.spec.load.name.clone(),
                seed: header.spec.seed,
                touch_ns: work.as_ref().and_then(MemoryWork::cost_ns),
                relative_speed: None,
                swap_ins: work
                    .as_ref()
                    .and_then(|it| counted(it).or_else(|| it.used(&["swap_ins"]))),
                status: run.status(),
                work,
            })
        };
        let mut rows: Vec<MemoryJobRow> = runs.iter().filter_map(row).collect();
        let base = rows.iter().filter(|row| row.load == BASELINE);
        let base: BTreeMap<u64, f64> =
            base.filter_map(|row| Some((row.seed, row.touch_ns?))).collect();
        for row in &mut rows {
            row.relative_speed =
                base.get(&row.seed).zip(row.touch_ns).map(|(base, own)| base / own);
        }
        let (header, setup) = Setup::of(&runs, |header| job(header).is_some()).unzip();
        Self {
            place: setup.map_or_else(String::new, |setup| setup.place()),
            job: header.and_then(job).cloned(),
            simulated: header.is_some_and(|it| matches!(it.spec.subject, SubjectSpec::Mmu(_))),
            seeds: seeds(headers(&runs)),
            rows,
            remarks: Remarks::new(&runs, skipped),
        }
    }
}
