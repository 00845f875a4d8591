//! The tables of an attribution, and the ledger of conditions.

use analysis::attribution::{self, Attribution, Effects, Figure, Ledger, Step, Term};
use itertools::Itertools;
use render::format::{and, counted, p_value};
use render::{Block, Cell, Table};

use super::words::{Words, counts, interval_of_ratio, percent, ratio};

/// Cell means, the levels of the last factor side by side as in publications.
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
        Cell::figure(cell.mean.map(|mean| format!("{}{count}", words.amount(mean))))
    };
    let rows = cells.chunks(across.levels.len()).map(|line| {
        let levels = line[0].levels[..down.len()].iter().map(Cell::from);
        levels.chain(line.iter().map(mean))
    });
    Table::of(format!("Mean {}{unit}{each}", words.noun), head, rows)
}

fn effect(name: String, log: Option<&Figure>, difference: &Figure, words: &Words) -> [Cell; 3] {
    let times = Cell::figure(log.map(|it| ratio(it.value) + &interval_of_ratio(it)));
    [name.into(), times, Cell::figure(words.difference_with_interval(difference))]
}

const EFFECT_HEAD: [&str; 3] = ["effect", "times", "difference"];

pub(super) fn effects(step: &Step, words: &Words) -> Table {
    let all = |effects: &Effects| {
        let main = effects
            .main
            .iter()
            .map(|it| (format!("{} {} against {}", it.factor, it.level, it.against), it.figure));
        let interactions = effects.interactions.iter().map(|it| {
            let ((one, other), (level, of_other)) = (&it.factors, &it.levels);
            (format!("interaction of {one} {level} and {other} {of_other}"), it.figure)
        });
        let has_total = !effects.interactions.is_empty();
        let total = has_total.then(|| ("all together".to_owned(), effects.total));
        main.chain(interactions).chain(total).collect::<Vec<(String, Figure)>>()
    };
    let log = step.scales.log.as_ref().map(all).unwrap_or_default();
    let rows = all(&step.scales.additive).into_iter().enumerate().map(|(index, (name, figure))| {
        effect(name, log.get(index).map(|(_, times)| times), &figure, words)
    });
    let levels = |index: usize| step.factors.iter().map(|it| &it.levels[index]).join(", ");
    Table::of(format!("From {} to {}", levels(0), levels(1)), EFFECT_HEAD, rows)
}

pub(super) fn simple_effects(step: &Step, words: &Words) -> Table {
    let simple = step.scales.additive.simple.iter().enumerate();
    let rows = simple.map(|(index, simple)| {
        let cell = step.factors.iter().zip(&simple.cell);
        let held = cell.filter(|(factor, _)| factor.name != simple.factor);
        let held = held.map(|(factor, level)| format!("{} {level}", factor.name)).join(", ");
        let name = format!("{} with {held}", simple.factor);
        let log = step.scales.log.as_ref();
        let times = log.and_then(|log| Some(&log.simple.get(index)?.figure));
        effect(name, times, &simple.figure, words)
    });
    Table::of("", EFFECT_HEAD, rows)
}

fn part(percentage: Option<f64>) -> Cell {
    Cell::figure(percentage.map(percent))
}

fn range(ends: Option<(f64, f64)>) -> Cell {
    Cell::figure(ends.map(|(low, high)| format!("{low:.1} to {high:.1} %")))
}

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
            Cell::figure(revert.map(|it| words.difference(it.change.value))),
            part(revert.and_then(|revert| revert.percent)),
        ]
    });
    Table::of(caption, head, rows)
}

/// What each part of the work adds, and by which factor; an insignificant change has no shares.
pub(super) fn parts(step: &Step, words: &Words) -> Table {
    let is_told = counts(&step.scales.additive.total, 0.0);
    let several = step.factors.len() > 1;
    let head = ["part", "before", "after", "times", "change", "share", "trials"].map(str::to_owned);
    let by = step.factors.iter().filter(|_| several).map(|factor| format!("by {}", factor.name));
    let rows = step.parts.iter().map(|found| {
        let times = (found.before > 0.0).then(|| ratio(found.after / found.before));
        let cells = [
            Cell::from(&found.part),
            Cell::figure(words.amount(found.before)),
            Cell::figure(words.amount(found.after)),
            Cell::figure(times),
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
    let rows = terms.iter().map(|Term { name, df, f, p, percent, .. }| {
        let [f, p] = [Cell::decimals(*f, 2), Cell::figure(p.map(p_value))];
        [name.into(), (*df).into(), f, p, part(*percent)]
    });
    let caption = "Analysis of variance (a large effect makes all others look small in its last \
                   column)";
    Table::of(caption, ["term", "df", "F", "p", "sum of squares"], rows)
}

pub(super) fn ledger(ledger: &Ledger) -> Vec<Block> {
    let plain = |name: &String| name.replace('_', " ");
    let head = ["condition".to_owned()].into_iter().chain(ledger.names.iter().cloned());
    let rows = ledger.differing.iter().map(|condition| {
        let values = condition.values.iter().map(|value| value.as_ref().map(Cell::from).into());
        [Cell::from(plain(&condition.name))].into_iter().chain(values)
    });
    let caption = "Conditions in which the experiments differ (- = not given)";
    let mut blocks = vec![Table::of(caption, head, rows).into()];
    if !ledger.common.is_empty() {
        let common = ledger.common.iter().map(|(name, value)| format!("{} {value}", plain(name)));
        blocks.push(format!("The same in all: {}.", common.format("; ")).into());
    }
    let distances = ledger.distances.iter().map(|distance| {
        let (a, b) = (&ledger.names[distance.between.0], &ledger.names[distance.between.1]);
        let named: Vec<String> = distance.conditions.iter().map(plain).collect();
        match named.as_slice() {
            [] => format!("{a} and {b} agree in every condition that both name."),
            [one] => {
                format!("{a} and {b} differ only in {one}: it explains what they disagree on.")
            }
            all => format!("{a} and {b} differ in {} conditions: {}.", all.len(), and(all)),
        }
    });
    blocks.push(Block::List(distances.collect()));
    blocks
}
