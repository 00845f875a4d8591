//! Miss-ratio curves and working sets of a trace.

mod over_time;
mod sets;

use analysis::sweep::{Curve, Found};
use mmu::curve::{CurvePoint, MissRatioCurve, Profiled, UnitCurves};
use model::units::{exact_size, format_size};
use render::{Block, Cell, Document, Table, format};

use crate::sweep_text::chart_and_knee;

/// Sizes that translation caches have, and powers of two beyond.
const ENTRIES: [u64; 19] = [
    16, 32, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 16_384, 32_768, 65_536,
    262_144, 1_048_576, 4_194_304,
];
/// Units below this are lines.
const PAGE_BYTES: u64 = 4096;

/// Everything that is told.
#[derive(Clone, Debug)]
pub struct MissRatioView<'a> {
    /// Name of the trace.
    pub name: &'a str,
    /// Its curves.
    pub profiled: &'a Profiled,
    /// The curves' knees, in the order of the units: miss ratio over entries.
    pub knees: &'a [(Curve, Found)],
    /// Factor of the miss ratio that counted as leaving the plateau.
    pub least_rise: f64,
    /// What a reader must know.
    pub notes: &'a [String],
}

/// The curves with their knees, sets and working sets.
#[must_use]
pub fn miss_ratio_document(view: &MissRatioView<'_>) -> Document<'static> {
    let profiled = view.profiled;
    let of = profiled
        .process
        .map(|process| format!(" of process {process} ({} of others left out)", profiled.left_out));
    let references = format!("{}{}", profiled.references, of.unwrap_or_default());
    let facts = [("trace", view.name.to_owned()), ("references", references)];
    let facts = facts.map(|(name, value)| (name.to_owned(), value)).into();
    let mut document = Document { facts, ..Document::default() };
    for (unit, (curve, found)) in profiled.units.iter().zip(view.knees) {
        document.push(table(unit));
        document.push(Block::Notes(about(unit)));
        let (chart, knee) = chart_and_knee(curve, found, view.least_rise);
        document.push(Block::Verbatim(chart));
        document.push(Block::Sentence(knee.trim_end().to_owned()));
        if !unit.sets.is_empty() {
            document.push(sets::table(unit));
        }
        if let Some(working_set) = &unit.working_set {
            document.push(over_time::means(unit, working_set));
            document.push(over_time::windows(unit, working_set));
        }
    }
    let notes = view.notes.iter().map(|note| format!("Note: {note}"));
    document.push(Block::Notes(notes.collect()));
    document
}

/// How many units there are, and what is known of a sample.
fn about(unit: &UnitCurves) -> Vec<String> {
    let curve = &unit.curve;
    let about = if curve.sample.is_some() { "about " } else { "" };
    let share = 100.0 * curve.cold_misses as f64 / curve.references.max(1) as f64;
    let mut lines = vec![format!(
        "{about}{} distinct ({}); their first references are {} % of all",
        curve.cold_misses,
        format_size(curve.cold_misses.saturating_mul(unit.unit_bytes)),
        format::number(share),
    )];
    lines.extend(curve.sample.as_ref().map(|sample| {
        format!(
            "sampled: {} % of them, {} with {} references; {} intervals; sizes below {} entries \
             have no estimate",
            format::number(100.0 * sample.rate),
            sample.units,
            sample.references,
            format::percent(sample.confidence),
            sample.smallest_entries,
        )
    }));
    lines
}

/// `pages of 4K`, `lines of 64B`.
fn unit_name(unit: &UnitCurves) -> String {
    let kind = if unit.unit_bytes < PAGE_BYTES { "lines" } else { "pages" };
    format!("{kind} of {}", exact_size(unit.unit_bytes))
}

/// Sizes that there are, and the first that holds everything.
fn table(unit: &UnitCurves) -> Block {
    let MissRatioCurve { points, sample, cold_misses, .. } = &unit.curve;
    let caption = format!("LRU cache of {}", unit_name(unit));
    let last = points.iter().find(|point| point.entries >= *cold_misses).or(points.last());
    let Some(last) = last else {
        return Block::Sentence(format!("{caption}: no size has an estimate"));
    };
    let interval = sample.is_some().then_some("interval");
    let head = ["entries", "reach", "misses", "miss ratio"].into_iter().chain(interval);
    let mut table = Table::new(caption, head);
    let named = points.iter().filter(|point| ENTRIES.contains(&point.entries));
    let smaller = named.filter(|point| point.entries < last.entries);
    for point in smaller.chain([last]) {
        table.row(row(point, unit.unit_bytes));
    }
    table.into()
}

fn row(point: &CurvePoint, unit_bytes: u64) -> Vec<Cell> {
    let mut row = vec![
        point.entries.into(),
        Cell::size(point.entries.saturating_mul(unit_bytes)),
        point.misses.into(),
        figure(point.miss_ratio),
    ];
    let interval = point.low.zip(point.high);
    row.extend(
        interval.map(|(low, high)| Cell::figure(format::interval(low, high, format::number))),
    );
    row
}

/// A number with four digits that count.
fn figure(value: f64) -> Cell {
    Cell::figure(format::number(value))
}

/// All points of all curves as CSV, with a heading.
#[must_use]
pub fn miss_ratio_csv(profiled: &Profiled) -> String {
    let mut text =
        "unit_bytes,entries,reach_bytes,references,misses,miss_ratio,low,high\n".to_owned();
    for unit in &profiled.units {
        let curve = &unit.curve;
        for point in &curve.points {
            let end = |end: Option<f64>| end.map_or_else(String::new, |end| end.to_string());
            text += &format!(
                "{},{},{},{},{},{},{},{}\n",
                unit.unit_bytes,
                point.entries,
                point.entries.saturating_mul(unit.unit_bytes),
                curve.references,
                point.misses,
                point.miss_ratio,
                end(point.low),
                end(point.high),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests;
