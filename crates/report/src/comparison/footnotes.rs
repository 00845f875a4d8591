//! What a reader of a comparison must know.

use std::collections::BTreeSet;

use analysis::comparison::{Cell, Overall, Unit, method_words};
use render::{Block, Cell as TableCell, Table, format};
use stats::{CellResult, Method};

use super::{View, usable};

/// All of it, a line each.
pub(super) fn footnotes(view: &View) -> Vec<String> {
    let comparison = view.comparison;
    let mut lines: Vec<String> = Vec::new();
    let judged = || comparison.cells.iter().filter_map(Cell::judged);
    lines.extend(judged().filter(|found| !found.rank_can_fire).map(|found| rank(found, view)));
    let count = judged().count();
    let margin = format::percent(comparison.margin);
    let chance = format::percent(comparison.alpha);
    if count > 0 {
        let family = match count {
            1 => format!("a verdict is wrong with a chance of at most {chance}"),
            _ => format!(
                "verdicts and intervals are adjusted over {count} cells: any of them is \
                 wrong with a chance of at most {chance}"
            ),
        };
        lines.push(format!("Ratios above 1 are worse; margin {margin}; {family}."));
    }
    lines.extend(detectable(&comparison.cells));
    lines.extend(comparison.overall.iter().map(|mean| summary(mean, view)));
    lines.extend(super::overall::explanation(view));
    for cell in &comparison.cells {
        lines.extend(cell.notes.iter().map(|note| sentence(note)));
    }
    lines.extend(comparison.warnings.iter().map(|warning| format!("Warning: {warning}.")));
    lines.extend(comparison.left_out.iter().map(|left| format!("Left out: {left}.")));
    lines.extend(comparison.notes.iter().map(|note| sentence(note)));
    let mut said: BTreeSet<String> = BTreeSet::new();
    lines.retain(|line| said.insert(line.clone()));
    lines
}

/// A geometric mean with its leave-one-out range.
fn summary(mean: &Overall, view: &View) -> String {
    let Overall { cells, response, ratio, .. } = mean;
    let ((low_cell, low), (high_cell, high)) = (&mean.lowest_without, &mean.highest_without);
    let range = match low == high {
        true => "the same whichever is left out".to_owned(),
        false => format!(
            "from {} without {low_cell} to {} without {high_cell}",
            format::times(*low),
            format::times(*high)
        ),
    };
    let (arm, ratio) = (view.arm(mean.arm), format::times(*ratio));
    let interval = mean.effect.as_ref().map_or_else(String::new, |effect| {
        format!(" {}", format::ratio_interval(usable(effect.low, effect.high)))
    });
    format!("Geometric mean of {cells} {response} ratios of {arm}: {ratio}{interval}; {range}.")
}

fn sentence(note: &str) -> String {
    format!("Note: {note}.")
}

/// That the rank test could not have told, and what it would need.
fn rank(found: &CellResult, view: &View) -> String {
    let (test, sizes, needs) = match found.method {
        Method::SignedRank | Method::PairedLog => {
            ("signed rank test", format!("{} pairs", found.n_first), "pairs")
        }
        _ => ("rank test", format!("{} v {} values", found.n_first, found.n_second), "a side"),
    };
    let cells = view.comparison.cells.iter().filter(|cell| cell.judged().is_some()).count();
    let level = view.comparison.alpha / cells as f64;
    let among = if cells > 1 { format!(" / {cells} cells") } else { String::new() };
    let decided = match found.method {
        Method::WelchLog | Method::PairedLog => {
            format!("; {} decided instead", method_words(found.method))
        }
        _ => String::new(),
    };
    format!(
        "The {test} could not have reached {}{among} with {sizes}: the smallest possible p is {} \
         (level {}, it needs {} {needs}){decided}.",
        format::p_value(view.comparison.alpha),
        format::p_value(found.smallest_p),
        format::p_value(level),
        found.rank_needs
    )
}

/// Of few values also what other tests say: a sentence for one cell, a table for several.
pub(super) fn few(view: &View) -> Option<Block> {
    let found: Vec<(&Cell, &CellResult, f64)> = view
        .comparison
        .cells
        .iter()
        .filter_map(|cell| Some((cell, cell.judged()?, cell.judged()?.permutation_p?)))
        .collect();
    let p_cell = |p: f64| TableCell::figure(format::p_value(p));
    let log = |found: &CellResult| match found.log_ratio {
        None => [TableCell::absent(), TableCell::absent(), TableCell::absent()],
        Some(welch) => [
            TableCell::ratio(welch.ratio),
            TableCell::interval(usable(welch.low, welch.high)),
            p_cell(welch.p),
        ],
    };
    if let [(_, result, permutation)] = found[..]
        && view.comparison.cells.len() == 1
    {
        let [ratio, interval, p] = log(result);
        return Some(Block::Sentence(format!(
            "Few values: t on log {} {}, p {}; exact permutation test of the means, p {}.",
            ratio.text(),
            interval.text(),
            p.text(),
            format::p_value(permutation)
        )));
    }
    let head = ["few values", "n", "t on log", "interval", "p", "permutation p", "least rank p"];
    let mut table = Table::new("", head);
    for (cell, result, permutation) in found {
        let mut row = vec![TableCell::from(view.label(cell))];
        row.push(TableCell::figure(format!("{} v {}", result.n_first, result.n_second)));
        row.extend(log(result));
        row.extend([permutation, result.smallest_p].map(p_cell));
        table.row(row);
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// The smallest effects that would have been seen.
fn detectable(cells: &[Cell]) -> Option<String> {
    let mut effects: Vec<f64> =
        cells.iter().filter_map(|cell| cell.judged()?.minimum_detectable).collect();
    effects.sort_by(f64::total_cmp);
    let (lowest, highest) = (format::times(*effects.first()?), format::times(*effects.last()?));
    let units: BTreeSet<&str> = cells
        .iter()
        .map(|cell| match cell.unit {
            Unit::Trials => "trials",
            Unit::Samples => "samples",
        })
        .collect();
    let range = if lowest == highest { lowest } else { format!("{lowest} to {highest}") };
    Some(format!(
        "Smallest effect that so many {} would show to be a regression (chance 80 %): {range}.",
        units.into_iter().collect::<Vec<_>>().join(" and ")
    ))
}
