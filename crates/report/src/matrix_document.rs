//! The responsiveness matrix as a document.

use analysis::responsiveness::{DELIVERED_AT_LEAST, Matrix, Row, STALL_FACTOR, claims};
use analysis::{HOST, seeds_text};
use model::BASELINE;
use model::units::{format_duration, format_size};
use render::{Block, Cell, Document, Table, Tone, Verdict, format};

use crate::charts::tile_verdict;
use crate::remarks::remarks;
use crate::why_slow::{why_slow_blocks, worst_item};

const FULL_CONFIDENCE: f64 = 0.9499;

/// The reading, the table of loads, why slow responses were slow, the `worst` slowest of each load,
/// and remarks.
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
    document.push(table);
    document.blocks.extend(why_slow_blocks(matrix));
    document.blocks.extend(remarks(notes(matrix), &matrix.remarks, verbose));
    if let Some(most) = worst {
        document.blocks.extend(worst_blocks(matrix, most));
    }
    document
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
                "A load that delivered less than {:.0} % of its dose is not the load it is named \
                 after.",
                100.0 * DELIVERED_AT_LEAST
            )
        }),
    ];
    notes.extend(remarks.into_iter().flatten());
    notes
}
