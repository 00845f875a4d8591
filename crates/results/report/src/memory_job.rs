//! The cost of a memory job under each load, in Irlam's columns.

use analysis::{MemoryJob, MemoryJobRow, seeds_text};
use model::units::{format_duration, format_size};
use model::{EndStatus, JobSpec};
use render::{Cell, Document, Table};

use crate::remarks::{remarks, skipped};

/// A row per run, and remarks.
pub(crate) fn memory_job_document(result: &MemoryJob, verbose: bool) -> Document<'static> {
    let name = result.job.as_ref().map_or("memory job", |job| job.name.as_str());
    let settings = result.job.as_ref().map_or_else(String::new, settings);
    let table = table(result, format!("{settings}, {}", seeds_text(&result.seeds)));
    let title = format!("{name}: {}", result.place);
    let mut document = Document { title, ..Document::of(vec![table.into()]) };
    document.blocks.extend(skipped(&result.remarks));
    document.blocks.extend(remarks(notes(result), &result.remarks, verbose));
    document
}

fn settings(job: &JobSpec) -> String {
    let size = |name: &str| job.params.get(name).map(|bytes| format_size(*bytes));
    let choice = |name: &str| job.choices.get(name).map_or("", String::as_str);
    match (size("size"), size("process_size"), size("footprint")) {
        (Some(all), Some(each), _) => format!("{all} of virtual memory, {each} a process"),
        (_, _, Some(footprint)) => {
            let processes = job.params.get("processes").copied().unwrap_or(1);
            let plural = if processes == 1 { "" } else { "es" };
            let [backing, pattern, access, pages] =
                ["backing", "pattern", "access", "pages"].map(choice);
            let what = format!("{footprint} {backing}, {pattern} {access}s, {pages} pages");
            format!("{processes} process{plural}, {what}")
        }
        _ => String::new(),
    }
}

fn table(result: &MemoryJob, caption: String) -> Table {
    let has_walks = result.rows.iter().any(|row| used(row, &["page_walks"]).is_some());
    let mut head = vec!["load", "seed", "relative speed", "ns/touch", "touches", "elapsed s"];
    head.extend(["user s", "system s", "faults", "major", "swap-ins"]);
    head.extend(has_walks.then_some("page walks (loads)"));
    let seconds = |ns: Option<u64>| Cell::decimals(ns.map(|ns| ns as f64 / 1e9), 3);
    let rows = result.rows.iter().map(|row| {
        let work = row.work.as_ref();
        let faults = used(row, &["minor_faults", "major_faults"]);
        let mut cells = vec![
            Cell::from(&row.load),
            Cell::Count(row.seed),
            Cell::decimals(row.relative_speed, 2),
            Cell::decimals(row.touch_ns, 2),
            work.map(|work| work.touches).into(),
            seconds(work.map(|work| work.elapsed_ns)),
            seconds(used(row, &["user_ns"])),
            seconds(used(row, &["system_ns"])),
            faults.or_else(|| used(row, &["translation_faults"])).into(),
            used(row, &["major_faults"]).into(),
            row.swap_ins.into(),
        ];
        cells.extend(has_walks.then(|| used(row, &["page_walks"]).into()));
        cells
    });
    Table::of(caption, head, rows)
}

fn used(row: &MemoryJobRow, names: &[&str]) -> Option<u64> {
    row.work.as_ref()?.used(names)
}

fn notes(result: &MemoryJob) -> Vec<String> {
    let about = if result.simulated {
        "All figures are of the whole simulated run. Faults: translations that the kernel had to \
         supply; swap-ins: processes."
    } else {
        "All figures are of the steady state. Relative speed: to the run without load of the same \
         seed. Faults: minor and major; swap-ins: pages, of the whole machine."
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
    notes
}
