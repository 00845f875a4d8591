//! The times of the user's commands as a document.

use analysis::{CommandTime, CommandTimes, CountedOf, seeds_text};
use model::units::measured_duration;
use model::{BASELINE, EndStatus};
use render::{Block, Cell, Document, Table, Tone, Verdict, format};

use crate::command_counts::count_table;
use crate::command_parts::parts;
use crate::command_ratios::{compared, label, ratio_cells};
use crate::figures::{figure_table, figure_verdict};
use crate::remarks::{most_important, remarks, skipped};

/// A first repetition is called colder from this multiple of the median on.
const COLDER: f64 = 1.1;
/// Columns of tables that say nothing without a load.
const OF_LOADS: [&str; 3] = ["load", "to noload", "95 % interval"];
/// Pressure below this share is not listed.
const LEAST_WAIT: f64 = 0.01;

/// A sentence for each command and load, the times, what they used, and remarks.
pub(crate) fn command_document(times: &CommandTimes, verbose: bool) -> Document<'static> {
    let title = format!("Commands: {}", times.place);
    // What the user asked the command for says more than its time.
    let has_figure = |row: &CommandTime| {
        times.figures.iter().any(|it| (&it.command, &it.load) == (&row.command, &row.load))
    };
    let of_rows = times.rows.iter().filter(|row| row.failed > 0 || !has_figure(row));
    let figures = times.figures.iter().map(figure_verdict);
    let verdicts = of_rows.map(verdict).chain(figures).collect();
    let facts = [
        ("folder", times.folder.clone().unwrap_or_default()),
        ("seeds", if times.seeds.len() > 1 { seeds_text(&times.seeds) } else { String::new() }),
    ];
    let mut document = Document { title, verdicts, ..Document::default() }.with_facts(facts);
    if !times.figures.is_empty() {
        document.push(figure_table(&times.figures));
    }
    document.push(time_table(times));
    document.push(usage_table(times));
    document.blocks.extend(count_table(times).map(Block::Table));
    document.blocks.extend(parts(times));
    if times.rows.iter().all(|row| row.load == BASELINE) {
        for block in &mut document.blocks {
            if let Block::Table(table) = block {
                table.remove_columns(&OF_LOADS);
            }
        }
    }
    document.blocks.extend(skipped(&times.remarks));
    document.blocks.extend(remarks(notes(times), &times.remarks, verbose));
    let brief = brief(times, document.verdicts.clone());
    document.with_brief(brief)
}

/// A sentence for each command and load, their times with what they used, and what changes the
/// meaning of these.
fn brief(times: &CommandTimes, verdicts: Vec<Verdict>) -> Document<'static> {
    let mut table = time_table(times);
    table.remove_columns(&["first"]);
    if times.rows.iter().all(|row| row.failed == 0) {
        table.remove_columns(&["failed"]);
    }
    if times.rows.iter().all(|row| row.load == BASELINE) {
        table.remove_columns(&OF_LOADS);
    }
    let mut usage = usage_table(times);
    usage.remove_columns(&["command", "load", "minor faults", "read", "written", "switches"]);
    table.caption.clear();
    if times.rows.iter().all(|row| row.load == BASELINE) {
        table.head.extend(usage.head);
        for (row, more) in table.rows.iter_mut().zip(usage.rows) {
            row.extend(more);
        }
        if times.rows.iter().all(|row| row.means.get("major_faults").copied() < Some(1.0)) {
            table.remove_columns(&["major faults"]);
        }
    }
    let skipped = skipped(&times.remarks);
    let mut blocks: Vec<Block> = Vec::new();
    if !times.figures.is_empty() {
        blocks.push(figure_table(&times.figures).into());
    }
    blocks.push(table.into());
    blocks.extend(skipped);
    // The first note explains columns.
    let notes = notes(times).split_off(1);
    blocks.push(most_important(notes, &times.remarks));
    Document { verdicts, blocks, ..Document::default() }
}

/// What a row shows, in a sentence: its time against that without load, or the first command's.
fn verdict(row: &CommandTime) -> Verdict {
    let label = label(&row.command, &row.load);
    let Some(median_ns) = row.median_ns else {
        let text = match &row.failure {
            Some(why) => format!("{label} never worked: {why}"),
            None => format!("{label} has no time: no repetition was finished"),
        };
        return Verdict { text, tone: Tone::Bad };
    };
    let text = format!("{label} takes {}", format::observed(&median_ns));
    compared(text, [row.to_noload, row.to_first], false)
}

fn time_table(times: &CommandTimes) -> Table {
    let head = ["command", "load", "n", "median", "fastest", "slowest", "first", "to noload"];
    let head = head.into_iter().chain(["95 % interval", "failed"]);
    let rows = times.rows.iter().map(|row| {
        let by_time = |one: &&model::Observation, other: &&model::Observation| {
            one.value.total_cmp(&other.value)
        };
        let extremes = [row.times_ns.iter().min_by(by_time), row.times_ns.iter().max_by(by_time)];
        let [fastest, slowest] = extremes.map(|time| time.copied().map(Cell::Duration).into());
        let first = row.cold_ns.first().map(|first_ns| Cell::duration(*first_ns));
        let [ratio, interval] = ratio_cells(row.to_noload, &row.load);
        [
            Cell::from(&row.command),
            Cell::from(&row.load),
            Cell::from(row.times_ns.len()),
            row.median_ns.map(Cell::Duration).into(),
            fastest,
            slowest,
            first.unwrap_or(Cell::blank()),
            ratio,
            interval,
            Cell::from(row.failed),
        ]
    });
    Table::of("elapsed time of a repetition", head, rows)
}

fn usage_table(times: &CommandTimes) -> Table {
    let head = ["command", "load", "user", "system", "CPU", "peak memory", "minor faults"];
    let head = head.into_iter().chain(["major faults", "read", "written", "switches"]);
    let rows = times.rows.iter().map(|row| {
        let mean = |name: &str| row.means.get(name).copied();
        let sum = |names: [&str; 2]| Some(mean(names[0])? + mean(names[1])?);
        // Blocks of 512 bytes.
        let size = |name: &str| mean(name).map(|blocks| Cell::Size((blocks * 512.0) as u64)).into();
        let whole = |value: Option<f64>| value.map(|value| Cell::grouped(value.round() as u64));
        [
            Cell::from(&row.command),
            Cell::from(&row.load),
            row.cpu.map(|cpu| Cell::duration(cpu.user_ns)).into(),
            row.cpu.map(|cpu| Cell::duration(cpu.system_ns)).into(),
            row.cpu.map(|cpu| Cell::Share(cpu.share)).into(),
            row.peak_bytes.map(Cell::Size).into(),
            whole(mean("minor_faults")).into(),
            whole(mean("major_faults")).into(),
            size("read_blocks"),
            size("written_blocks"),
            whole(sum(["voluntary_switches", "involuntary_switches"])).into(),
        ]
    });
    let of = match times.cpu_of {
        CountedOf::All => "CPU time of all processes, the rest of those that were waited for",
        CountedOf::WaitedFor => "the command and its processes that were waited for",
    };
    Table::of(format!("usage of a repetition (means): {of}"), head, rows)
}

fn notes(times: &CommandTimes) -> Vec<String> {
    let mut notes = vec![
        "CPU: user and system time of all repetitions as a share of their elapsed time. Peak memory: resident, of the \
         largest process. Faults: minor without, major with I/O."
            .to_owned(),
    ];
    for row in &times.rows {
        let label = label(&row.command, &row.load);
        if let (Some(first_ns), Some(median_ns)) = (row.cold_ns.first(), row.median_ns) {
            let times = first_ns / median_ns.value.max(1.0);
            let colder = if times >= COLDER { "colder" } else { "not yet steady" };
            let cold = format::counted(row.cold_ns.len(), "repetition");
            notes.push(format!(
                "{label}: the first {cold} of its runs were {colder} and do not count (the first \
                 took {}, {} times the median).",
                measured_duration(*first_ns),
                format::factor(times)
            ));
        }
        if let Some(drift) = row.drift {
            notes.push(format!(
                "{label}: its times drift: the later half of the repetitions took {} times the \
                 earlier half.",
                format::factor(drift)
            ));
        }
        let waits = row.waits.iter().filter(|(_, share)| **share >= LEAST_WAIT);
        let waits: Vec<String> =
            waits.map(|(what, share)| format!("{what} {}", format::share(*share))).collect();
        if !waits.is_empty() {
            notes.push(format!(
                "{label}: share of the time in which some process of the control group waited: {}.",
                format::and(&waits)
            ));
        }
        if row.failed > 0 && row.median_ns.is_some() {
            let why = row.failure.as_deref().unwrap_or_default();
            notes.push(format!(
                "{label}: {} failed: {why}",
                format::counted(row.failed, "repetition")
            ));
        }
        if !matches!(row.status, EndStatus::Complete | EndStatus::Failed) {
            notes.push(format!("{label}: a run ended as {:?}", row.status));
        }
    }
    notes
}
