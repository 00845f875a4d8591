//! What two or more results differ in.

use analysis::comparison::{Comparison, Outcome, Side};
use model::units::format_duration;

use super::super::{Block, Cell, Section, Table};
use super::charts_of;
use crate::charts::{Data, cell_label, cell_verdict, overall_label};
use crate::comparison_text::{comparison_text, interval_of, judged_by};
use crate::ratio_text::ratio_text;

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
        let number = |value: f64| match unit.as_str() {
            "ns" if value >= 0.0 => format_duration(value.round() as u64),
            unit => format!("{value:.4} {unit}").trim_end().to_owned(),
        };
        let median = |side: &Side| match side.median {
            Some(median) => format!("{}{}", median.mark(), number(median.value)),
            None => "-".to_owned(),
        };
        let medians = match &cell.outcome {
            Outcome::Ends(ends) => [&ends.first, &ends.second]
                .map(|count| format!("failed {} of {}", count.failed, count.trials)),
            _ => [median(&cell.first), median(&cell.second)],
        };
        let [first, second] = medians;
        let (word, tone) = cell_verdict(cell.verdict);
        let ratio = cell
            .ratio()
            .map_or("-".to_owned(), |ratio| format!("{}×{}", cell.ratio_mark(), ratio_text(ratio)));
        let interval = cell.judged().map_or("-".to_owned(), |found| {
            interval_of(found.adjusted_low, found.adjusted_high, dots)
        });
        let label = cell_label(comparison, cell);
        let figures = [label, first, second, ratio, interval];
        let cells = figures.map(Cell::from).into_iter().chain([Cell::toned(word, tone)]);
        table.rows.push(cells.collect());
    }
    let mut blocks = vec![Block::Sentence(what)];
    blocks.extend(over_all(comparison).map(Block::Table));
    blocks.extend(charts_of(data, &["comparison"]));
    blocks.push(Block::Table(table));
    let full = comparison_text(comparison);
    blocks.push(Block::Folded("All that thrashlab compare says".to_owned(), full));
    super::section("comparison", "Comparison", blocks)
}

fn dots(low: f64, high: f64) -> String {
    format!("{} .. {}", ratio_text(low), ratio_text(high))
}

/// The primary estimates; `None` without any.
fn over_all(comparison: &Comparison) -> Option<Table> {
    let head = ["effect", "ratio", "interval", "verdict", "rests on"];
    let mut table = Table::new("Over all cells, each counting once: the primary estimate", &head);
    for overall in &comparison.overall {
        let (word, tone) = cell_verdict(overall.verdict);
        let effect = overall.effect.as_ref();
        table.rows.push(vec![
            Cell::from(overall_label(comparison, overall)),
            Cell::from(format!("{}×{}", overall.ratio_mark, ratio_text(overall.ratio))),
            Cell::from(
                effect.map_or("-".to_owned(), |found| interval_of(found.low, found.high, dots)),
            ),
            Cell::toned(word, tone),
            Cell::from(judged_by(overall)),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}
