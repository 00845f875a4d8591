//! The forest plot of a comparison: the ratio and interval of each cell, and the margin.

use analysis::comparison::{Cell, Comparison, Overall};
use serde_json::{Value, json};

use super::Data;
use super::forest::{Line, MOST, filling};
use crate::comparison::{label, usable, verdict};
use render::Table;
use render::charts::rounded;

fn overall_label(comparison: &Comparison, overall: &Overall, arm: &str) -> String {
    let arm = (comparison.arms.len() > 2).then(|| arm.to_owned());
    let response = (comparison.responses.len() > 1).then(|| overall.response.clone());
    [arm, Some(overall.over()), response].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

pub(super) fn make(data: &Data<'_>) -> Vec<(Value, Table)> {
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
    let others = if comparison.arms.len() == 2 { arm(1) } else { "the others" };
    let margin = comparison.margin;
    let parts = json!({
        "others": others, "first": arm(0), "count": count,
        "percent": format!("{:.0}", 100.0 * margin),
        "margin": { "low": rounded(1.0 / (1.0 + margin)), "high": 1.0 + margin },
    });
    filling(&lines, MOST, parts)
}
