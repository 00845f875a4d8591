//! `thrashlab vm disk`: whether a machine's disks do what their parameters say.

use std::iter;

use clap::Args;
use keep::Cache;
use model::units::{format_duration_ns, format_size};
use render::{Cell, Document, Table};
use serde_json::json;
use vm::{CreditRow, DiskFigure, DiskPhase, DiskReport, DiskRow, DiskVerdict, ZramRow};

use super::{MachineArgs, VmContext, show_verdict};
use crate::output::OutputArgs;
use crate::{Result, guests};

const EXAMPLES: &str = "\
The guest measures its empty disks past the page cache, in virtual time. Exit
codes: 0 as computed, 1 not as computed.

Examples:
  thrashlab vm disk machine=micro
  thrashlab vm disk machine=micro,shift=0,disk.model=ssd
  thrashlab vm disk machine=micro,disk.model=cloud,disk.burst_credits=12000
  thrashlab vm disk machine=micro,disk2.model=ssd";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiskArgs {
    #[command(flatten)]
    machine: MachineArgs,

    #[command(flatten)]
    output: OutputArgs,
}

const HEADING: [&str; 9] =
    ["pattern", "block", "users", "computed", "measured", "rate", "delay", "idle", "verdict"];

pub(crate) fn disk(args: &DiskArgs) -> Result<()> {
    let VmContext { waiter, progress, spec } = args.machine.prepare()?;
    progress.say(&format!("measuring the disk of {} with {}", spec.machine.name, spec.kernel));
    let report = vm::measure_disk(&spec, &Cache::of_user(), &|| waiter.stop_requested())
        .map_err(|error| guests::stopped_or(&waiter, guests::failure(error)))?;
    let data = json!({ "machine": spec.machine, "report": report });
    show_verdict(&document(&report).with_data(data), &args.output, report.is_sound())
}

fn document(report: &DiskReport) -> Document<'static> {
    let mut document = Document::of(Vec::new());
    let names = if report.second.is_some() { ["disk", "disk2"] } else { ["", ""] };
    for (name, disk) in names.into_iter().zip(iter::once(&report.first).chain(&report.second)) {
        document.push(Table::of(name, HEADING, disk.patterns.iter().map(row)));
        disk.credits.iter().for_each(|row| document.push(credits(row)));
    }
    report.zram.iter().for_each(|row| document.push(zram(row)));
    document.with_facts([("kernel", report.kernel.clone())])
}

fn row(row: &DiskRow) -> [Cell; 9] {
    let DiskFigure { phase, pattern, .. } = row.figure;
    let order = if pattern.is_random { "random" } else { "sequential" };
    let what = if pattern.is_write { "writes" } else { "reads" };
    let without = if phase == DiskPhase::WithoutCredits { ", no credits" } else { "" };
    let rate = format_size((row.measured_per_s * pattern.block_bytes as f64) as u64);
    [
        format!("{order} {what}{without}").into(),
        Cell::Size(pattern.block_bytes),
        pattern.users.into(),
        computed(row.computed_per_s),
        Cell::Figure(format!("{:.1}/s", row.measured_per_s)),
        Cell::Figure(format!("{rate}/s")),
        Cell::duration(row.delay_ns),
        Cell::Share(row.idle),
        words(row.verdict).into(),
    ]
}

/// A delay of 0 limits nothing.
fn computed(per_s: f64) -> Cell {
    if per_s.is_finite() { Cell::Figure(format!("{per_s:.1}/s")) } else { "no limit".into() }
}

fn words(verdict: DiskVerdict) -> &'static str {
    match verdict {
        DiskVerdict::AsComputed => "as computed",
        DiskVerdict::Processor => "slower: the CPUs are busy",
        DiskVerdict::Different => "DIFFERENT",
    }
}

fn credits(row: &CreditRow) -> String {
    let time = |s: f64| format_duration_ns(s * 1e9);
    format!(
        "{:.0} credits last for {} (computed: {}): {}.",
        row.credits,
        time(row.measured_s),
        time(row.computed_s),
        words(row.verdict)
    )
}

fn zram(row: &ZramRow) -> String {
    let figure = row.figure;
    format!(
        "Compressed memory: of {count} pages each, {} of random bytes are kept as they are and {} \
         of zeros as one word; {count} pages with half as many random bytes and those take {} \
         (computed: {}): {}.",
        figure.incompressible,
        figure.same_filled,
        format_size(figure.compressed_bytes),
        format_size(row.computed_bytes),
        words(row.verdict),
        count = figure.pages_of_each,
    )
}

#[cfg(test)]
mod tests {
    use render::plain_text;
    use vm::{DiskPattern, MeasuredDisk};

    use super::*;

    #[test]
    fn each_pattern_has_a_row_and_the_others_a_sentence() {
        let pattern = DiskPattern { is_write: false, is_random: true, block_bytes: 4096, users: 1 };
        let phase = DiskPhase::WithoutCredits;
        let figure = DiskFigure {
            phase,
            pattern,
            transferred: 100,
            elapsed_ns: 1_000_000_000,
            waited_ns: 1_000_000_000,
            idle_ns: 500_000_000,
        };
        let row = DiskRow {
            figure,
            computed_per_s: 100.0,
            measured_per_s: 100.0,
            delay_ns: 1e7,
            idle: 0.5,
            verdict: DiskVerdict::AsComputed,
        };
        let verdict = DiskVerdict::Different;
        let credits = CreditRow { credits: 3000.0, computed_s: 1.0, measured_s: 2.0, verdict };
        let kernel = "6.1".to_owned();
        let first = MeasuredDisk { patterns: vec![row], credits: Some(credits) };
        let report = DiskReport { kernel, first: first.clone(), second: None, zram: None };
        assert!(!report.is_sound());
        let text = plain_text(&document(&report));
        for part in ["random reads, no credits", "100.0/s", "10.0ms", "50", "as computed"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let sentence = "3000 credits last for 2.00s (computed: 1.00s): DIFFERENT.";
        assert!(text.contains(sentence), "{text}");
        assert!(!text.contains("disk2"), "{text}");
        let text = plain_text(&document(&DiskReport { second: Some(first), ..report }));
        assert!(text.contains("disk2") && text.matches("100.0/s").count() == 4, "{text}");
    }
}
