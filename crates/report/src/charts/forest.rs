//! The forest plot of a responsiveness matrix: the ratio of each load to none, with its interval.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::encoding::{by_colour, rounded, tip};
use super::{Data, Kind, matrix};
use crate::comparison::usable;
use crate::page::Measurement;
use analysis::responsiveness::Row;
use render::{Cell, Chart, Table, format};

pub(super) const KIND: Kind =
    Kind { name: "ratios", section: "responsiveness", title: "Times the time without load", make };

/// A row of a forest plot.
pub(super) struct Line {
    /// What it is called.
    pub(super) label: String,
    /// Its verdict.
    pub(super) verdict: &'static str,
    /// Estimate, low and high end; without an interval that says something, the estimate alone.
    pub(super) ratio: (f64, Option<(f64, f64)>),
    /// Further words on it.
    pub(super) more: String,
}

impl Line {
    /// The ends of what is drawn.
    fn ends(&self) -> (f64, f64) {
        self.ratio.1.unwrap_or((self.ratio.0, self.ratio.0))
    }
}

/// From the lowest to the highest end that is a ratio, with 1 among them.
fn span(lines: &[Line]) -> (f64, f64) {
    let ends = lines.iter().flat_map(|line| [line.ratio.0, line.ends().0, line.ends().1]);
    let finite = ends.filter(|end| end.is_finite() && *end > 0.0);
    finite.fold((0.9, 1.1), |(low, high): (f64, f64), end| (low.min(end), high.max(end)))
}

/// The specification of a forest plot but its data, with the colours of the verdicts that there
/// are; `band` is where ratios do not matter.
pub(super) fn body(lines: &[Line], verdicts: &[(&str, &str)], band: Option<f64>) -> Value {
    let is_present = |(word, _): &(&str, &str)| lines.iter().any(|line| line.verdict == *word);
    let verdicts: Vec<(&str, &str)> = verdicts.iter().copied().filter(is_present).collect();
    let order: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
    let (low, high) = span(lines);
    let x = json!({
        "field": "ratio", "type": "quantitative", "title": "ratio (logarithmic)",
        "scale": { "type": "log", "nice": false, "domain": [rounded(low / 1.05), rounded(high * (high / low).powf(0.3))] },
        "axis": { "values": ticks(low, high), "format": "~g" },
    });
    let margin = band.map(|margin| {
        json!({
            "data": { "values": [{ "low": rounded(1.0 / (1.0 + margin)), "high": 1.0 + margin }] },
            "mark": { "type": "rect", "opacity": 0.13, "color": "#888888", "aria": false },
            "encoding": { "x": { "field": "low", "type": "quantitative" }, "x2": { "field": "high" } },
        })
    });
    let one = json!({
        "data": { "values": [{ "one": 1 }] },
        "mark": { "type": "rule", "strokeDash": [4, 3], "color": "#888888", "aria": false },
        "encoding": { "x": { "field": "one", "type": "quantitative" } },
    });
    let y = json!({ "field": "label", "type": "nominal", "sort": order, "title": null,
                    "axis": { "labelLimit": 320 } });
    let colour = by_colour("verdict", &verdicts);
    let tip = tip();
    let interval = json!({
        "mark": { "type": "rule", "strokeWidth": 3, "aria": false },
        "encoding": { "x": { "field": "low", "type": "quantitative" }, "x2": { "field": "high" },
                      "y": y, "color": colour },
    });
    let point = json!({
        "mark": { "type": "point", "filled": true, "size": 90, "opacity": 1 },
        "encoding": { "x": x, "y": y, "color": colour, "description": tip, "tooltip": tip,
                      "shape": { "field": "verdict", "type": "nominal", "title": null,
                                 "scale": shapes(&verdicts), "legend": { "orient": "bottom" } } },
    });
    let text = json!({
        "mark": { "type": "text", "align": "left", "dx": 7, "aria": false },
        "encoding": { "x": { "field": "high", "type": "quantitative" }, "y": y,
                      "text": { "field": "text", "type": "nominal" } },
    });
    let layers: Vec<Value> = margin.into_iter().chain([one, interval, point, text]).collect();
    json!({ "width": "container", "height": { "step": 24 }, "layer": layers })
}

/// One shape a verdict, so that none is told by its colour alone.
fn shapes(verdicts: &[(&str, &str)]) -> Value {
    let domain: Vec<&str> = verdicts.iter().map(|(word, _)| *word).collect();
    let shapes = ["diamond", "triangle-right", "triangle-up", "triangle-down", "circle", "square"];
    let range: Vec<&str> = shapes.iter().cycle().take(domain.len()).copied().collect();
    json!({ "domain": domain, "range": range })
}

fn ticks(low: f64, high: f64) -> Vec<f64> {
    if high / low > 3.0 {
        return super::duration::ticks([low, high].into_iter());
    }
    let candidates = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0];
    candidates.into_iter().filter(|tick| (low / 1.05..=high * 1.25).contains(tick)).collect()
}

/// The data of the lines. An interval without an end is drawn as far as any.
pub(super) fn values(lines: &[Line]) -> Vec<Value> {
    let (least, most) = span(lines);
    lines.iter().map(|line| value(line, least, most)).collect()
}

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

/// The table of lines.
pub(super) fn table(lines: &[Line]) -> Table {
    let mut table = Table::new("", ["what", "ratio", "interval", "verdict"]);
    for line in lines {
        let (ratio, interval) = line.ratio;
        let figures = [Cell::ratio(ratio), Cell::interval(interval)];
        let label = [Cell::from(&line.label)];
        table.row(label.into_iter().chain(figures).chain([Cell::from(line.verdict)]));
    }
    table
}

fn make(data: &Data<'_>) -> Vec<Chart> {
    let mut lines: Vec<(usize, Line)> = Vec::new();
    for one in &data.measurements {
        lines.extend(of_measurement(one, &data.label(one)));
    }
    // Load by load, so that what is to be compared stands together.
    lines.sort_by_key(|(load, _)| *load);
    let lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let all = data.measurements.iter().flat_map(|one| &one.matrix.rows);
    let over: BTreeSet<String> = all.filter_map(|row| Some(row.ratio?.over())).collect();
    let reading = format!(
        "Ratio of the delays under each load to those without, with its 95 % interval {}; the \
         dashed line is no difference.",
        over.into_iter().collect::<Vec<_>>().join(" or ")
    );
    let values = values(&lines);
    vec![KIND.chart(reading, values, body(&lines, &matrix::VERDICTS, None), table(&lines))]
}

/// The lines of one measurement, each with the number of its load.
fn of_measurement(one: &Measurement, label: &str) -> Vec<(usize, Line)> {
    let reference_ns = one.reference_ns();
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
