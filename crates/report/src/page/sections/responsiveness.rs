//! The responsiveness matrix in words and charts, and why slow responses were slow.

use model::Observation;

use super::super::Measurement;
use super::charts_of;
use crate::charts::{Data, tile_verdict};
use crate::claim::claims;
use crate::matrix::{Row, STALL_FACTOR};
use crate::why_slow::WorstSample;
use render::{Block, Cell, Section, Table};

/// Most measurements that get a table of their own.
const MOST_TABLES: usize = 8;
/// Most slow responses that are listed.
const MOST_WORST: usize = 12;
/// Most of them under one load.
const MOST_WORST_OF_LOAD: usize = 4;

/// Tables and charts of what probes measured.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, &["matrix"]);
    for one in data.measurements.iter().take(MOST_TABLES) {
        blocks.push(Block::Table(table(one, &data.label(one))));
    }
    let more = data.measurements.len().saturating_sub(MOST_TABLES);
    if more > 0 {
        blocks.push(Block::Sentence(format!("And {more} more, which are in the chart above.")));
    }
    blocks.extend(charts_of(data, &["ratios", "samples", "ecdf"]));
    super::section("responsiveness", "Responsiveness", blocks)
}

fn table(one: &Measurement, label: &str) -> Table {
    let probe = match label {
        "" => one.label.clone(),
        label => label.to_owned(),
    };
    let rows = one.matrix.rows.iter();
    let ratios = rows.filter_map(|row| Some((row.load.as_str(), row.ratio?)));
    let caption = format!(
        "{probe}: delays from the intended start; stalled: more than {STALL_FACTOR} times the \
         median without load. {}",
        claims(ratios).join(" ")
    );
    let head = [
        "load",
        "verdict",
        "ratio",
        "95 % interval",
        "median",
        "p90",
        "worst",
        "stalled",
        "n",
        "delivered",
        "what it feels like",
    ];
    let mut table = Table::new(caption, head);
    let reference_ns = one.reference_ns();
    table.rows.extend(one.matrix.rows.iter().map(|row| cells(row, reference_ns)));
    table
}

fn cells(row: &Row, reference_ns: Option<f64>) -> Vec<Cell> {
    let (word, tone) = tile_verdict(row, reference_ns);
    let count = row.delays_ns.len();
    let is_known = reference_ns.is_some() && count > 0;
    let stalled = is_known.then(|| Cell::share(row.stalled as f64 / count as f64));
    let (ratio, interval) = row.ratio.map_or_else(
        || (Cell::absent(), Cell::absent()),
        |found| {
            let interval = match found.says_nothing() {
                true => Cell::absent_because(format!("– ({})", found.needs_text())),
                false => Cell::interval(Some((found.low, found.high))),
            };
            (Cell::bounded_ratio(found.mark(), found.ratio), interval)
        },
    );
    let mut cells = vec![Cell::from(&row.load), Cell::from(word).toned(tone), ratio, interval];
    cells.extend(row.delay_texts().map(Cell::figure));
    cells.extend([stalled.into(), count.into(), row.delivered.map(Cell::share).into()]);
    cells.push(Cell::from(&row.reading));
    cells
}

/// Why slow responses were slow, and the slowest of them.
pub(super) fn delays(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, &["delay-split"]);
    let mut worst: Vec<(String, &WorstSample)> = Vec::new();
    for one in &data.measurements {
        let label = data.label(one);
        for load in one.matrix.why_slow.iter().filter(|load| load.has_sources()) {
            let place = if label.is_empty() {
                load.load.clone()
            } else {
                format!("{} · {label}", load.load)
            };
            worst.extend(
                load.worst.iter().take(MOST_WORST_OF_LOAD).map(|sample| (place.clone(), sample)),
            );
        }
    }
    worst.sort_by_key(|(_, sample)| std::cmp::Reverse(sample.explained.delay_ns));
    worst.truncate(MOST_WORST);
    if !worst.is_empty() && !blocks.is_empty() {
        let head = ["load", "run", "sample", "delay", "what it was spent on", "meanwhile"];
        let mut table = Table::new("The slowest responses", head);
        for (place, sample) in worst {
            let delay = Observation {
                value: sample.explained.delay_ns as f64,
                is_lower_bound: sample.censored,
            };
            table.row([
                Cell::from(place),
                Cell::from(&sample.run_id),
                (sample.index + 1).into(),
                Cell::observed(delay),
                spent(sample).into(),
                meanwhile(sample).into(),
            ]);
        }
        blocks.push(Block::Table(table));
    }
    super::section("delays", "Why slow responses were slow", blocks)
}

/// The largest parts of a delay.
fn spent(sample: &WorstSample) -> String {
    let whole_ns = sample.explained.delay_ns.max(1) as f64;
    let mut parts: Vec<_> = sample
        .explained
        .parts_ns
        .iter()
        .filter_map(|(part, time_ns)| Some((*part, (*time_ns)?)))
        .filter(|(_, time_ns)| *time_ns as f64 >= 0.02 * whole_ns)
        .collect();
    parts.sort_by_key(|(_, time_ns)| std::cmp::Reverse(*time_ns));
    let texts = parts.iter().take(4).map(|(part, time_ns)| {
        format!("{} {:.0} %", part.name(), 100.0 * *time_ns as f64 / whole_ns)
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// What was counted meanwhile.
fn meanwhile(sample: &WorstSample) -> String {
    let counted = sample.counters.iter().filter(|(_, count)| **count > 0);
    let texts = counted.map(|(name, count)| format!("{} {count}", name.replace('_', " ")));
    texts.collect::<Vec<_>>().join(", ")
}
