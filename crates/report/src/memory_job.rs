//! What a memory job cost under each load, as a terminal table: Irlam's columns.

use std::collections::BTreeMap;

use analysis::MemoryWork;
use model::units::{format_duration, format_size};
use model::{BASELINE, EndStatus, Header, JobSpec, Measure, Run, SubjectSpec};
use serde::Serialize;

use crate::columns::aligned;
use crate::matrix_text::{place, seeds_text};
use crate::responsiveness::{seeds, setup, warnings};
use crate::unavailable::{unavailable, unavailable_notes};

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
    /// Warnings of the runs, each once, with the loads that it belongs to.
    pub warnings: Vec<String>,
    /// What the runs could not have, each once.
    pub missed: Vec<String>,
    /// Loads that could not be run at all, with the reasons.
    pub skipped: BTreeMap<String, String>,
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
    /// Pages read from swap meanwhile, by the whole machine; of a simulated one processes that were
    /// swapped in.
    pub swap_ins: Option<u64>,
    /// How the run ended.
    pub status: EndStatus,
}

/// Whether runs are those of a memory job.
#[must_use]
pub fn is_of_memory_job(runs: &[Run]) -> bool {
    headers(runs).any(|header| job(header).is_some())
}

fn headers(runs: &[Run]) -> impl Iterator<Item = &Header> {
    runs.iter().filter_map(|run| run.header.as_ref())
}

fn job(header: &Header) -> Option<&JobSpec> {
    match &header.spec.measure {
        Measure::Job(job) if job.script.is_none() => Some(job),
        _ => None,
    }
}

/// Makes the table from the runs of one invocation. Runs without a header are left out.
#[must_use]
pub fn analyse_memory_job(runs: &[Run], skipped: BTreeMap<String, String>) -> MemoryJob {
    let mut rows: Vec<MemoryJobRow> = Vec::new();
    for run in runs {
        let Some(header) = run.header.as_ref().filter(|header| job(header).is_some()) else {
            continue;
        };
        let work = MemoryWork::of(run);
        rows.push(MemoryJobRow {
            load: header.spec.load.name.clone(),
            seed: header.spec.seed,
            touch_ns: work.as_ref().and_then(MemoryWork::cost_ns),
            relative_speed: None,
            swap_ins: work.as_ref().and_then(|work| {
                work.increase("vmstat", "pswpin").or_else(|| work.used(&["swap_ins"]))
            }),
            status: run.status(),
            work,
        });
    }
    let base: BTreeMap<u64, f64> = rows
        .iter()
        .filter(|row| row.load == BASELINE)
        .filter_map(|row| Some((row.seed, row.touch_ns?)))
        .collect();
    for row in &mut rows {
        row.relative_speed = base.get(&row.seed).zip(row.touch_ns).map(|(base, own)| base / own);
    }
    let found = headers(runs).find_map(|header| Some((header, job(header)?)));
    MemoryJob {
        place: found.map_or_else(String::new, |(header, _)| place(&setup(header, Vec::new()))),
        job: found.map(|(_, job)| job.clone()),
        simulated: found
            .is_some_and(|(header, _)| matches!(header.spec.subject, SubjectSpec::Mmu(_))),
        seeds: seeds(headers(runs)),
        rows,
        warnings: warnings(runs),
        missed: unavailable(headers(runs)),
        skipped,
    }
}

/// The whole result: heading, a row a run, and what a reader must know.
#[must_use]
pub fn memory_job_text(result: &MemoryJob, verbose: bool) -> String {
    let name = result.job.as_ref().map_or("memory job", |job| job.name.as_str());
    let mut text = format!(
        "{name}: {}\n{}, {}\n\n{}",
        result.place,
        result.job.as_ref().map_or_else(String::new, settings),
        seeds_text(&result.seeds),
        table(result)
    );
    for (load, reason) in &result.skipped {
        text.push_str(&format!("\n{load} skipped: {reason}\n"));
    }
    text.push('\n');
    for note in notes(result, verbose) {
        text.push_str(&format!("{note}\n"));
    }
    text
}

/// The job's parameters that say what is done.
fn settings(job: &JobSpec) -> String {
    let size = |name: &str| job.params.get(name).map(|bytes| format_size(*bytes));
    let choice = |name: &str| job.choices.get(name).map_or("", String::as_str);
    match (size("size"), size("process_size"), size("footprint")) {
        (Some(all), Some(each), _) => format!("{all} of virtual memory, {each} a process"),
        (_, _, Some(footprint)) => {
            let processes = job.params.get("processes").copied().unwrap_or(1);
            let plural = if processes == 1 { "" } else { "es" };
            format!(
                "{processes} process{plural}, {footprint} {}, {} {}s, {} pages",
                choice("backing"),
                choice("pattern"),
                choice("access"),
                choice("pages")
            )
        }
        _ => String::new(),
    }
}

fn table(result: &MemoryJob) -> String {
    let has_walks = result.rows.iter().any(|row| used(row, &["page_walks"]).is_some());
    let mut head = vec!["load", "seed", "relative speed", "ns/touch", "touches", "elapsed s"];
    head.extend(["user s", "system s", "faults", "major", "swap-ins"]);
    head.extend(has_walks.then_some("page walks (loads)"));
    let mut cells = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    let count =
        |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let decimal = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let seconds = |value_ns: Option<u64>| decimal(value_ns.map(|ns| ns as f64 / 1e9), 3);
    for row in &result.rows {
        let work = row.work.as_ref();
        let mut line = vec![
            row.load.clone(),
            row.seed.to_string(),
            decimal(row.relative_speed, 2),
            decimal(row.touch_ns, 2),
            count(work.map(|work| work.touches)),
            seconds(work.map(|work| work.elapsed_ns)),
            seconds(used(row, &["user_ns"])),
            seconds(used(row, &["system_ns"])),
            count(
                used(row, &["minor_faults", "major_faults"])
                    .or_else(|| used(row, &["translation_faults"])),
            ),
            count(used(row, &["major_faults"])),
            count(row.swap_ins),
        ];
        line.extend(has_walks.then(|| count(used(row, &["page_walks"]))));
        cells.push(line);
    }
    aligned(&cells)
}

fn used(row: &MemoryJobRow, names: &[&str]) -> Option<u64> {
    row.work.as_ref()?.used(names)
}

fn notes(result: &MemoryJob, verbose: bool) -> Vec<String> {
    let about = match result.simulated {
        false => {
            "All figures are of the steady state. Relative speed: to the run without load of the \
             same seed. Faults: minor and major; swap-ins: pages, of the whole machine."
        }
        true => {
            "All figures are of the whole simulated run. Faults: translations that the kernel had \
             to supply; swap-ins: processes."
        }
    };
    let mut notes = vec![about.to_owned()];
    for row in &result.rows {
        let of = || format!("{}, seed {}", row.load, row.seed);
        if row.status != EndStatus::Complete {
            notes.push(format!("{}: the run ended as {:?}", of(), row.status));
        }
        match &row.work {
            None => notes.push(format!("{}: nothing was done", of())),
            Some(work) if work.steady_from.is_none() => notes.push(format!(
                "{}: no steady state in {} passes, {} in all: the cold start is in the figures",
                of(),
                work.passes,
                format_duration(work.elapsed_ns)
            )),
            Some(_) => {}
        }
    }
    notes.extend(result.warnings.iter().map(|warning| format!("warning: {warning}")));
    notes.extend(unavailable_notes(&result.missed, verbose));
    notes
}
