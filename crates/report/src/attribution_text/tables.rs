//! The tables of an attribution: cell means, effects on both scales, shares, reverts, parts.

use analysis::attribution::{self, Attribution, Effects, Figure, Step, Term};
use render::format::{counted, p_value};
use render::{Cell, Table};

use super::words::{Words, counts, percent, ratio, ratio_with_interval};

/// Cell means: the levels of the last factor side by side, as experiments are published.
pub(super) fn cell_means(attribution: &Attribution, words: &Words) -> Table {
    let Some((across, down)) = attribution.factors.split_last() else { return Table::default() };
    let cells = &attribution.overall.additive.cells;
    let count = cells.first().map_or(0, |cell| cell.count);
    let is_equal = cells.iter().all(|cell| cell.count == count);
    let each = if is_equal { format!(", {} each", counted(count, "trial")) } else { String::new() };
    let unit = match attribution.measured.unit.as_str() {
        "" | "faults" | "ns" => String::new(),
        unit => format!(" in {unit}"),
    };
    let levels = across.levels.iter().map(|level| format!("{} {level}", across.name));
    let head = down.iter().map(|factor| factor.name.clone()).chain(levels);
    let mean = |cell: &attribution::Cell| {
        let count = if is_equal { "" } else { &format!(" ({})", counted(cell.count, "trial")) };
        cell.mean.map(|mean| Cell::figure(format!("{}{count}", words.amount(mean)))).into()
    };
    let rows = cells.chunks(across.levels.len()).map(|line| {
        let levels = line[0].levels[..down.len()].iter().map(Cell::from);
        levels.chain(line.iter().map(mean))
    });
    Table::of(format!("Mean {}{unit}{each}", words.noun), head, rows)
}

/// A row of a table of effects: on the scale of ratios, and as a difference.
fn effect(name: String, log: Option<&Figure>, difference: &Figure, words: &Words) -> [Cell; 3] {
    let times = log.map(|figure| Cell::figure(ratio_with_interval(figure)));
    [name.into(), times.into(), Cell::figure(words.difference_with_interval(difference))]
}

const EFFECT_HEAD: [&str; 3] = ["effect", "times", "difference"];

/// Main effects and interactions as ratios and as differences.
pub(super) fn effects(step: &Step, words: &Words) -> Table {
    let Effects { main, interactions, total, .. } = &step.scales.additive;
    let log = step.scales.log.as_ref();
    let mut rows = Vec::new();
    for (index, found) in main.iter().enumerate() {
        let name = format!("{} {} against {}", found.factor, found.level, found.against);
        let times = log.and_then(|log| Some(&log.main.get(index)?.figure));
        rows.push(effect(name, times, &found.figure, words));
    }
    for (index, found) in interactions.iter().enumerate() {
        let ((one, other), (level, of_other)) = (&found.factors, &found.levels);
        let name = format!("interaction of {one} {level} and {other} {of_other}");
        let times = log.and_then(|log| Some(&log.interactions.get(index)?.figure));
        rows.push(effect(name, times, &found.figure, words));
    }
    if !interactions.is_empty() {
        let times = log.map(|log| &log.total);
        rows.push(effect("all together".to_owned(), times, total, words));
    }
    let levels = |index: usize| {
        let levels = step.factors.iter().map(|factor| factor.levels[index].as_str());
        levels.collect::<Vec<_>>().join(", ")
    };
    Table::of(format!("From {} to {}", levels(0), levels(1)), EFFECT_HEAD, rows)
}

/// Each factor's effect at each level of the others.
pub(super) fn simple_effects(step: &Step, words: &Words) -> Table {
    let simple = step.scales.additive.simple.iter().enumerate();
    let rows = simple.map(|(index, simple)| {
        let cell = step.factors.iter().zip(&simple.cell);
        let held = cell.filter(|(factor, _)| factor.name != simple.factor);
        let held: Vec<String> =
            held.map(|(factor, level)| format!("{} {level}", factor.name)).collect();
        let name = format!("{} with {}", simple.factor, held.join(", "));
        let log = step.scales.log.as_ref();
        let times = log.and_then(|log| Some(&log.simple.get(index)?.figure));
        effect(name, times, &simple.figure, words)
    });
    Table::of("", EFFECT_HEAD, rows)
}

fn part(percentage: Option<f64>) -> Cell {
    percentage.map(|it| Cell::figure(percent(it))).into()
}

fn range(ends: Option<(f64, f64)>) -> Cell {
    ends.map(|(low, high)| Cell::figure(format!("{low:.1} to {high:.1} %"))).into()
}

/// Shares with what the order of counting makes of them, and what single reverts give back.
pub(super) fn shares(step: &Step, words: &Words) -> Table {
    let change = words.difference(step.after - step.before);
    let caption = format!("Shares of {change} (Shapley: the mean over all orders of counting)");
    let head = ["factor", "as differences", "interval", "whichever order", "as ratios"];
    let head = head.into_iter().chain(["reverted alone", "regains"]);
    let rows = step.shares.iter().enumerate().map(|(index, share)| {
        let revert = step.reverts.iter().find(|revert| revert.factor == share.factor);
        [
            Cell::from(&share.factor),
            part(share.percent),
            range(share.interval),
            range(share.order_bounds),
            part(step.log_shares.get(index).and_then(|share| share.percent)),
            revert.map(|it| Cell::figure(words.difference(it.change.value))).into(),
            part(revert.and_then(|revert| revert.percent)),
        ]
    });
    Table::of(caption, head, rows)
}

/// What each part of the work adds, and through which factor. Of a change that is not told from
/// none nothing has a share.
pub(super) fn parts(step: &Step, words: &Words) -> Table {
    let is_told = counts(&step.scales.additive.total, 0.0);
    let several = step.factors.len() > 1;
    let head = ["part", "before", "after", "times", "change", "share", "trials"].map(str::to_owned);
    let by = step.factors.iter().filter(|_| several).map(|factor| format!("by {}", factor.name));
    let rows = step.parts.iter().map(|found| {
        let times = (found.before > 0.0).then(|| Cell::figure(ratio(found.after / found.before)));
        let cells = [
            Cell::from(&found.part),
            Cell::figure(words.amount(found.before)),
            Cell::figure(words.amount(found.after)),
            times.into(),
            Cell::figure(words.difference(found.after - found.before)),
            part(found.percent.filter(|_| is_told)),
            range(found.bounds.filter(|_| is_told)),
        ];
        let by = found.factors.iter().filter(|_| several);
        let by = by.map(|found| Cell::figure(words.difference(found.contribution)));
        cells.into_iter().chain(by)
    });
    Table::of("By part of the work", head.into_iter().chain(by), rows)
}

pub(super) fn variance(terms: &[Term]) -> Table {
    let rows = terms.iter().map(|term| {
        [
            Cell::from(&term.name),
            term.df.into(),
            Cell::decimals(term.f, 2),
            term.p.map(|p| Cell::figure(p_value(p))).into(),
            part(term.percent),
        ]
    });
    let caption = "Analysis of variance (a large effect makes all others look small in its last \
                   column)";
    Table::of(caption, ["term", "df", "F", "p", "sum of squares"], rows)
}
