//! The footprint of processes as a document.

use std::collections::BTreeMap;

use footprint::{
    ActivitySource, Bounds, Counts, Footprint, Geometry, Kind, ProcessFootprint, Saving,
    SharedTables, Tables, Totals,
};
use model::units::{format_duration, format_size};
use render::{Block, Cell, Document, Table};
use serde_json::json;

/// Method, the processes with the indices `shown`, kinds of mappings, possible savings and
/// omissions. Pages could become active in `window_ns`, `None` if nothing was cleared.
pub fn footprint_document(
    found: &Footprint,
    window_ns: Option<u64>,
    shown: &[usize],
) -> Document<'static> {
    let shown: Vec<&ProcessFootprint> =
        shown.iter().filter_map(|index| found.processes.get(*index)).collect();
    let mut data = json!(found);
    data["window_ns"] = window_ns.into();
    data["processes"] = json!(shown);
    let heading = Block::Notes(heading(found, window_ns));
    let mut document = Document::of(vec![heading]).with_data(data);
    if !shown.is_empty() {
        document.push(processes(found, &shown));
        let rest = found.processes.len() - shown.len();
        let rest = (rest > 0).then(|| format!("and {rest} more")).into_iter();
        document.push(Block::Notes(rest.chain(LEGEND.map(str::to_owned)).collect()));
        document.push(kinds(found));
    }
    for process in shown.iter().filter(|process| !process.mappings.is_empty()) {
        document.push(mappings(process, &found.geometry));
    }
    if let Some(counts) = &found.total.counts {
        document.push(Block::Notes(summary(&found.total, counts, found)));
    }
    document.push(Block::Notes(left_out(found)));
    document
}

fn heading(found: &Footprint, window_ns: Option<u64>) -> Vec<String> {
    let Geometry { page_bytes, region_pages, .. } = found.geometry;
    let mut lines = vec![format!(
        "Pages of {}; a page of page tables maps a region of {} ({region_pages} pages).",
        format_size(page_bytes),
        format_size(found.geometry.region_bytes()),
    )];
    let window = format_duration(window_ns.unwrap_or(0));
    let counted = format!(
        "Active is what was touched in {window}, counted mapping by mapping (Referenced in smaps)"
    );
    lines.push(match &found.activity {
        ActivitySource::NotLookedFor => "Nothing was cleared: what was active is not known, all \
             figures are of present pages."
            .to_owned(),
        ActivitySource::Counted { no_places } => format!(
            "{counted}. Where in a mapping is not known ({no_places}), so active regions are from-to."
        ),
        ActivitySource::Placed => {
            format!("{counted}, in the places that the bitmap of idle pages shows.")
        }
    });
    if found.activity != ActivitySource::NotLookedFor && !found.is_flushed {
        lines.push(
            "The TLBs were not flushed, as this kernel has soft-dirty bits that would be lost: a \
             page whose translation stayed in a TLB all the time is not counted."
                .to_owned(),
        );
    }
    lines
}

fn bounds(bounds: Bounds) -> String {
    match bounds.exact() {
        Some(number) => number.to_string(),
        None => format!("{}-{}", bounds.min, bounds.max),
    }
}

fn share(percent: f64) -> String {
    if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

fn count_cells(counts: &Counts, geometry: &Geometry) -> [Cell; 6] {
    let active_share = |(least, most)| match (share(least), share(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least}-{most}"),
    };
    [
        counts.present_pages.into(),
        counts.regions.into(),
        Cell::figure(counts.full_percent(geometry).map(share)),
        counts.active_pages.into(),
        Cell::figure(counts.active_regions.map(bounds)),
        Cell::figure(counts.active_percent(geometry).map(active_share)),
    ]
}

const COUNT_HEADS: [&str; 6] = ["present", "regions", "full %", "active", "regions", "full %"];

const LEGEND: [&str; 3] = [
    "present, active: pages. regions: with such a page; full: of all pages of these regions.",
    "tables: pages of page tables that this needs. VmPTE: that the kernel counts. empty: that map \
     nothing.",
    "shared: tables with a page that another process maps too. repeated: another process of these \
     has the same table, page for page.",
];

fn processes(found: &Footprint, shown: &[&ProcessFootprint]) -> Table {
    let after = ["tables", "VmPTE", "empty", "shared", "repeated"];
    let head = [&["pid", "program"], &COUNT_HEADS[..], &after].concat();
    let row = |pid: Cell, name: &str, counts: &Counts, tables: &Tables| {
        let cells = [pid, name.into()].into_iter().chain(count_cells(counts, &found.geometry));
        cells.chain(table_cells(tables, found))
    };
    let rows = shown.iter().map(|it| row(it.pid.into(), &it.name, &it.counts, &it.tables));
    let all = found.total.counts.as_ref().filter(|_| found.processes.len() > 1);
    let all = all.map(|counts| row(Cell::blank(), "all", counts, &found.total.tables));
    Table::of("", head, rows.chain(all))
}

fn table_cells(tables: &Tables, found: &Footprint) -> [Cell; 5] {
    let is_alone = found.processes.len() < 2;
    [
        tables.needed().into(),
        (tables.counted_bytes / found.geometry.page_bytes).into(),
        Cell::figure(tables.empty(&found.geometry).to_string()),
        tables.with_shared.into(),
        if is_alone { Cell::absent() } else { tables.repeated.into() },
    ]
}

fn kinds(found: &Footprint) -> Table {
    let mut sums: BTreeMap<Kind, Counts> = BTreeMap::new();
    for (kind, counts) in found.processes.iter().flat_map(|process| &process.kinds) {
        sums.entry(*kind).and_modify(|sum| *sum = *sum + *counts).or_insert(*counts);
    }
    let rows = sums.iter().map(|(kind, counts)| {
        let cells = [kind.name().into()].into_iter().chain(count_cells(counts, &found.geometry));
        cells.chain([counts.shared_pages.into()])
    });
    Table::of("", [&["kind"], &COUNT_HEADS[..], &["shared pages"]].concat(), rows)
}

fn mappings(process: &ProcessFootprint, geometry: &Geometry) -> Table {
    let caption = format!("{} {}", process.pid, process.name);
    let before = ["address", "rights", "kind"];
    let head = [&before, &COUNT_HEADS[..], &["shared pages", "name"]].concat();
    let rows = process.mappings.iter().map(|mapping| {
        let address = format!("{:x}", mapping.start);
        let first = [address.into(), Cell::from(&mapping.rights), mapping.kind.name().into()];
        let last = [mapping.counts.shared_pages.into(), Cell::from(&mapping.name)];
        first.into_iter().chain(count_cells(&mapping.counts, geometry)).chain(last)
    });
    Table::of(caption, head, rows)
}

fn summary(total: &Totals, counts: &Counts, found: &Footprint) -> Vec<String> {
    let geometry = &found.geometry;
    let pages = |pages: u64| format_size(pages * geometry.page_bytes);
    let (page, region) = (pages(1), format_size(geometry.region_bytes()));
    let what = if counts.active_pages.is_some() { "active" } else { "present" };
    let Tables { lowest, middle, upper, reserved, with_shared, all_shared, .. } = total.tables;
    let mut lines = vec![
        format!(
            "Page tables: {lowest} pages of the lowest level, {middle} and {upper} above, {reserved} \
             in reserve for huge pages; {} in all.",
            pages(total.tables.needed())
        ),
        format!(
            "Mapped elsewhere too: some page in {with_shared} of {lowest} tables, every page in \
             {all_shared}."
        ),
        format!(
            "TLB entries for the {what} pages: {} of {page}, or {} of {region}.",
            counts.used_pages(),
            bounds(counts.used_regions()),
        ),
    ];
    if found.processes.len() > 1 {
        lines.push(sharing(total, geometry));
    }
    let saving = &total.saving;
    let Saving { huge_candidates, huge_shared, image_regions, image_pages, packed_regions, .. } =
        saving;
    lines.push(match huge_candidates {
        0 => "Huge pages: no region is entirely in memory without a file.".to_owned(),
        _ => format!(
            "Huge pages: {huge_candidates} regions could each be one: {} TLB entries fewer for \
             their present pages, {huge_shared} tables fewer, {} more memory.",
            saving.huge_candidate_pages.saturating_sub(*huge_candidates),
            pages(saving.huge_extra_pages(geometry)),
        ),
    });
    let packed = found.processes.iter().map(|process| process.saving.by_packing());
    let packed = bounds(packed.fold(Bounds::default(), |sum, it| sum + it));
    let used = bounds(saving.used_image_regions);
    lines.push(format!(
        "Static linking: {image_regions} regions hold nothing but program and libraries; {used} of \
         them have the {image_pages} {what} pages, which packed in each process need \
         {packed_regions}: {packed} tables fewer."
    ));
    lines
}

fn sharing(total: &Totals, geometry: &Geometry) -> String {
    let SharedTables { repeats, repeats_until_written, unknown } = total.sharing;
    let size = format_size(repeats * geometry.page_bytes);
    let unknown = (unknown > 0).then(|| {
        format!(
            " Of {unknown} tables not all pages could be distinguished: only root sees their \
             numbers."
        )
    });
    format!(
        "Shared page tables: {repeats} tables are repeats ({size}); {repeats_until_written} more \
         are until one of them is written.{}",
        unknown.unwrap_or_default()
    )
}

fn left_out(found: &Footprint) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for left in &found.left_out {
        // A path contains the process number, which differs.
        let reason = match left.reason.split_once(": ") {
            Some((path, reason)) if path.starts_with('/') && found.left_out.len() > 1 => reason,
            _ => &left.reason,
        };
        reasons.entry(reason).or_default().push(left.pid);
    }
    let line = |(reason, pids): (&str, Vec<u32>)| match pids.as_slice() {
        [pid] => format!("Left out: process {pid}: {reason}."),
        several => format!("Left out: {} processes: {reason}.", several.len()),
    };
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use footprint::LeftOut;

    fn process(pid: u32, active_regions: Bounds) -> ProcessFootprint {
        let counts = Counts {
            active_pages: Some(90),
            present_pages: 700,
            swapped_pages: 0,
            shared_pages: 512,
            regions: 5,
            active_regions: Some(active_regions),
            huge_regions: 0,
        };
        let tables = Tables {
            lowest: 5,
            middle: 3,
            upper: 2,
            counted_bytes: 11 * 4096,
            with_shared: 2,
            all_shared: 1,
            repeated: 1,
            ..Tables::default()
        };
        let saving = Saving {
            image_regions: 3,
            used_image_regions: Bounds { min: 2, max: 3 },
            image_pages: 60,
            packed_regions: 1,
            huge_candidates: 1,
            huge_candidate_pages: 512,
            huge_shared: 1,
        };
        let kinds = BTreeMap::from([(Kind::SharedMemory, counts)]);
        let name = "made".to_owned();
        ProcessFootprint { pid, name, user: 0, counts, tables, saving, kinds, mappings: Vec::new() }
    }

    fn found() -> Footprint {
        let processes =
            vec![process(7, Bounds { min: 2, max: 4 }), process(123, Bounds::exactly(3))];
        let [one, two] = [&processes[0], &processes[1]];
        let total = Totals {
            counts: Some(one.counts + two.counts),
            tables: one.tables + two.tables,
            saving: one.saving + two.saving,
            sharing: SharedTables { repeats: 1, repeats_until_written: 0, unknown: 2 },
        };
        let left = |pid, reason: &str| LeftOut { pid, reason: reason.to_owned() };
        Footprint {
            geometry: Geometry::new(4096, 0x7fff_ffff_f000),
            activity: ActivitySource::Counted { no_places: "no bitmap".to_owned() },
            is_flushed: true,
            processes,
            left_out: vec![left(2, "a thread"), left(3, "a thread"), left(9, "/proc/9/x: denied")],
            total,
        }
    }

    fn plain(found: &Footprint, window_ns: Option<u64>, shown: &[usize]) -> String {
        render::plain_text(&footprint_document(found, window_ns, shown))
    }

    #[test]
    fn a_footprint_has_its_tables_and_what_could_be_saved() {
        insta::assert_snapshot!(plain(&found(), Some(2_000_000_000), &[1, 0]), @r"
        Pages of 4K; a page of page tables maps a region of 2M (512 pages).
        Active is what was touched in 2.00s, counted mapping by mapping (Referenced in
          smaps). Where in a mapping is not known (no bitmap), so active regions are
          from-to.

        pid  program  present  regions  full %  active  regions   full %  tables  VmPTE  empty  shared  repeated
        123  made         700        5      27      90        3      5.9      10     11      1       2         1
          7  made         700        5      27      90      2-4  4.4-8.8      10     11      1       2         1
             all         1400       10      27     180      5-7  5.0-7.0      20     22      2       4         2

        present, active: pages. regions: with such a page; full: of all pages of these
          regions.
        tables: pages of page tables that this needs. VmPTE: that the kernel counts.
          empty: that map nothing.
        shared: tables with a page that another process maps too. repeated: another
          process of these has the same table, page for page.

        kind           present  regions  full %  active  regions   full %  shared pages
        shared memory     1400       10      27     180      5-7  5.0-7.0          1024

        Page tables: 10 pages of the lowest level, 6 and 4 above, 0 in reserve for huge
          pages; 80K in all.
        Mapped elsewhere too: some page in 4 of 10 tables, every page in 2.
        TLB entries for the active pages: 180 of 4K, or 5-7 of 2M.
        Shared page tables: 1 tables are repeats (4K); 0 more are until one of them is
          written. Of 2 tables not all pages could be distinguished: only root sees
          their numbers.
        Huge pages: 2 regions could each be one: 1022 TLB entries fewer for their
          present pages, 2 tables fewer, 0B more memory.
        Static linking: 6 regions hold nothing but program and libraries; 4-6 of them
          have the 120 active pages, which packed in each process need 2: 2-4 tables
          fewer.

        Left out: 2 processes: a thread.
        Left out: process 9: denied.
        ");
    }

    #[test]
    fn what_was_not_looked_for_is_no_number() {
        let mut found = found();
        found.activity = ActivitySource::NotLookedFor;
        found.processes[0].counts.active_pages = None;
        found.processes[0].counts.active_regions = None;
        found.processes.truncate(1);
        let text = plain(&found, None, &[0]);
        let row =
            text.lines().find(|line| line.starts_with("  7") || line.starts_with("7")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            cells,
            ["7", "made", "700", "5", "27", "-", "-", "-", "10", "11", "1", "2", "-"]
        );
        assert!(text.contains("what was active is not known"), "{text}");
        found.processes.clear();
        found.total = Totals::default();
        assert!(plain(&found, None, &[]).contains("Left out: process 9: denied."));
    }

    #[test]
    fn a_tlb_that_was_not_flushed_is_mentioned() {
        let mut found = found();
        found.is_flushed = false;
        assert!(plain(&found, Some(1), &[0]).contains("The TLBs were not flushed"));
    }
}
