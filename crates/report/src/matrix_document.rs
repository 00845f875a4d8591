//! The responsiveness matrix as a document.

use analysis::responsiveness::{DELIVERED_AT_LEAST, Matrix, Row, STALL_FACTOR, WhySlow, claims};
use analysis::{HOST, seeds_text};
use model::BASELINE;
use model::units::{format_duration, format_size};
use render::{Block, Cell, Document, Table, Tone, Verdict, format};

use crate::charts::tile_verdict;
use crate::remarks::remarks;
use crate::why_slow::{why_slow_blocks, worst_item};

const FULL_CONFIDENCE: f64 = 0.9499;

/// The whole result: what was found, the table of the loads, why slow responses were slow, the
/// `worst` slowest of each load, and what a reader must know.
pub fn matrix_document(matrix: &Matrix, worst: Option<usize>, verbose: bool) -> Document<'static> {
    let setup = &matrix.setup;
    let mut document = Document {
        title: format!("Responsiveness under load: {}", setup.place()),
        verdicts: vec![Verdict { text: matrix.reading.clone(), tone: Tone::Plain }],
        ..Document::default()
    };
    let (probe, points, profile) = (&setup.probe, setup.points, &setup.profile);
    let (interval, seeds) = (format_duration(setup.interval_ns), seeds_text(&setup.seeds));
    let caption =
        format!("probe {probe}, {points} points {interval} apart ({profile} profile), {seeds}");
    let mut table = matrix_table(matrix, caption);
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
    document
}

fn worst_blocks(matrix: &Matrix, most: usize) -> Vec<Block> {
    let worst = |load: &WhySlow| {
        let worst = load.worst.iter().take(most);
        worst.map(|sample| worst_item(&load.load, sample)).collect::<Vec<String>>()
    };
    match matrix.why_slow.iter().flat_map(worst).collect::<Vec<String>>() {
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
    let any = |is_so: fn(&Row) -> bool| rows.iter().any(is_so);
    let short = any(|row| row.ratio.is_some_and(|ratio| ratio.confidence < FULL_CONFIDENCE));
    let weak = any(|row| row.delivered.is_some_and(|part| part < DELIVERED_AT_LEAST));
    let memory = format_size(matrix.setup.memory_bytes);
    let told = [
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
    notes.extend(told.into_iter().flatten());
    notes
}
