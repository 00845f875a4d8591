//! What a reader of a comparison must know.

use std::collections::BTreeSet;

use analysis::comparison::{Cell, Overall, Unit, method_words};
use render::{Block, Cell as TableCell, Table, format};
use stats::{CellResult, Method};

use super::{View, usable};

/// All of it, a line each.
pub(super) fn footnotes(view: &View) -> Vec<String> {
    let comparison = view.comparison;
    let judged = || comparison.cells.iter().filter_map(Cell::judged);
    let cannot_fire = judged().filter(|found| !found.rank_can_fire);
    let mut lines: Vec<String> = cannot_fire.map(|found| rank(found, view)).collect();
    let margin = format::percent(comparison.margin);
    let chance = format!("wrong with a chance of at most {}", format::percent(comparison.alpha));
    let family = match judged().count() {
        0 => None,
        1 => Some(format!("a verdict is {chance}")),
        count => Some(format!(
            "verdicts and intervals are adjusted over {count} cells: any of them is {chance}"
        )),
    };
    lines.extend(family.map(|it| format!("Ratios above 1 are worse; margin {margin}; {it}.")));
    lines.extend(detectable(&comparison.cells));
    lines.extend(comparison.overall.iter().map(|mean| summary(mean, view)));
    lines.extend(super::overall::explanation(view));
    let note = |note: &String| format!("Note: {note}.");
    lines.extend(comparison.cells.iter().flat_map(|cell| &cell.notes).map(note));
    lines.extend(comparison.warnings.iter().map(|warning| format!("Warning: {warning}.")));
    lines.extend(comparison.left_out.iter().map(|left| format!("Left out: {left}.")));
    lines.extend(comparison.notes.iter().map(note));
    let mut said: BTreeSet<String> = BTreeSet::new();
    lines.retain(|line| said.insert(line.clone()));
    lines
}

/// A geometric mean with its leave-one-out range.
fn summary(mean: &Overall, view: &View) -> String {
    let Overall { cells, response, ratio, .. } = mean;
    let ((low_cell, low), (high_cell, high)) = (&mean.lowest_without, &mean.highest_without);
    let (arm, is_same) = (view.arm(mean.arm), low == high);
    let [ratio, low, high] = [*ratio, *low, *high].map(format::times);
    let range = match is_same {
        true => "the same whichever is left out".to_owned(),
        false => format!("from {low} without {low_cell} to {high} without {high_cell}"),
    };
    let interval = mean.effect.as_ref().map_or_else(String::new, |effect| {
        format!(" {}", format::ratio_interval(usable(effect.low, effect.high)))
    });
    format!("Geometric mean of {cells} {response} ratios of {arm}: {ratio}{interval}; {range}.")
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
    let [alpha, least, level] =
        [view.comparison.alpha, found.smallest_p, level].map(format::p_value);
    let count = found.rank_needs;
    format!(
        "The {test} could not have reached {alpha}{among} with {sizes}: the smallest possible p is \
         {least} (level {level}, it needs {count} {needs}){decided}."
    )
}

/// Of few values also what other tests say: a sentence for one cell, a table for several.
pub(super) fn few(view: &View) -> Option<Block> {
    let cells = view.comparison.cells.iter();
    let found: Vec<(&Cell, &CellResult, f64)> = cells
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
        let (ratio, interval, p) = (ratio.text(), interval.text(), p.text());
        let text =
            format!("Few values: t on log {ratio} {interval}, p {p}; exact permutation test");
        return Some(format!("{text} of the means, p {}.", format::p_value(permutation)).into());
    }
    let head = ["few values", "n", "t on log", "interval", "p", "permutation p", "least rank p"];
    let rows = found.iter().map(|(cell, result, permutation)| {
        let sizes = TableCell::figure(format!("{} v {}", result.n_first, result.n_second));
        let first =
            [TableCell::from(super::label(view.comparison, cell, &view.arm(cell.arm))), sizes];
        first.into_iter().chain(log(result)).chain([*permutation, result.smallest_p].map(p_cell))
    });
    (!found.is_empty()).then(|| Table::of("", head, rows).into())
}

/// The smallest effects that would have been seen.
fn detectable(cells: &[Cell]) -> Option<String> {
    let mut effects: Vec<f64> =
        cells.iter().filter_map(|cell| cell.judged()?.minimum_detectable).collect();
    effects.sort_by(f64::total_cmp);
    let (lowest, highest) = (format::times(*effects.first()?), format::times(*effects.last()?));
    let has = |unit: Unit| cells.iter().any(|cell| cell.unit == unit);
    let units = match (has(Unit::Samples), has(Unit::Trials)) {
        (true, true) => "samples and trials",
        (true, false) => "samples",
        _ => "trials",
    };
    let range = if lowest == highest { lowest } else { format!("{lowest} to {highest}") };
    Some(format!(
        "Smallest effect that so many {units} would show to be a regression (chance 80 %): {range}."
    ))
}
