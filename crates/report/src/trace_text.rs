//! What is in a memory trace.

use std::collections::BTreeMap;

use model::units::format_size;
use render::{Block, Cell, Document, Table, format};
use serde_json::{Value, json};
use trace::{EventCounts, Format, Granularity, Notes, PAGE_SHIFT, Summary};

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

/// Header, references, pages, threads, order, events, size, and what is missing.
#[must_use]
pub fn trace_document(view: &TraceView<'_>) -> Document<'static> {
    let summary = view.summary;
    let facts = header(view)
        .into_iter()
        .chain([
            ("order", order(summary)),
            ("events", events(&summary.events)),
            ("file", size(view)),
        ])
        .map(|(name, value)| (name.to_owned(), value));
    let mut document =
        Document { facts: facts.collect(), ..Document::default() }.with_data(trace_json(view));
    document.push(references(summary));
    document.push(threads(summary));
    let more = summary.threads.values().map(BTreeMap::len).sum::<usize>();
    if let Some(more) = more.checked_sub(MOST_THREADS).filter(|more| *more > 0) {
        document.push(Block::Notes(vec![format!("and {more} more threads")]));
    }
    let mut missing = Vec::new();
    if summary.events.missed > 0 {
        missing.push(format!("not recorded: {}", summary.events.missed));
        missing.extend(summary.missed.iter().map(|reason| format!("  {reason}")));
    }
    missing.extend(trace_notes(view.notes));
    document.push(Block::Notes(missing));
    document
}

/// What could not be read of a file: bad records with their places, and where it was cut off.
/// Empty if all was well.
#[must_use]
pub fn trace_notes(notes: &Notes) -> Vec<String> {
    let mut lines = Vec::new();
    if notes.bad.count > 0 {
        lines.push(format!("bad records, left out: {}", notes.bad.count));
        lines.extend(notes.bad.first.iter().map(|(place, reason)| format!("  {place}: {reason}")));
        let more = notes.bad.count - notes.bad.first.len() as u64;
        lines.extend((more > 0).then(|| format!("  and {more} more")));
    }
    lines.extend(
        notes
            .cut_off
            .as_ref()
            .map(|place| format!("cut off at {place}: what stands before is all there is")),
    );
    lines
}

fn trace_json(view: &TraceView<'_>) -> Value {
    let first: Vec<Value> = view
        .notes
        .bad
        .first
        .iter()
        .map(|(place, reason)| json!({ "place": place, "reason": reason }))
        .collect();
    json!({
        "file": view.name,
        "format": view.format.name(),
        "size_bytes": view.size_bytes,
        "header": view.notes.header,
        "summary": view.summary,
        "packed_bytes": view.notes.packed,
        "bad_records": { "count": view.notes.bad.count, "first": first },
        "cut_off": view.notes.cut_off,
    })
}

/// What the file says of itself.
fn header(view: &TraceView<'_>) -> Vec<(&'static str, String)> {
    let mut facts = vec![("trace", format!("{}: {}", view.name, view.format.name()))];
    let Some(header) = &view.notes.header else { return facts };
    let architecture = header.architecture.as_ref().map(|name| format!(" ({name})"));
    let program = format!("{}{}", header.program, architecture.unwrap_or_default());
    let versions = header.versions.iter().map(|(name, version)| format!("{name} {version}"));
    let tools: Vec<String> = [header.tool.clone()].into_iter().chain(versions).collect();
    let recorded = match (header.data, header.fetches) {
        (true, true) => "data and instructions",
        (true, false) => "data",
        (false, true) => "instructions",
        (false, false) => "",
    };
    let how = match header.granularity {
        Granularity::Page if !recorded.is_empty() => ", pages only",
        _ => "",
    };
    facts.extend([("program", program), ("by", tools.join(", "))]);
    facts.push(("recorded", format!("{recorded}{how}")));
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

fn references(summary: &Summary) -> Table {
    let all = summary.references;
    let share = |count: u64| (all > 0).then(|| Cell::share(count as f64 / all as f64)).into();
    let blank = || Cell::figure("");
    let mut table = Table::new("", ["", "number", "of all", "size"]);
    table.row(["references".into(), all.into(), blank(), blank()]);
    let kinds = match (summary.loads, summary.stores) {
        (Some(loads), Some(stores)) => vec![("  loads", loads), ("  stores", stores)],
        _ => vec![("  of data", all - summary.fetches)],
    };
    for (name, count) in kinds.into_iter().chain([("  fetches", summary.fetches)]) {
        table.row([name.into(), count.into(), share(count), blank()]);
    }
    table.row(["runs to one page".into(), summary.runs.into(), share(summary.runs), blank()]);
    for (name, pages) in [
        ("pages", summary.pages),
        ("  of data", summary.data_pages),
        ("  written", summary.written_pages),
        ("  of instructions", summary.fetched_pages),
    ] {
        table.row([name.into(), pages.into(), blank(), Cell::size(pages << PAGE_SHIFT)]);
    }
    table
}

fn threads(summary: &Summary) -> Table {
    let mut table = Table::new("", ["process", "thread", "references", "share", "program"]);
    let all = summary
        .threads
        .iter()
        .flat_map(|(process, threads)| threads.iter().map(move |thread| (process, thread)));
    for (process, (thread, count)) in all.take(MOST_THREADS) {
        let programs = match thread {
            0 => summary.programs.get(process).map_or(String::new(), |names| names.join(", then ")),
            _ => String::new(),
        };
        let share = *count as f64 / summary.references.max(1) as f64;
        table.row([
            Cell::count(u64::from(*process)),
            Cell::count(u64::from(*thread)),
            Cell::count(*count),
            Cell::share(share),
            Cell::from(programs),
        ]);
    }
    table
}

fn order(summary: &Summary) -> String {
    let mut text = format!("{} blocks, {} changes of thread", summary.blocks, summary.switches);
    if summary.switches > 0 {
        let between = summary.references / (summary.switches + 1);
        text += &format!(" (every {between} references on average)");
    }
    let Some(duration_ns) = summary.duration_ns else { return text + ", without times" };
    let over = format::duration(duration_ns as f64);
    text + &match summary.out_of_order {
        0 => format!(", in order of time over {over}"),
        blocks => format!(", {blocks} not in order of time, over {over}"),
    }
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
    let counted = named.iter().filter(|(_, count)| *count > 0);
    let counted: Vec<String> = counted.map(|(name, count)| format!("{name} {count}")).collect();
    if counted.is_empty() { "none".to_owned() } else { counted.join(", ") }
}

fn size(view: &TraceView<'_>) -> String {
    let file = format_size(view.size_bytes);
    let references = view.summary.references;
    if references == 0 {
        return file;
    }
    let each = |bytes: u64| bytes as f64 / references as f64;
    let columns = view.notes.packed.map(|packed| {
        format!(
            " (pages {:.3}, references {:.3}, events {:.3}, heads {:.3})",
            each(packed.pages),
            each(packed.references),
            each(packed.events),
            each(packed.heads)
        )
    });
    let columns = columns.unwrap_or_default();
    format!("{file}, {:.2} bytes a reference{columns}", each(view.size_bytes))
}

#[cfg(test)]
mod tests {
    use trace::{Access, BadRecords, Block, Event, Header, PackedBytes, PageRun, Reference};

    use render::plain_text;

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
            cut_off: Some("byte 321".to_owned()),
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
        insta::assert_snapshot!(plain_text(&trace_document(&view)));
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
        let first = vec![("line 7".to_owned(), "no label 0 to 2 and hexadecimal address")];
        let notes = Notes { bad: BadRecords { count: 3, first }, ..Notes::default() };
        let view = TraceView {
            name: "-",
            format: Format::Din,
            size_bytes: 60,
            summary: &summary,
            notes: &notes,
        };
        insta::assert_snapshot!(plain_text(&trace_document(&view)));
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
        insta::assert_snapshot!(plain_text(&trace_document(&view)));
    }
}
