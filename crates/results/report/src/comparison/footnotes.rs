//! The footnotes of a comparison.

use analysis::comparison::{Cell, Overall, Unit, method_words};
use analysis::{Direction, MOST_LISTED, OUTCOME, distinct, listed};
use render::{Block, Cell as TableCell, Table, format};
use stats::{CellResult, Method};

use super::{View, usable};

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
    let unknown = comparison.responses.iter();
    let unknown =
        unknown.filter(|(name, it)| it.direction == Direction::Unknown && **name != OUTCOME);
    let unknown: Vec<String> = unknown.map(|(name, _)| name.clone()).collect();
    if !unknown.is_empty() {
        lines.push(format!(
            "It is unknown whether more is better of {}: ratios above 1 are more there, and \
             a change is a difference; --higher-is-better NAME or --lower-is-better NAME settles it.",
            listed(&unknown)
        ));
    }
    lines.extend(detectable(&comparison.cells));
    lines.extend(comparison.overall.iter().map(|mean| summary(mean, view)));
    lines.extend(explanation(view));
    let note = |note: &String| format!("Note: {note}.");
    lines.extend(comparison.cells.iter().flat_map(|cell| &cell.notes).map(note));
    lines.extend(comparison.warnings.iter().map(|warning| format!("Warning: {warning}.")));
    let left_out = comparison.left_out.iter().take(MOST_LISTED);
    lines.extend(left_out.map(|left| format!("Left out: {left}.")));
    if let Some(more @ 1..) = comparison.left_out.len().checked_sub(MOST_LISTED) {
        lines.push(format!("Left out: {more} more cells that only one input has."));
    }
    lines.extend(comparison.notes.iter().map(note));
    distinct(lines)
}

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

/// Why the rank test could not decide, and what it needs.
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

/// The results of other tests on few values: a sentence for one cell, a table for several.
pub(super) fn few(view: &View) -> Option<Block> {
    let found = view.comparison.cells.iter();
    let found = found.filter_map(|it| Some((it, it.judged()?, it.judged()?.permutation_p?)));
    let found: Vec<(&Cell, &CellResult, f64)> = found.collect();
    let p_cell = |p: f64| TableCell::Figure(format::p_value(p));
    let log = |found: &CellResult| -> [TableCell; 3] {
        let welch = found.log_ratio;
        let interval = welch.map(|it| TableCell::Interval(usable(it.low, it.high)));
        let ratio = welch.map(|it| TableCell::ratio(it.ratio));
        [ratio.into(), interval.into(), welch.map(|it| p_cell(it.p)).into()]
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
        let sizes = TableCell::Figure(format!("{} v {}", result.n_first, result.n_second));
        let label = super::label(view.comparison, cell, &view.arm(cell.arm));
        [label.into(), sizes]
            .into_iter()
            .chain(log(result))
            .chain([*permutation, result.smallest_p].map(p_cell))
    });
    (!found.is_empty()).then(|| Table::of("", head, rows).into())
}

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
        "Smallest effect that this many {units} would show to be a regression (chance 80 %): \
         {range}."
    ))
}

fn explanation(view: &View) -> Vec<String> {
    let comparison = view.comparison;
    let effects = comparison.overall.iter();
    let effects: Vec<_> = effects.filter_map(|it| Some((it, it.effect.as_ref()?))).collect();
    if effects.is_empty() {
        return Vec::new();
    }
    let chance = format::percent(comparison.alpha);
    let adjusted = match effects.len() {
        1 => String::new(),
        count => format!(", adjusted over {count} effects"),
    };
    let mut lines = vec![format!(
        "Over all cells: additive on logarithms, cells as blocks, trials and arm by cell random; a \
         verdict is wrong with a chance of at most {chance}{adjusted}, in addition to \
         those of the cells."
    )];
    for (overall, effect) in effects {
        let mixed = effect.mixed.map(|found| {
            let (ratios, p) = (ratios(found.low, found.high), format::p_value(found.p));
            let freedom = found.degrees_of_freedom;
            format!("mixed model {ratios} (t, {freedom:.1} degrees of freedom, p {p})")
        });
        let permutation = effect.permutation.map(|found| {
            let (ratios, p) = (ratios(found.low, found.high), format::p_value(found.p));
            let (count, how) = (found.arrangements, if found.exact { "all" } else { "drawn" });
            format!("permutation test {ratios} ({count} arrangements, {how}, p {p})")
        });
        let absent = effect.permutation.is_none() && mixed.is_some();
        let absent = absent.then(|| {
            "no permutation test: too few arrangements, or trials that lack some of their cells"
                .to_owned()
        });
        let both: Vec<String> = [mixed, permutation, absent].into_iter().flatten().collect();
        if !both.is_empty() {
            let (arm, response) = (view.arm(overall.arm), &overall.response);
            lines.push(format!("{response} of {arm} over all cells: {}.", both.join(", ")));
        }
    }
    lines
}

fn ratios(low: f64, high: f64) -> String {
    format::ratio_interval(usable(low, high))
}
