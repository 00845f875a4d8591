//! What two or more results differ in.

use model::units::format_duration;

use super::super::{Block, Cell, Section, Table};
use super::charts_of;
use crate::charts::{Data, cell_label, cell_verdict, ratio_text};
use crate::comparison_text;

/// The verdicts with their charts and all that `thrashlab compare` says.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let comparison = data.material.comparison.as_ref()?;
    let arms: Vec<String> = comparison
        .arms
        .iter()
        .map(|arm| {
            format!(
                "{} ({} {})",
                arm.name,
                arm.trials,
                if arm.trials == 1 { "trial" } else { "trials" }
            )
        })
        .collect();
    let what = match &comparison.factor {
        Some(factor) => format!("Levels of {factor}: {}.", arms.join(", ")),
        None => format!("{}.", arms.join(" against ")),
    };
    let mut table = Table::new(
        "Every cell that was compared",
        &["cell", "reference median", "median", "ratio", "interval", "verdict"],
    );
    for cell in &comparison.cells {
        let unit = &comparison.responses[&cell.response].unit;
        let amount = |value: f64| match unit.as_str() {
            "ns" if value >= 0.0 => format_duration(value.round() as u64),
            unit => format!("{value:.4} {unit}").trim_end().to_owned(),
        };
        let (word, tone) = cell_verdict(cell.verdict);
        let ratio = cell.ratio().map_or("-".to_owned(), |ratio| format!("×{}", ratio_text(ratio)));
        let interval = cell.judged().map_or("-".to_owned(), |found| {
            format!("{} .. {}", ratio_text(found.adjusted_low), ratio_text(found.adjusted_high))
        });
        let label = cell_label(comparison, cell);
        let figures =
            [label, amount(cell.first.median), amount(cell.second.median), ratio, interval];
        let cells = figures.map(Cell::from).into_iter().chain([Cell::toned(word, tone)]);
        table.rows.push(cells.collect());
    }
    let mut blocks = vec![Block::Sentence(what)];
    blocks.extend(charts_of(data, &["comparison"]));
    blocks.push(Block::Table(table));
    let full = comparison_text(comparison);
    blocks.push(Block::Folded("All that thrashlab compare says".to_owned(), full));
    super::section("comparison", "Comparison", blocks)
}
