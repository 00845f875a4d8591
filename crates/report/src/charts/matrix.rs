//! The responsiveness matrix: load × what was measured, coloured by verdict.

use serde_json::{Value, json};

use super::encoding::{by_colour, tip};
use super::{Data, Kind};
use crate::page::Measurement;
use analysis::responsiveness::{Feeling, Ratio, Row};
use render::format::{observed, times};
use render::{Cell, Chart, Table, Tone, distinct};

pub(super) const KIND: Kind =
    Kind { name: "matrix", section: "responsiveness", title: "Responsiveness, load by load", make };

/// Verdicts and their colours, which people who confuse red and green can tell apart; each tile
/// says its verdict in words too.
pub(super) const VERDICTS: [(&str, &str); 9] = [
    ("slow", "#d55e00"),
    ("uneven", "#e69f00"),
    ("slower", "#f0c04c"),
    ("a little slower", "#f5dfa3"),
    ("as without load", "#7cc7b0"),
    ("faster", "#6db3e0"),
    ("cannot tell", "#d3c9dd"),
    ("reference", "#b8b8b8"),
    ("not measured", "#dddddd"),
];

/// A verdict in a word or two, and what it means.
pub(crate) fn verdict(row: &Row, reference_ns: Option<f64>) -> (&'static str, Tone) {
    match Feeling::new(row, reference_ns) {
        Feeling::NotMeasured | Feeling::NoReference => ("not measured", Tone::Unknown),
        Feeling::Reference => ("reference", Tone::Plain),
        Feeling::Slow => ("slow", Tone::Bad),
        Feeling::Uneven => ("uneven", Tone::Doubtful),
        Feeling::Slower => ("slower", Tone::Doubtful),
        Feeling::LittleSlower => ("a little slower", Tone::Plain),
        Feeling::LittleFaster => ("faster", Tone::Better),
        Feeling::Unsure => ("cannot tell", Tone::Unknown),
        Feeling::Same => ("as without load", Tone::Good),
    }
}

/// Only of several measurements: one alone is told by its table.
fn make(data: &Data<'_>) -> Vec<Chart> {
    if data.measurements.len() < 2 {
        return Vec::new();
    }
    let present: Vec<(&str, &str)> = VERDICTS
        .into_iter()
        .filter(|(word, _)| {
            let mut rows = data.measurements.iter().flat_map(|one| {
                one.matrix.rows.iter().map(|row| verdict(row, one.reference_ns()).0)
            });
            rows.any(|other| other == *word)
        })
        .collect();
    let columns: Vec<String> = data.measurements.iter().map(|one| data.label(one)).collect();
    let rows = data.measurements.iter().flat_map(|one| &one.matrix.rows);
    let loads: Vec<&str> = distinct(rows.map(|row| row.load.as_str()));
    let tiles = data.measurements.iter().zip(&columns);
    let values =
        tiles.flat_map(|(one, column)| one.matrix.rows.iter().map(|row| tile(one, row, column)));
    let text = json!({
        "mark": { "type": "text", "fontWeight": "bold", "color": "#111111" },
        "encoding": { "text": { "field": "text", "type": "nominal" } },
    });
    let body = json!({
        "width": { "step": 170 },
        "height": { "step": 26 },
        "encoding": {
            "x": { "field": "column", "type": "nominal", "sort": columns, "title": null,
                   "scale": { "paddingInner": 0.03 }, "axis": { "orient": "top", "labelAngle": 0, "labelLimit": 145 } },
            "y": { "field": "load", "type": "nominal", "sort": loads, "title": null,
                   "scale": { "paddingInner": 0.1 } },
            "tooltip": tip(),
        },
        "layer": [{
            "mark": { "type": "rect", "cornerRadius": 3 },
            "encoding": {
                "color": by_colour("verdict", &present),
                "description": tip(),
            },
        }, text],
    });
    let reading = "Ratio to the time without load, coloured by what it feels like.".to_owned();
    vec![KIND.chart(reading, values.collect(), body, table(data, &columns, &loads))]
}

fn tile(one: &Measurement, row: &Row, column: &str) -> Value {
    let [median, ..] = row.quantiles_ns();
    let median = median.map_or_else(|| "-".to_owned(), |median| observed(&median));
    let text = match row.ratio {
        Some(ratio) => ratio_text(&ratio),
        None => median.clone(),
    };
    let (word, _) = verdict(row, one.reference_ns());
    json!({
        "load": row.load,
        "column": column,
        "verdict": word,
        "text": format!("{text} {word}"),
        "tip": format!("{}, {column}: {}; median {median}", row.load, row.reading),
    })
}

fn table(data: &Data<'_>, columns: &[String], loads: &[&str]) -> Table {
    let mut table = Table::new("", ["load"]);
    table.head.extend(columns.iter().cloned());
    for load in loads {
        let cell = |one: &Measurement| {
            let row = one.matrix.rows.iter().find(|row| row.load == *load);
            row.map_or_else(
                || Cell::from("not measured").toned(Tone::Unknown),
                |row| {
                    let (word, tone) = verdict(row, one.reference_ns());
                    let ratio =
                        row.ratio.map_or_else(String::new, |ratio| ratio_text(&ratio) + " ");
                    Cell::from(format!("{ratio}{word}")).toned(tone)
                },
            )
        };
        let cells = std::iter::once(Cell::from(*load)).chain(data.measurements.iter().map(cell));
        table.rows.push(cells.collect());
    }
    table
}

/// A ratio with the mark of its bounds: `≥ ×6.73`.
fn ratio_text(ratio: &Ratio) -> String {
    format!("{}{}", ratio.mark(), times(ratio.ratio))
}
