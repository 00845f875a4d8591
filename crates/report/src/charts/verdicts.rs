//! The forest plot of a comparison: each cell's ratio with its interval, beside the margin.

use analysis::comparison::{Cell, Comparison, Overall};

use super::forest::{Line, body, table, values};
use super::{Data, Kind};
use crate::comparison::{label, usable, verdict};
use render::Chart;

pub(super) const KIND: Kind =
    Kind { name: "comparison", section: "comparison", title: "What differs, by how much", make };

/// Most cells that are drawn; the others are in the table.
const MOST: usize = 60;

const VERDICTS: [(&str, &str); 4] = [
    ("regression", "#d55e00"),
    ("improvement", "#2f8fcf"),
    ("equivalent", "#00a87b"),
    ("cannot tell", "#999999"),
];

/// What the effect over all cells is called.
fn overall_label(comparison: &Comparison, overall: &Overall, arm: &str) -> String {
    let arm = (comparison.arms.len() > 2).then(|| arm.to_owned());
    let response = (comparison.responses.len() > 1).then(|| overall.response.clone());
    [arm, Some(overall.over()), response].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn make(data: &Data<'_>) -> Vec<Chart> {
    let Some(comparison) = &data.material.comparison else { return Vec::new() };
    let arm = |index: usize| comparison.arms[index].name.as_str();
    let line = |cell: &Cell| {
        let found = cell.judged()?;
        Some(Line {
            label: label(comparison, cell, arm(cell.arm)),
            verdict: verdict(cell.verdict).0,
            ratio: (found.ratio, usable(found.adjusted_low, found.adjusted_high)),
            more: format!(", p {:.3} adjusted", found.p_adjusted),
        })
    };
    let over_all = |overall: &Overall| {
        let effect = overall.effect.as_ref()?;
        Some(Line {
            label: overall_label(comparison, overall, arm(overall.arm)),
            verdict: verdict(overall.verdict).0,
            ratio: (overall.ratio, usable(effect.low, effect.high)),
            more: format!(", p {:.3} adjusted", effect.p_adjusted),
        })
    };
    let count = comparison.cells.iter().filter_map(line).count();
    let overall = comparison.overall.iter().filter_map(over_all);
    let lines: Vec<Line> = overall.chain(comparison.cells.iter().filter_map(line)).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let drawn = &lines[..lines.len().min(MOST)];
    let margin = 100.0 * comparison.margin;
    let reading = format!(
        "Ratios of {} to {}, above 1 = worse, with intervals that hold together for all {} cells; \
         inside the grey band of ±{margin:.0} % a difference does not matter.",
        match comparison.arms.len() {
            2 => comparison.arms[1].name.clone(),
            _ => "the others".to_owned(),
        },
        comparison.arms[0].name,
        count
    );
    let values = values(drawn);
    let body = body(drawn, &VERDICTS, Some(comparison.margin));
    vec![KIND.chart(reading, values, body, table(&lines))]
}
