//! Miss-ratio curves and working sets of a trace as text.

mod over_time;
mod sets;

use analysis::sweep::{Curve, Found};
use mmu::curve::{CurvePoint, MissRatioCurve, Profiled, UnitCurves};
use model::units::{exact_size, format_size};

use crate::columns::to_the_right;
use crate::sweep_text::chart_and_knee;

/// Sizes that translation caches have, and powers of two beyond.
const ENTRIES: [u64; 19] = [
    16,
    32,
    64,
    96,
    128,
    256,
    512,
    1024,
    1536,
    2048,
    3072,
    4096,
    8192,
    1 << 14,
    1 << 15,
    1 << 16,
    1 << 18,
    1 << 20,
    1 << 22,
];
/// Units below this are lines.
const PAGE_BYTES: u64 = 4096;

/// Everything that the text tells.
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

/// The whole result. Ends in a newline.
#[must_use]
pub fn miss_ratio_text(view: &MissRatioView<'_>) -> String {
    let profiled = view.profiled;
    let of = match profiled.process {
        Some(process) => {
            format!(" of process {process} ({} of others left out)", profiled.left_out)
        }
        None => String::new(),
    };
    let mut text = format!("{}: {} references{of}\n", view.name, profiled.references);
    for (unit, (curve, found)) in profiled.units.iter().zip(view.knees) {
        text += &format!("\n{}\n{}", heading(unit), table(unit));
        let (chart, knee) = chart_and_knee(curve, found, view.least_rise);
        if !chart.is_empty() {
            text += &format!("\n{chart}");
        }
        text += &format!("\n{knee}");
        if !unit.sets.is_empty() {
            text += &format!("\n{}", sets::text(unit));
        }
        if let Some(working_set) = &unit.working_set {
            text += &format!("\n{}", over_time::text(unit, working_set));
        }
    }
    for note in view.notes {
        text += &format!("Note: {note}\n");
    }
    text
}

/// `Pages of 4K: 1700 of them (6.64M); first references are 0.00283 % of all.`
fn heading(unit: &UnitCurves) -> String {
    let curve = &unit.curve;
    let name = unit_name(unit);
    let about = if curve.sample.is_some() { "about " } else { "" };
    let share = 100.0 * curve.cold_misses as f64 / curve.references.max(1) as f64;
    let mut text = format!(
        "LRU cache of {name}\n{about}{} distinct ({}); their first references are {} % of all",
        curve.cold_misses,
        format_size(curve.cold_misses.saturating_mul(unit.unit_bytes)),
        significant(share),
    );
    if let Some(sample) = &curve.sample {
        text += &format!(
            "\nsampled: {} % of them, {} with {} references; intervals hold the truth with \
             probability {}; sizes below {} entries have no estimate",
            significant(100.0 * sample.rate),
            sample.units,
            sample.references,
            sample.confidence,
            sample.smallest_entries,
        );
    }
    text + "\n"
}

/// `pages of 4K`, `lines of 64B`.
fn unit_name(unit: &UnitCurves) -> String {
    let kind = if unit.unit_bytes < PAGE_BYTES { "lines" } else { "pages" };
    format!("{kind} of {}", exact_size(unit.unit_bytes))
}

/// Sizes that there are, and the first that holds everything.
fn table(unit: &UnitCurves) -> String {
    let MissRatioCurve { points, sample, cold_misses, .. } = &unit.curve;
    let last = points.iter().find(|point| point.entries >= *cold_misses).or(points.last());
    let Some(last) = last else { return "no size has an estimate\n".to_owned() };
    let mut rows = vec![["entries", "reach", "misses", "miss ratio"].map(str::to_owned).to_vec()];
    if sample.is_some() {
        rows[0].push("interval".to_owned());
    }
    let named = points.iter().filter(|point| ENTRIES.contains(&point.entries));
    let smaller = named.filter(|point| point.entries < last.entries);
    for point in smaller.chain([last]) {
        rows.push(row(point, unit.unit_bytes));
    }
    to_the_right(&rows)
}

fn row(point: &CurvePoint, unit_bytes: u64) -> Vec<String> {
    let mut row = vec![
        point.entries.to_string(),
        format_size(point.entries.saturating_mul(unit_bytes)),
        point.misses.to_string(),
        significant(point.miss_ratio),
    ];
    if let (Some(low), Some(high)) = (point.low, point.high) {
        row.push(format!("[{}, {}]", significant(low), significant(high)));
    }
    row
}

/// Four digits that count.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 12) as usize)
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
