//! The ratio of two levels with its interval at each look, as blocks were added.

use analysis::OUTCOME;
use render::{Cell, Table, format};
use serde_json::{Value, json};

use super::Data;
use render::charts::rounded;

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
    let looks = &data.material.looks;
    let Some(last) = looks.last() else { return Vec::new() };
    let (mut values, mut bounds) = (Vec::new(), vec![1.0]);
    let mut table = Table::new("", ["blocks", "ratio", "interval", "confidence"]);
    for look in looks {
        let cell = look.comparison.cells.iter().find(|cell| cell.response != OUTCOME);
        let Some(ratio) = cell.and_then(|cell| cell.ratio()) else { continue };
        let interval = cell.and_then(|cell| cell.judged());
        let interval = interval
            .map(|found| (found.adjusted_low, found.adjusted_high))
            .filter(|(low, high)| !stats::says_nothing(*low, *high));
        let text = interval.map(|(low, high)| format::interval(low, high, format::ratio));
        let shown = text.as_ref().map_or_else(String::new, |text| format!(" {text}"));
        bounds.push(ratio);
        bounds.extend(interval.iter().flat_map(|(low, high)| [*low, *high]));
        values.push(json!({
            "blocks": look.blocks, "ratio": rounded(ratio),
            "low": interval.map(|(low, _)| rounded(low)),
            "high": interval.map(|(_, high)| rounded(high)),
            "tip": format!("after {} blocks: {}{shown}", look.blocks, format::ratio(ratio)),
        }));
        table.row([
            Cell::from(look.blocks as usize),
            Cell::ratio(ratio),
            text.map(Cell::Figure).into(),
            Cell::Share(1.0 - look.level),
        ]);
    }
    if values.is_empty() {
        return Vec::new();
    }
    let margin = last.comparison.margin;
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    bounds.extend([low, high]);
    let least = bounds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = bounds.iter().copied().fold(0.0, f64::max);
    let names = last.comparison.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>();
    let parts = json!({
        "values": values, "margin": { "low": low, "high": high },
        "domain": [rounded(least / 1.01), rounded(most * 1.01)],
        "first": names.first(), "second": names.last(), "planned": last.looks.to_string(),
        "last": [{ "blocks": last.blocks }],
    });
    vec![(parts, table)]
}
