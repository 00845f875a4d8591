//! The responsiveness matrix in words and charts, and why slow responses were slow.

use super::super::Measurement;
use super::charts_of;
use crate::charts::{Data, panel};
use crate::matrix_document::matrix_table;
use crate::why_slow::worst_item;
use analysis::responsiveness::{STALL_FACTOR, WorstSample, claims};
use render::{Block, Section, Table};

const MOST_TABLES: usize = 8;
const MOST_WORST: usize = 12;
const MOST_WORST_OF_LOAD: usize = 4;

/// Tables and charts of what probes measured.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "responsiveness");
    for one in data.measurements.iter().take(MOST_TABLES) {
        blocks.push(Block::Table(table(one, &data.label(one))));
    }
    let more = data.measurements.len().saturating_sub(MOST_TABLES);
    if more > 0 {
        blocks.push(format!("And {more} more, which are in the chart above.").into());
    }
    super::section("responsiveness", "Responsiveness", blocks)
}

fn table(one: &Measurement, label: &str) -> Table {
    let probe = if label.is_empty() { &one.label } else { label };
    let rows = one.matrix.rows.iter();
    let ratios = rows.filter_map(|row| Some((row.load.as_str(), row.ratio?)));
    let caption = format!(
        "{probe}: delays from the intended start; stalled: more than {STALL_FACTOR} times the \
         median without load. {}",
        claims(ratios).join(" ")
    );
    matrix_table(&one.matrix, caption)
}

/// Why slow responses were slow, and the slowest of them.
pub(super) fn delays(data: &Data<'_>) -> Option<Section> {
    let mut blocks = charts_of(data, "delays");
    let mut worst: Vec<(String, &WorstSample)> = Vec::new();
    for one in &data.measurements {
        let label = data.label(one);
        for load in one.matrix.why_slow.iter().filter(|load| load.has_sources()) {
            let place = panel(&load.load, &label);
            let slowest = load.worst.iter().take(MOST_WORST_OF_LOAD);
            worst.extend(slowest.map(|sample| (place.clone(), sample)));
        }
    }
    worst.sort_by_key(|(_, sample)| std::cmp::Reverse(sample.explained.delay_ns));
    worst.truncate(MOST_WORST);
    if !worst.is_empty() && !blocks.is_empty() {
        let items = worst.iter().map(|(place, sample)| worst_item(place, sample));
        blocks.push("The slowest responses:".into());
        blocks.push(Block::List(items.collect()));
    }
    super::section("delays", "Why slow responses were slow", blocks)
}
