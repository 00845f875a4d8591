//! What is in a memory trace, as text and as JSON.

use model::units::{format_duration, format_size};
use serde_json::{Value, json};
use trace::{EventCounts, Format, Notes, PAGE_SHIFT, Summary};

use crate::columns::aligned;

/// Most threads that are shown.
const MOST_THREADS: usize = 20;

/// A trace that was read to its end.
pub struct TraceView<'a> {
    /// The file, as the user named it.
    pub name: &'a str,
    /// Its format.
    pub format: Format,
    /// Its length in bytes, as far as it was read.
    pub size_bytes: u64,
    /// What is in it.
    pub summary: &'a Summary,
    /// What was noticed beside.
    pub notes: &'a Notes,
}

/// Header, references, pages, threads, order, events, size, and what is missing. Ends in a
/// newline.
#[must_use]
pub fn trace_text(view: &TraceView<'_>) -> String {
    let mut text = heading(view);
    text += &format!("\n{}", references(view.summary));
    text += &format!("\n{}", threads(view.summary));
    text += &format!("\n{}", order(view.summary));
    text += &events(&view.summary.events);
    text += &size(view);
    text += &missed(view.summary);
    text + &trace_notes_text(view.notes)
}

/// What could not be read of a file: bad records with their places, and where it was cut off.
/// Empty if all was well.
#[must_use]
pub fn trace_notes_text(notes: &Notes) -> String {
    let mut text = String::new();
    if notes.bad.count > 0 {
        text += &format!("bad records, left out: {}\n", notes.bad.count);
        for (place, reason) in &notes.bad.first {
            text += &format!("  {place}: {reason}\n");
        }
        let more = notes.bad.count - notes.bad.first.len() as u64;
        if more > 0 {
            text += &format!("  and {more} more\n");
        }
    }
    if let Some(place) = &notes.cut_off {
        text += &format!("cut off at {place}: what stands before is all there is\n");
    }
    text
}

/// The same as [`trace_text`] for programs.
#[must_use]
pub fn trace_json(view: &TraceView<'_>) -> Value {
    let first: Vec<Value> = view
        .notes
        .bad
        .first
        .iter()
        .map(|(place, reason)| json!({ "place": place.to_string(), "reason": reason }))
        .collect();
    json!({
        "file": view.name,
        "format": view.format.name(),
        "size_bytes": view.size_bytes,
        "header": view.notes.header,
        "summary": view.summary,
        "packed_bytes": view.notes.packed,
        "bad_records": { "count": view.notes.bad.count, "first": first },
        "cut_off": view.notes.cut_off.as_ref().map(ToString::to_string),
    })
}

fn heading(view: &TraceView<'_>) -> String {
    let mut text = format!("{}: {}", view.name, view.format.name());
    let Some(header) = &view.notes.header else { return text + "\n" };
    if !header.program.is_empty() {
        text += &format!(", of {}", header.program);
    }
    if let Some(architecture) = &header.architecture {
        text += &format!(" ({architecture})");
    }
    text.push('\n');
    let versions = header.versions.iter().map(|(name, version)| format!("{name} {version}"));
    let tools: Vec<String> = std::iter::once(header.tool.clone())
        .chain(versions)
        .filter(|tool| !tool.is_empty())
        .collect();
    if !tools.is_empty() {
        text += &format!("by {}\n", tools.join(", "));
    }
    let recorded = match (header.data, header.fetches) {
        (true, true) => "data and instructions",
        (true, false) => "data",
        (false, true) => "instructions",
        (false, false) => return text,
    };
    let how = match header.granularity {
        trace::Granularity::Reference => "",
        trace::Granularity::Page => ", pages only",
    };
    text + &format!("recorded: {recorded}{how}\n")
}

fn references(summary: &Summary) -> String {
    let all = summary.references;
    let data = all - summary.fetches;
    let mut rows = vec![vec!["references".to_owned(), all.to_string()]];
    let mut row = |name: &str, count: u64| {
        rows.push(vec![format!("  {name}"), count.to_string(), percent(count, all)]);
    };
    match (summary.loads, summary.stores) {
        (Some(loads), Some(stores)) => {
            row("loads", loads);
            row("stores", stores);
        }
        _ => row("of data", data),
    }
    row("fetches", summary.fetches);
    let per_run = per(all, summary.runs, "a run");
    rows.push(vec!["runs to one page".to_owned(), summary.runs.to_string(), per_run]);
    rows.push(vec![
        "pages".to_owned(),
        summary.pages.to_string(),
        format_size(summary.pages << PAGE_SHIFT),
    ]);
    let mut row = |name: &str, count: u64| {
        rows.push(vec![format!("  {name}"), count.to_string()]);
    };
    row("of data", summary.data_pages);
    row("written", summary.written_pages);
    row("of instructions", summary.fetched_pages);
    aligned(&rows)
}

fn threads(summary: &Summary) -> String {
    let mut rows =
        vec![["process", "thread", "references", "share", "program"].map(str::to_owned).to_vec()];
    let all = summary
        .threads
        .iter()
        .flat_map(|(process, threads)| threads.iter().map(move |thread| (process, thread)));
    for (process, (thread, count)) in all.clone().take(MOST_THREADS) {
        let programs = match thread {
            0 => summary.programs.get(process).map_or(String::new(), |names| names.join(", then ")),
            _ => String::new(),
        };
        rows.push(vec![
            process.to_string(),
            thread.to_string(),
            count.to_string(),
            percent(*count, summary.references),
            programs,
        ]);
    }
    let mut text = aligned(&rows);
    let more = all.count().saturating_sub(MOST_THREADS);
    if more > 0 {
        text += &format!("and {more} more threads\n");
    }
    text
}

fn order(summary: &Summary) -> String {
    let mut text =
        format!("order: {} blocks, {} changes of thread", summary.blocks, summary.switches);
    if summary.switches > 0 {
        let between = summary.references / (summary.switches + 1);
        text += &format!(" (every {between} references on average)");
    }
    match (summary.duration_ns, summary.out_of_order) {
        (None, _) => text += ", times are not told",
        (Some(duration_ns), 0) => {
            text += &format!(", in order of time over {}", format_duration(duration_ns));
        }
        (Some(duration_ns), blocks) => {
            text +=
                &format!(", {blocks} not in order of time, over {}", format_duration(duration_ns));
        }
    }
    text + "\n"
}

fn events(counts: &EventCounts) -> String {
    let named = [
        ("programs begun", counts.programs),
        ("threads begun", counts.thread_starts),
        ("threads ended", counts.thread_ends),
        ("forks", counts.forks),
        ("exits", counts.exits),
        ("mappings made", counts.maps),
        ("mappings removed", counts.unmaps),
        ("moves of the heap's end", counts.breaks),
        ("missed", counts.missed),
    ];
    let told: Vec<String> = named
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    match told.is_empty() {
        true => "events: none\n".to_owned(),
        false => format!("events: {}\n", told.join(", ")),
    }
}

fn size(view: &TraceView<'_>) -> String {
    let references = view.summary.references;
    let mut text = format!(
        "file: {}, {}",
        format_size(view.size_bytes),
        per(view.size_bytes, references, "bytes a reference")
    );
    if let Some(packed) = view.notes.packed.filter(|_| references > 0) {
        let each = |bytes: u64| format!("{:.3}", bytes as f64 / references as f64);
        text += &format!(
            " (pages {}, references {}, events {}, heads {})",
            each(packed.pages),
            each(packed.references),
            each(packed.events),
            each(packed.heads)
        );
    }
    text + "\n"
}

fn missed(summary: &Summary) -> String {
    let lines: Vec<String> = summary.missed.iter().map(|reason| format!("  {reason}\n")).collect();
    match summary.events.missed {
        0 => String::new(),
        count => format!("missed when it was recorded: {count}\n{}", lines.concat()),
    }
}

fn percent(part: u64, all: u64) -> String {
    match all {
        0 => "-".to_owned(),
        all => format!("{:.1}%", 100.0 * part as f64 / all as f64),
    }
}

/// `2.48 a run`.
fn per(count: u64, of: u64, what: &str) -> String {
    match of {
        0 => "-".to_owned(),
        of => format!("{:.2} {what}", count as f64 / of as f64),
    }
}

#[cfg(test)]
mod tests {
    use trace::{
        Access, BadRecords, Block, Event, Granularity, Header, PackedBytes, PageRun, Place,
        Reference,
    };

    use super::*;

    fn summary() -> Summary {
        let mut summary = Summary::default();
        let run = |page, count, fetch, written| PageRun { page, count, fetch, written };
        let access = [
            (0x1000, Access::Load),
            (0x1008, Access::Store),
            (0x40_0000, Access::Fetch),
            (0x1010, Access::Load),
        ];
        let mut block = Block {
            at_ns: Some(1_500_000),
            runs: vec![run(1, 2, false, true), run(0x400, 1, true, false), run(1, 1, false, false)],
            references: access.map(|(address, access)| Reference::new(address, access, 3)).to_vec(),
            events: vec![
                (0, Event::Program { command: "sort big".to_owned() }),
                (1, Event::Map { address: 0, length_bytes: 4096, file: false, shared: false }),
                (3, Event::Missed { reason: "a child was not followed".to_owned() }),
            ],
            ..Block::default()
        };
        summary.add(&block);
        (block.thread, block.at_ns) = (1, Some(900_000));
        block.events = vec![(0, Event::ThreadStart)];
        summary.add(&block);
        summary.finish();
        summary
    }

    #[test]
    fn an_own_trace_with_all_that_can_be_said() {
        let header = Header {
            program: "sort big".to_owned(),
            data: true,
            fetches: true,
            granularity: Granularity::Reference,
            tool: "thrashlab 0.1.0".to_owned(),
            versions: [("qemu-x86_64".to_owned(), "7.2.22".to_owned())].into(),
            architecture: Some("x86_64".to_owned()),
        };
        let notes = Notes {
            header: Some(header),
            packed: Some(PackedBytes { pages: 20, references: 16, events: 4, heads: 128 }),
            cut_off: Some(Place::Byte(321)),
            ..Notes::default()
        };
        let summary = summary();
        let view = TraceView {
            name: "t.tlt",
            format: Format::Tlt,
            size_bytes: 321,
            summary: &summary,
            notes: &notes,
        };
        insta::assert_snapshot!(trace_text(&view));
        insta::assert_json_snapshot!(trace_json(&view));
    }

    #[test]
    fn a_foreign_trace_of_pages_with_bad_records() {
        let mut summary = Summary::default();
        summary.add(&Block {
            runs: vec![PageRun { page: 7, count: 5, fetch: false, written: false }],
            ..Block::default()
        });
        summary.finish();
        let first = vec![(Place::Line(7), "no label 0 to 2 and hexadecimal address".to_owned())];
        let notes = Notes { bad: BadRecords { count: 3, first }, ..Notes::default() };
        let view = TraceView {
            name: "-",
            format: Format::Din,
            size_bytes: 60,
            summary: &summary,
            notes: &notes,
        };
        insta::assert_snapshot!(trace_text(&view));
    }

    #[test]
    fn nothing_at_all() {
        let mut summary = Summary::default();
        summary.finish();
        let notes = Notes::default();
        let view = TraceView {
            name: "empty.csv",
            format: Format::Csv,
            size_bytes: 0,
            summary: &summary,
            notes: &notes,
        };
        insta::assert_snapshot!(trace_text(&view));
    }
}
