//! The responsiveness matrix: loads × measurements, coloured by verdict.

use serde_json::{Value, json};

use super::Data;
use crate::page::Measurement;
use analysis::distinct;
use analysis::responsiveness::{Feeling, Ratio, Row};
use render::format::{observed, times};
use render::{Cell, Table, Tone};

/// A verdict and its tone; its colour in `shared.json` is safe for colour-blind readers.
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

/// The matrix of several measurements; of one, the table suffices.
pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    if data.measurements.len() < 2 {
        return Vec::new();
    }
    let columns: Vec<String> = data.measurements.iter().map(|one| data.label(one)).collect();
    let rows = data.measurements.iter().flat_map(|one| &one.matrix.rows);
    let loads: Vec<&str> = distinct(rows.map(|row| row.load.as_str()));
    let tiles = data.measurements.iter().zip(&columns);
    let values =
        tiles.flat_map(|(one, column)| one.matrix.rows.iter().map(|row| tile(one, row, column)));
    let values: Value = values.collect();
    let parts = json!({ "values": values, "columns": columns, "loads": loads });
    vec![(parts, table(data, &columns, &loads))]
}

fn tile(one: &Measurement, row: &Row, column: &str) -> Value {
    let [median, ..] = row.quantiles_ns();
    let median = median.map_or_else(|| "-".to_owned(), |median| observed(&median));
    let text = row.ratio.as_ref().map_or_else(|| median.clone(), ratio_text);
    let (word, _) = verdict(row, one.matrix.reference_ns());
    json!({
        "load": row.load, "column": column, "verdict": word,
        "text": format!("{text} {word}"),
        "tip": format!("{}, {column}: {}; median {median}", row.load, row.reading),
    })
}

fn table(data: &Data<'_>, columns: &[String], loads: &[&str]) -> Table {
    let rows = loads.iter().map(|load| {
        let cell = |one: &Measurement| {
            let Some(row) = one.matrix.rows.iter().find(|row| row.load == *load) else {
                return Cell::Text("not measured".to_owned(), Tone::Unknown);
            };
            let (word, tone) = verdict(row, one.matrix.reference_ns());
            let ratio = row.ratio.map_or_else(String::new, |ratio| ratio_text(&ratio) + " ");
            Cell::Text(format!("{ratio}{word}"), tone)
        };
        [Cell::from(*load)].into_iter().chain(data.measurements.iter().map(cell))
    });
    Table::of("", ["load"].into_iter().chain(columns.iter().map(String::as_str)), rows)
}

/// A ratio with the mark of its bounds: `≥ ×6.73`.
fn ratio_text(ratio: &Ratio) -> String {
    format!("{}{}", ratio.mark(), times(ratio.ratio))
}
