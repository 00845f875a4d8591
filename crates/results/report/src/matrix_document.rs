//! The responsiveness matrix as a document, with the reasons for slow responses.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use analysis::explained::{Part, is_counted};
use analysis::responsiveness::{
    DELIVERED_AT_LEAST, Matrix, Row, STALL_FACTOR, WhySlow, WorstSample, claims,
};
use analysis::{HOST, seeds_text};
use itertools::Itertools;
use model::BASELINE;
use model::units::{format_duration, format_size};
use render::{Block, Cell, Document, Table, Tone, Verdict, format};

use crate::charts::tile_verdict;
use crate::remarks::{most_important, remarks};

/// Loads whose waiting is named on one screen.
const MOST_REASONS: usize = 2;
/// A part of a delay from this share on is a reason.
const MOSTLY_FROM: f64 = 0.1;
const FULL_CONFIDENCE: f64 = 0.9499;

/// The table of loads, why slow responses were slow, the `worst` of each load, and remarks.
pub fn matrix_document(matrix: &Matrix, worst: Option<usize>, verbose: bool) -> Document<'static> {
    let setup = &matrix.setup;
    let title = format!("Responsiveness under load: {}", setup.place());
    let verdicts = vec![Verdict { text: matrix.reading.clone(), tone: Tone::Plain }];
    let mut document = Document { title, verdicts, ..Document::default() };
    let (probe, points, profile) = (&setup.probe, setup.points, &setup.profile);
    let (interval, seeds) = (format_duration(setup.interval_ns), seeds_text(&setup.seeds));
    let caption =
        format!("probe {probe}, {points} points {interval} apart ({profile} profile), {seeds}");
    let mut table = matrix_table(matrix, caption);
    for (load, reason) in &matrix.remarks.skipped {
        let [first, last] = [load.clone(), format!("skipped: {reason}")].map(Cell::from);
        let absent = std::iter::repeat_n(Cell::absent(), 7);
        table.row([first, Cell::Count(0)].into_iter().chain(absent).chain([last]));
    }
    let brief = (worst.is_none() && !verbose).then(|| brief(matrix, &document, table.clone()));
    document.push(table);
    document.blocks.extend(why_slow_blocks(matrix));
    document.blocks.extend(remarks(notes(matrix), &matrix.remarks, verbose));
    if let Some(most) = worst {
        document.blocks.extend(worst_blocks(matrix, most));
    }
    document.brief = brief.map(Box::new);
    document
}

/// The reading, the table, and what the slowest loads waited for.
fn brief(matrix: &Matrix, whole: &Document<'_>, mut table: Table) -> Document<'static> {
    table.caption = whole.title.clone();
    table.remove_columns(&["n", "p90", "stalled"]);
    let is_weak = |row: &Row| row.delivered.is_some_and(|part| part < DELIVERED_AT_LEAST);
    if !matrix.rows.iter().any(is_weak) {
        table.remove_columns(&["delivered"]);
    }
    for reading in table.rows.iter_mut().filter_map(|row| row.last_mut()) {
        if let Cell::Text(text, _) = reading {
            // Its figures are in other columns.
            let ends = [":", " (", ";"].into_iter().filter_map(|end| text.find(end));
            text.truncate(ends.min().unwrap_or(text.len()));
        }
    }
    let slow = matrix.why_slow.iter().filter(|load| load.slow.samples > 0);
    let slow = slow.sorted_by_key(|load| Reverse(load.slow.samples)).take(MOST_REASONS);
    let reasons = slow.filter_map(|load| {
        let share = |part: &Part| load.slow.share(*part).unwrap_or(0.0);
        let parts = Part::ALL.iter().filter(|part| **part != Part::Remainder);
        let parts = parts.sorted_by(|a, b| share(b).total_cmp(&share(a))).take(2);
        let parts = parts.filter(|part| share(part) >= MOSTLY_FROM);
        let parts: Vec<String> =
            parts.map(|part| format!("{} {}", part.title(), format::share(share(part)))).collect();
        let parts = parts.join(", ");
        let (slow, all) = (load.slow.samples, load.responses);
        (!parts.is_empty()).then(|| format!("{}: {slow} of {all} slow: {parts}", load.load))
    });
    let mut notes: Vec<String> = reasons.collect();
    let short = |row: &Row| row.ratio.is_some_and(|it| it.confidence < FULL_CONFIDENCE);
    if matrix.rows.iter().any(short) {
        notes.push("* Too few points for 95 %: the widest interval that they allow.".to_owned());
    }
    let blocks = vec![table.into(), most_important(notes, &matrix.remarks)];
    Document { verdicts: whole.verdicts.clone(), blocks, ..Document::default() }
}

fn worst_blocks(matrix: &Matrix, most: usize) -> Vec<Block> {
    let loads = matrix.why_slow.iter();
    let worst =
        loads.flat_map(|it| it.worst.iter().take(most).map(|one| worst_item(&it.load, one)));
    match worst.collect::<Vec<String>>() {
        none if none.is_empty() => vec!["No response was slow.".into()],
        slowest => vec!["Slowest responses".into(), Block::List(slowest)],
    }
}

pub(crate) fn matrix_table(matrix: &Matrix, caption: String) -> Table {
    let head = ["load", "n", "median", "p90", "max", "ratio", "95 % interval", "stalled"];
    let head = head.into_iter().chain(["delivered", "reading"]);
    let reference_ns = matrix.reference_ns();
    Table::of(caption, head, matrix.rows.iter().map(|row| cells(row, reference_ns)))
}

fn cells(row: &Row, reference_ns: Option<f64>) -> Vec<Cell> {
    let (ratio, interval) = match row.ratio {
        Some(found) => {
            let short = if found.confidence < FULL_CONFIDENCE { "*" } else { "" };
            let interval = match found.says_nothing() {
                true => format!("– ({})", found.needs_text()),
                false => format::interval(found.low, found.high, format::ratio) + short,
            };
            (Cell::Ratio(found.mark(), found.ratio), Cell::Figure(interval))
        }
        None if row.load == BASELINE && !row.delays_ns.is_empty() => {
            (Cell::ratio(1.0), Cell::blank())
        }
        None => (Cell::absent(), Cell::absent()),
    };
    let [median, p90, max] = row.quantiles_ns().map(|delay| delay.map(Cell::Duration).into());
    let (_, tone) = tile_verdict(row, reference_ns);
    vec![
        Cell::from(&row.load),
        Cell::from(row.delays_ns.len()),
        median,
        p90,
        max,
        ratio,
        interval,
        row.stalled_share().map(Cell::Share).into(),
        row.delivered.map(Cell::Share).into(),
        Cell::Text(row.reading.clone(), tone),
    ]
}

fn notes(matrix: &Matrix) -> Vec<String> {
    let rows = &matrix.rows;
    let mut notes = vec![format!(
        "Delays count from the intended start. Stalled: more than {STALL_FACTOR:.0} times the \
         noload median."
    )];
    notes.extend(claims(rows.iter().filter_map(|row| Some((row.load.as_str(), row.ratio?)))));
    let any = |is_so: fn(&Row) -> bool| rows.iter().any(is_so);
    let short = any(|row| row.ratio.is_some_and(|ratio| ratio.confidence < FULL_CONFIDENCE));
    let weak = any(|row| row.delivered.is_some_and(|part| part < DELIVERED_AT_LEAST));
    let memory = format_size(matrix.setup.memory_bytes);
    let remarks = [
        (matrix.setup.subject == HOST).then(|| {
            format!(
                "On the host the loads are sized for {memory}, so that they do not thrash it: a \
                 sandbox shows that (or host:mem=SIZE, at your risk)."
            )
        }),
        short.then(|| "* Too few points for 95 %: the widest interval that they allow.".to_owned()),
        any(|row| (1..10).contains(&row.delays_ns.len())).then(|| {
            "p90 of fewer than 10 points is interpolated between the largest two.".to_owned()
        }),
        weak.then(|| {
            format!(
                "A load that delivered under {:.0} % of its volume is not the load it is named \
                 after.",
                100.0 * DELIVERED_AT_LEAST
            )
        }),
    ];
    notes.extend(remarks.into_iter().flatten());
    notes
}

/// Smaller parts are not shown.
const SHOWN_FROM: f64 = 0.005;

/// A row per load with slow responses, and a note; empty if there are none.
fn why_slow_blocks(matrix: &Matrix) -> Vec<Block> {
    let (slow, mut calm): (Vec<&WhySlow>, Vec<&WhySlow>) =
        matrix.why_slow.iter().partition(|load| load.slow.samples > 0);
    calm.retain(|load| load.load != BASELINE);
    let Some(first) = slow.first() else { return Vec::new() };
    if !slow.iter().any(|load| is_counted(&load.slow.parts_ns)) {
        let text = "Why slow responses were slow is unknown: the probe has no counters.";
        return vec![Block::Sentence(text.to_owned())];
    }
    let unknown =
        unknown(|part| slow.iter().all(|load| load.slow.parts_ns.get(part) == Some(&None)));
    let calm = calm.iter().map(|load| &load.load).join(", ");
    let notes = [("Unknown here: ", unknown), ("None was slow under ", calm)];
    let notes = notes.into_iter().filter(|(_, names)| !names.is_empty());
    let note: String = notes.map(|(what, names)| format!("{what}{names}. ")).collect();
    let note = note + "The worst ones with their counters: --worst N.";
    vec![Block::Table(why_slow_table(&slow, first.limit_ns)), Block::Sentence(note)]
}

fn why_slow_table(slow: &[&WhySlow], limit_ns: f64) -> Table {
    let shown = |part: &Part| {
        let share = |load: &&WhySlow| load.slow.share(*part).unwrap_or(0.0);
        *part != Part::Remainder && slow.iter().map(share).fold(0.0, f64::max) >= SHOWN_FROM
    };
    let parts: Vec<Part> = Part::ALL.iter().copied().filter(shown).collect();
    let caption = format!(
        "Why slow responses were slow (longer than {}, {STALL_FACTOR:.0} times the noload \
         median): shares of their delay",
        format::duration(limit_ns)
    );
    let head =
        ["load", "slow", "explained"].into_iter().chain(parts.iter().map(|part| part.title()));
    let share =
        |it: Option<f64>| it.map_or_else(|| Cell::Absent("unknown".to_owned()), Cell::Share);
    let rows = slow.iter().map(|load| {
        let count = format!("{} of {}", load.slow.samples, load.responses);
        let first = [Cell::from(&load.load), Cell::figure(count), share(load.explained)];
        first.into_iter().chain(parts.iter().map(|part| share(load.slow.share(*part))))
    });
    Table::of(caption, head, rows)
}

fn unknown(is_unknown: impl Fn(&Part) -> bool) -> String {
    Part::ALL.iter().copied().filter(is_unknown).map(Part::title).join(", ")
}

/// A slow response with its parts, the unknown ones, and the counters meanwhile.
pub(crate) fn worst_item(load: &str, sample: &WorstSample) -> String {
    let WorstSample { run_id, seed, index, explained, .. } = sample;
    let delay_ns = explained.delay_ns.max(1) as f64;
    let least = if sample.censored { "more than " } else { "" };
    let mut text = format!(
        "{load} (run {run_id}, seed {seed}, sample {index}): {least}{} = {}",
        format_duration(explained.delay_ns),
        parts(&explained.parts_ns, delay_ns).join(" + ")
    );
    let unknown = unknown(|part| explained.parts_ns.get(part) == Some(&None));
    if !unknown.is_empty() {
        text += &format!("; unknown: {unknown}");
    }
    let counters = sample.counters.iter().filter(|(_, count)| **count > 0);
    let counters: Vec<String> =
        counters.map(|(name, count)| format!("{} {count}", name.replace('_', " "))).collect();
    if !counters.is_empty() {
        text += &format!("; meanwhile: {}", counters.join(", "));
    }
    text
}

fn parts(parts_ns: &BTreeMap<Part, Option<u64>>, delay_ns: f64) -> Vec<String> {
    let known = parts_ns.iter().filter_map(|(part, part_ns)| Some((part, (*part_ns)?)));
    let shown = known.filter(|(_, part_ns)| *part_ns as f64 >= SHOWN_FROM * delay_ns);
    let text = |(part, part_ns): (&Part, u64)| {
        let share = 100.0 * part_ns as f64 / delay_ns;
        format!("{} {} ({share:.0} %)", part.title(), format_duration(part_ns))
    };
    shown.sorted_by_key(|(_, part_ns)| Reverse(*part_ns)).map(text).collect()
}
