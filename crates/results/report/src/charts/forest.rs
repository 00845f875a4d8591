//! The forest plot of a responsiveness matrix: the ratio of each load to no load, with intervals.

use itertools::Itertools;
use serde_json::{Value, json};

use super::{Data, matrix};
use crate::comparison::usable;
use crate::page::Measurement;
use analysis::responsiveness::Row;
use render::charts::{self, rounded};
use render::{Cell, Table, format};

/// Lines of long plots; the table has the others.
pub(super) const MOST: usize = 60;

pub(super) struct Line {
    pub(super) label: String,
    pub(super) verdict: &'static str,
    /// Estimate, and its interval unless too wide to be useful.
    pub(super) ratio: (f64, Option<(f64, f64)>),
    pub(super) more: String,
}

impl Line {
    fn ends(&self) -> (f64, f64) {
        self.ratio.1.unwrap_or((self.ratio.0, self.ratio.0))
    }
}

fn span(lines: &[Line]) -> (f64, f64) {
    let ends = lines.iter().flat_map(|line| [line.ratio.0, line.ends().0, line.ends().1]);
    let finite = ends.filter(|end| end.is_finite() && *end > 0.0);
    finite.fold((0.9, 1.1), |(low, high): (f64, f64), end| (low.min(end), high.max(end)))
}

/// A forest plot of these lines; `parts` fills the rest of its template.
pub(super) fn filling(lines: &[Line], most: usize, mut parts: Value) -> Vec<(Value, Table)> {
    let drawn = &lines[..lines.len().min(most)];
    let (low, high) = span(drawn);
    parts["values"] = drawn.iter().map(|line| value(line, low, high)).collect();
    parts["order"] = drawn.iter().map(|line| line.label.as_str()).collect();
    parts["domain"] = json!([rounded(low / 1.05), rounded(high * (high / low).powf(0.3))]);
    parts["ticks"] = json!(ticks(low, high));
    let mut table = Table::new("", ["what", "ratio", "interval", "verdict"]);
    for Line { label, ratio: (ratio, interval), verdict, .. } in lines {
        let figures = [Cell::ratio(*ratio), Cell::Interval(*interval)];
        table.row([Cell::from(label)].into_iter().chain(figures).chain([(*verdict).into()]));
    }
    vec![(parts, table)]
}

fn ticks(low: f64, high: f64) -> Vec<f64> {
    if high / low > 3.0 {
        return charts::ticks(&[low, high]);
    }
    let candidates = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0];
    candidates.into_iter().filter(|tick| (low / 1.05..=high * 1.25).contains(tick)).collect()
}

/// The values of a line; intervals are clipped to the range of all.
fn value(line: &Line, least: f64, most: f64) -> Value {
    let ratio = line.ratio.0;
    let drawn = |ratio: f64| rounded(ratio.clamp(least, most));
    let text = format!("{} {}", format::times(ratio), format::ratio_interval(line.ratio.1));
    json!({
        "label": line.label,
        "verdict": line.verdict,
        "ratio": drawn(ratio), "low": drawn(line.ends().0), "high": drawn(line.ends().1),
        "text": text,
        "tip": format!("{}: {text}, {}{}", line.label, line.verdict, line.more),
    })
}

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let lines = data.measurements.iter();
    let lines = lines.flat_map(|one| of_measurement(one, &data.label(one)));
    // Keeps the lines of a load together.
    let lines = lines.sorted_by_key(|(load, _)| *load).map(|(_, line)| line).collect_vec();
    let all = data.measurements.iter().flat_map(|one| &one.matrix.rows);
    let over = all.filter_map(|row| Some(row.ratio?.over())).sorted().dedup().join(" or ");
    filling(&lines, usize::MAX, json!({ "over": over }))
}

/// The lines of one measurement, with the indices of their loads.
fn of_measurement(one: &Measurement, label: &str) -> Vec<(usize, Line)> {
    let reference_ns = one.matrix.reference_ns();
    let line = |(load, row): (usize, &Row)| {
        let ratio = row.ratio?;
        let (verdict, _) = matrix::verdict(row, reference_ns);
        let label = super::strips::panel(&row.load, label);
        let more = format!(" ({:.1} % interval {})", 100.0 * ratio.confidence, ratio.over());
        let ratio = (ratio.ratio, usable(ratio.low, ratio.high));
        Some((load, Line { label, verdict, ratio, more }))
    };
    one.matrix.rows.iter().enumerate().filter_map(line).collect()
}
