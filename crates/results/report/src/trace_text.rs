//! The contents of a memory trace.

use std::collections::BTreeMap;

use model::units::format_size;
use render::{Block, Cell, Document, Table, format};
use serde_json::{Value, json};
use trace::{EventCounts, Format, Granularity, Header, Notes, PAGE_SHIFT, PackedBytes, Summary};

const MOST_THREADS: usize = 20;

/// Header, references, pages, threads, order, events, size and gaps of the file `name`.
pub fn trace_document(
    name: &str,
    format: Format,
    size_bytes: u64,
    summary: &Summary,
    notes: &Notes,
) -> Document<'static> {
    let mut document = Document::of(vec![references(summary).into(), threads(summary).into()])
        .with_facts([("trace", format!("{name}: {}", format.name()))])
        .with_facts(notes.header.as_ref().map(header).unwrap_or_default())
        .with_facts([
            ("order", order(summary)),
            ("events", events(&summary.events)),
            ("file", size(size_bytes, summary.references, notes)),
        ]);
    let more = summary.threads.values().map(BTreeMap::len).sum::<usize>();
    if more > MOST_THREADS {
        document.push(Block::Notes(vec![format!("and {} more threads", more - MOST_THREADS)]));
    }
    let missed = Some(summary.events.missed).filter(|missed| *missed > 0);
    let missed = missed.map(|missed| format!("not recorded: {missed}")).into_iter();
    let missed = missed.chain(summary.missed.iter().map(|reason| format!("  {reason}")));
    document.push(Block::Notes(missed.chain(trace_notes(notes)).collect()));
    let Notes { header, packed, bad, cut_off, .. } = notes;
    let first = bad.first.iter();
    let first = first.map(|(place, reason)| json!({ "place": place, "reason": reason }));
    document.with_data(json!({
        "file": name,
        "format": format.name(),
        "size_bytes": size_bytes,
        "header": header,
        "summary": summary,
        "packed_bytes": packed,
        "bad_records": { "count": bad.count, "first": first.collect::<Value>() },
        "cut_off": cut_off,
    }))
}

/// Bad records with their positions, and where the file was cut off.
pub fn trace_notes(notes: &Notes) -> Vec<String> {
    let (bad, mut lines) = (&notes.bad, Vec::new());
    if bad.count > 0 {
        lines.push(format!("bad records, skipped: {}", bad.count));
        lines.extend(bad.first.iter().map(|(place, reason)| format!("  {place}: {reason}")));
        let more = bad.count - bad.first.len() as u64;
        lines.extend((more > 0).then(|| format!("  and {more} more")));
    }
    let cut_off = notes.cut_off.as_ref();
    lines.extend(cut_off.map(|it| format!("cut off at {it}: everything before that was read")));
    lines
}

fn header(header: &Header) -> [(&'static str, String); 3] {
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
    let is_of_pages = header.granularity == Granularity::Page && !recorded.is_empty();
    let how = if is_of_pages { ", pages only" } else { "" };
    [("program", program), ("by", tools.join(", ")), ("recorded", format!("{recorded}{how}"))]
}

fn references(summary: &Summary) -> Table {
    let all = summary.references;
    let blank = Cell::blank;
    let row = |name: &str, count: u64| {
        let share = (all > 0).then(|| Cell::Share(count as f64 / all as f64));
        [name.into(), count.into(), share.into(), blank()]
    };
    let mut rows = vec![["references".into(), all.into(), blank(), blank()]];
    match (summary.loads, summary.stores) {
        (Some(loads), Some(stores)) => {
            rows.extend([row("  loads", loads), row("  stores", stores)])
        }
        _ => rows.push(row("  of data", all - summary.fetches)),
    }
    rows.extend([row("  fetches", summary.fetches), row("runs to one page", summary.runs)]);
    let pages = [
        ("pages", summary.pages),
        ("  of data", summary.data_pages),
        ("  written", summary.written_pages),
        ("  of instructions", summary.fetched_pages),
    ];
    let size = |pages: u64| Cell::Size(pages << PAGE_SHIFT);
    rows.extend(pages.map(|(name, pages)| [name.into(), pages.into(), blank(), size(pages)]));
    Table::of("", ["", "number", "of all", "size"], rows)
}

fn threads(summary: &Summary) -> Table {
    let processes = summary.threads.iter();
    let all = processes.flat_map(|(process, threads)| threads.iter().map(move |it| (process, it)));
    let rows = all.take(MOST_THREADS).map(|(process, (thread, count))| {
        let names = summary.programs.get(process).filter(|_| *thread == 0);
        [
            (*process).into(),
            (*thread).into(),
            (*count).into(),
            Cell::Share(*count as f64 / summary.references.max(1) as f64),
            names.map_or_else(String::new, |names| names.join(", then ")).into(),
        ]
    });
    Table::of("", ["process", "thread", "references", "share", "program"], rows)
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
        ("new mappings", counts.maps),
        ("mappings removed", counts.unmaps),
        ("moves of the heap's end", counts.breaks),
        ("translations of a guest", counts.translations),
        ("flushes of a guest", counts.flushes),
        ("missed", counts.missed),
    ];
    let counted = named.iter().filter(|(_, count)| *count > 0);
    let counted: Vec<String> = counted.map(|(name, count)| format!("{name} {count}")).collect();
    if counted.is_empty() { "none".to_owned() } else { counted.join(", ") }
}

fn size(size_bytes: u64, references: u64, notes: &Notes) -> String {
    let file = format_size(size_bytes);
    if references == 0 {
        return file;
    }
    let each = |bytes: u64| bytes as f64 / references as f64;
    let columns = notes.packed.map(|packed| {
        let PackedBytes { pages, references, events, heads } = packed;
        let [pages, references, events, heads] = [pages, references, events, heads].map(each);
        format!(
            " (pages {pages:.3}, references {references:.3}, events {events:.3}, heads {heads:.3})"
        )
    });
    format!("{file}, {:.2} bytes a reference{}", each(size_bytes), columns.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use trace::{Access, BadRecords, Block, Event, PageRun, Reference};

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
        let document = trace_document("t.tlt", Format::Tlt, 321, &summary, &notes);
        insta::assert_snapshot!(plain_text(&document));
        let json = render::format_named("json").unwrap();
        let json = (json.write)(&document, &render::Style::default()).unwrap();
        insta::assert_snapshot!(json);
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
        let document = trace_document("-", Format::Din, 60, &summary, &notes);
        insta::assert_snapshot!(plain_text(&document));
    }

    #[test]
    fn nothing_at_all() {
        let mut summary = Summary::default();
        summary.finish();
        let notes = Notes::default();
        let document = trace_document("empty.csv", Format::Csv, 0, &summary, &notes);
        insta::assert_snapshot!(plain_text(&document));
    }
}
