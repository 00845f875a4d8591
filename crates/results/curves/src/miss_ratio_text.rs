//! Miss-ratio curves and working sets of a trace.

use analysis::sweep::{Curve, Point, SweepResult};
use mmu::curve::{CurvePoint, MissRatioCurve, Profiled, UnitCurves, Window, WorkingSets};
use model::units::{exact_size, format_size};
use render::format::{self, counted, number};
use render::{Block, Cell, Document, Table};

use crate::sweep_text::{Amounts, chart, knee_sentence};

/// Sizes of translation caches, and larger powers of two.
const ENTRIES: [u64; 19] = [
    16, 32, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 16_384, 32_768, 65_536,
    262_144, 1_048_576, 4_194_304,
];
const WAYS: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];
/// Smaller units are called lines.
const PAGE_BYTES: u64 = 4096;
const BARS: usize = 24;
const BAR: u64 = 40;

/// The curves of the trace `name` by unit; `least_rise` is the minimum rise of a knee, as a factor.
pub fn miss_ratio_document(
    name: &str,
    profiled: &Profiled,
    knees: &[(Curve, SweepResult)],
    least_rise: f64,
    notes: &[String],
) -> Document<'static> {
    let Profiled { process, left_out, references, .. } = profiled;
    let of =
        process.map(|process| format!(" of process {process} ({left_out} of others left out)"));
    let references = format!("{references}{}", of.unwrap_or_default());
    let facts = [("trace", name.to_owned()), ("references", references)];
    let mut document = Document::default().with_facts(facts);
    for (unit, (curve, found)) in profiled.units.iter().zip(knees) {
        document.push(table(unit));
        document.push(Block::Notes(about(unit)));
        document.blocks.extend(chart(found, &Amounts::new(curve)));
        document.push(knee_sentence(curve, found, least_rise));
        if !unit.sets.is_empty() {
            document.push(sets(unit));
        }
        if let Some(working_set) = &unit.working_set {
            document.push(means(unit, working_set));
            document.push(windows(unit, working_set));
        }
    }
    document.push(Block::Notes(notes.iter().map(|note| format!("Note: {note}")).collect()));
    document
}

fn about(unit: &UnitCurves) -> Vec<String> {
    let curve = &unit.curve;
    let about = if curve.sample.is_some() { "about " } else { "" };
    let share = 100.0 * curve.cold_misses as f64 / curve.references.max(1) as f64;
    let mut lines = vec![format!(
        "{about}{} distinct ({}); their first references are {} % of all",
        curve.cold_misses,
        format_size(curve.cold_misses.saturating_mul(unit.unit_bytes)),
        number(share),
    )];
    lines.extend(curve.sample.as_ref().map(|it| {
        format!(
            "sampled: {} % of them, {} with {} references; {} intervals; sizes below {} entries \
             have no estimate",
            number(100.0 * it.rate),
            it.units,
            it.references,
            format::percent(it.confidence),
            it.smallest_entries
        )
    }));
    lines
}

fn unit_name(unit: &UnitCurves) -> String {
    let kind = if unit.unit_bytes < PAGE_BYTES { "lines" } else { "pages" };
    format!("{kind} of {}", exact_size(unit.unit_bytes))
}

/// Usual sizes, and the smallest without capacity misses.
fn table(unit: &UnitCurves) -> Block {
    let MissRatioCurve { points, sample, cold_misses, .. } = &unit.curve;
    let caption = format!("LRU cache of {}", unit_name(unit));
    let last = points.iter().find(|point| point.entries >= *cold_misses).or(points.last());
    let Some(last) = last else { return format!("{caption}: no size has an estimate").into() };
    let interval = sample.is_some().then_some("interval");
    let head = ["entries", "reach", "misses", "miss ratio"].into_iter().chain(interval);
    let named = points.iter().filter(|point| ENTRIES.contains(&point.entries));
    let smaller = named.filter(|point| point.entries < last.entries);
    let rows = smaller.chain([last]).map(|point: &CurvePoint| {
        let interval = point.low.zip(point.high);
        let interval =
            interval.map(|(low, high)| Cell::figure(format::interval(low, high, number)));
        let reach = Cell::Size(point.entries.saturating_mul(unit.unit_bytes));
        let cells = [point.entries.into(), reach, point.misses.into(), figure(point.miss_ratio)];
        cells.into_iter().chain(interval)
    });
    Table::of(caption, head, rows).into()
}

fn figure(value: f64) -> Cell {
    Cell::figure(number(value))
}

fn sets(unit: &UnitCurves) -> Table {
    let most = unit.sets.iter().map(|curve| curve.misses.len()).max().unwrap_or(0);
    let ways = || WAYS.into_iter().filter(|ways| *ways <= most);
    let references = unit.curve.references.max(1) as f64;
    let rows = unit.sets.iter().map(|curve| {
        let ratios = ways().map(|ways| {
            curve.misses.get(ways - 1).map(|misses| figure(*misses as f64 / references)).into()
        });
        [Cell::Count(curve.sets)].into_iter().chain(ratios)
    });
    let head = ["sets".to_owned()].into_iter().chain(ways().map(|ways| counted(ways, "way")));
    let unit = unit_name(unit);
    let caption = format!("Miss ratio of sets of {unit}, LRU in each set (all references counted)");
    Table::of(caption, head, rows)
}

fn means(unit: &UnitCurves, working_set: &WorkingSets) -> Table {
    let powers = working_set.means.iter().filter(|mean| {
        mean.window.is_power_of_two() && mean.window.trailing_zeros().is_multiple_of(2)
    });
    let rows = powers.map(|mean| {
        let size_bytes = (mean.units * unit.unit_bytes as f64).round() as u64;
        [mean.window.into(), figure(mean.units), Cell::Size(size_bytes)]
    });
    Table::of("Mean working set by window", ["window", "mean units", "size"], rows)
}

fn windows(unit: &UnitCurves, working_set: &WorkingSets) -> Table {
    let windows = &working_set.windows;
    let each = windows.len().div_ceil(BARS).max(1);
    let references = windows.first().map_or(0, |window| window.references);
    let mut caption = format!("Distinct {} in windows of {references} references", unit_name(unit));
    if each > 1 {
        caption += &format!("; the largest of {each} windows in each line");
    }
    let largest = windows.iter().map(|window| window.units).max().unwrap_or(0).max(1);
    let rows = windows.chunks(each).map(|group| {
        let most = |of: fn(&Window) -> u64| group.iter().map(of).max().unwrap_or(0);
        let units = most(|window| window.units);
        [
            Cell::Count(group[0].first),
            Cell::Count(units),
            Cell::Size(units.saturating_mul(unit.unit_bytes)),
            Cell::Count(group.iter().map(|window| window.new_units).sum()),
            Cell::Count(most(|window| window.regions)),
            Cell::from("█".repeat((units * BAR).div_ceil(largest) as usize)),
        ]
    });
    Table::of(caption, ["from", "units", "size", "new", "2M regions", ""], rows)
}

/// All points of all curves as CSV with a heading.
pub fn miss_ratio_csv(profiled: &Profiled) -> String {
    let head = "unit_bytes,entries,reach_bytes,references,misses,miss_ratio,low,high\n";
    let mut text = head.to_owned();
    for UnitCurves { unit_bytes, curve, .. } in &profiled.units {
        let references = curve.references;
        for CurvePoint { entries, misses, miss_ratio, low, high, .. } in &curve.points {
            let reach_bytes = entries.saturating_mul(*unit_bytes);
            let [low, high] = [low, high].map(|end| end.map_or(String::new(), |it| it.to_string()));
            text += &format!("{unit_bytes},{entries},{reach_bytes},{references},{misses},");
            text += &format!("{miss_ratio},{low},{high}\n");
        }
    }
    text
}

/// A curve as that of a sweep: the miss ratio is what a reference costs, entries are the levels.
pub fn over_entries(name: &str, unit: &UnitCurves) -> Curve {
    let with_misses = unit.curve.points.iter().filter(|point| point.miss_ratio > 0.0);
    let point = |point: &CurvePoint| Point {
        level: point.entries as f64,
        cost: Some(point.miss_ratio),
        ..Point::default()
    };
    Curve {
        name: name.to_owned(),
        parameter: format!("entries of {}", exact_size(unit.unit_bytes)),
        response: "misses per reference".to_owned(),
        points: with_misses.map(point).collect(),
        deterministic: true,
        ..Curve::default()
    }
}

#[cfg(test)]
mod tests;
