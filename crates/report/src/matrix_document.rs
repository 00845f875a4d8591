//! The responsiveness matrix as a document.

use analysis::responsiveness::{DELIVERED_AT_LEAST, Matrix, Row, STALL_FACTOR, claims};
use analysis::{HOST, seeds_text};
use model::BASELINE;
use model::units::{format_duration, format_size};
use render::{Block, Cell, Document, Table, Tone, Verdict, format};

use crate::charts::tile_verdict;
use crate::remarks::remarks;
use crate::why_slow::{why_slow_blocks, worst_item};

/// Below this confidence an interval is marked.
const FULL_CONFIDENCE: f64 = 0.9499;

/// The whole result: what was found, the table of the loads, why slow responses were slow, the
/// `worst` slowest of each load, and what a reader must know.
#[must_use]
pub fn matrix_document(matrix: &Matrix, worst: Option<usize>, verbose: bool) -> Document<'_> {
    let setup = &matrix.setup;
    let mut document = Document {
        title: format!("Responsiveness under load: {}", setup.place()),
        verdicts: vec![Verdict { text: matrix.reading.clone(), tone: Tone::Plain }],
        ..Document::default()
    };
    let mut table = matrix_table(
        matrix,
        format!(
            "probe {}, {} points {} apart ({} profile), {}",
            setup.probe,
            setup.points,
            format_duration(setup.interval_ns),
            setup.profile,
            seeds_text(&setup.seeds)
        ),
    );
    for (load, reason) in &matrix.remarks.skipped {
        let mut row = vec![Cell::from(load), Cell::from(0_usize)];
        row.extend(std::iter::repeat_n(Cell::absent(), 7));
        row.push(Cell::from(format!("skipped: {reason}")));
        table.row(row);
    }
    document.push(table);
    document.blocks.extend(why_slow_blocks(matrix));
    document.blocks.extend(remarks(notes(matrix), &matrix.remarks, verbose));
    if let Some(most) = worst {
        document.blocks.extend(worst_blocks(matrix, most));
    }
    document.with_data(matrix)
}

fn worst_blocks(matrix: &Matrix, most: usize) -> Vec<Block> {
    let slowest = matrix
        .why_slow
        .iter()
        .flat_map(|load| load.worst.iter().take(most).map(|sample| worst_item(&load.load, sample)));
    let slowest: Vec<String> = slowest.collect();
    if slowest.is_empty() {
        return vec![Block::Sentence("No response was slow.".to_owned())];
    }
    vec![Block::Sentence("Slowest responses".to_owned()), Block::List(slowest)]
}

/// A row a load.
pub(crate) fn matrix_table(matrix: &Matrix, caption: String) -> Table {
    let head = [
        "load",
        "n",
        "median",
        "p90",
        "max",
        "ratio",
        "95 % interval",
        "stalled",
        "delivered",
        "reading",
    ];
    let mut table = Table::new(caption, head);
    let reference_ns = matrix.reference_ns();
    table.rows.extend(matrix.rows.iter().map(|row| cells(row, reference_ns)));
    table
}

fn cells(row: &Row, reference_ns: Option<f64>) -> Vec<Cell> {
    let (ratio, interval) = match row.ratio {
        Some(found) => {
            let short = if found.confidence < FULL_CONFIDENCE { "*" } else { "" };
            let interval = match found.says_nothing() {
                true => format!("– ({})", found.needs_text()),
                false => {
                    format!("{}{short}", format::ratio_interval(Some((found.low, found.high))))
                }
            };
            (Cell::bounded_ratio(found.mark(), found.ratio), Cell::figure(interval))
        }
        None if row.load == BASELINE && !row.delays_ns.is_empty() => {
            (Cell::ratio(1.0), Cell::figure(""))
        }
        None => (Cell::absent(), Cell::absent()),
    };
    let [median, p90, max] = row.quantiles_ns().map(|delay| delay.map(Cell::observed).into());
    let (_, tone) = tile_verdict(row, reference_ns);
    vec![
        Cell::from(&row.load),
        Cell::from(row.delays_ns.len()),
        median,
        p90,
        max,
        ratio,
        interval,
        row.stalled_share().map(Cell::share).into(),
        row.delivered.map(Cell::share).into(),
        Cell::from(&row.reading).toned(tone),
    ]
}

fn notes(matrix: &Matrix) -> Vec<String> {
    let rows = &matrix.rows;
    let mut notes = vec![format!(
        "Delays count from the intended start. Stalled: more than {STALL_FACTOR:.0} times the \
         noload median."
    )];
    notes.extend(claims(rows.iter().filter_map(|row| Some((row.load.as_str(), row.ratio?)))));
    if matrix.setup.subject == HOST {
        notes.push(format!(
            "On the host the loads are sized for {}, so that they do not thrash it: a sandbox \
             shows that (or host:mem=SIZE, at your risk).",
            format_size(matrix.setup.memory_bytes)
        ));
    }
    if rows.iter().any(|row| row.ratio.is_some_and(|ratio| ratio.confidence < FULL_CONFIDENCE)) {
        notes.push("* Too few points for 95 %: the widest interval that they allow.".to_owned());
    }
    if rows.iter().any(|row| (1..10).contains(&row.delays_ns.len())) {
        notes.push(
            "p90 of fewer than 10 points is interpolated between the largest two.".to_owned(),
        );
    }
    if rows.iter().any(|row| row.delivered.is_some_and(|part| part < DELIVERED_AT_LEAST)) {
        notes.push(format!(
            "A load that delivered less than {:.0} % of its dose is not the load it is named after.",
            100.0 * DELIVERED_AT_LEAST
        ));
    }
    notes
}
