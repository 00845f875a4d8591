//! The tables of an attribution: cell means, effects on both scales, shares, reverts, parts.

use analysis::attribution::{Attribution, Cell, Effects, Figure, Step, Term, TwoScales};

use super::causes::counts;
use super::words::{Words, percent, probability, ratio, ratio_with_interval};
use crate::columns::aligned;

/// Cell means: the levels of the last factor side by side, as experiments are published.
pub(super) fn cell_means(attribution: &Attribution, words: &Words) -> String {
    let Some((across, down)) = attribution.factors.split_last() else { return String::new() };
    let cells = &attribution.overall.additive.cells;
    let equal = equal_count(cells).is_some();
    let mut heading: Vec<String> = down.iter().map(|factor| factor.name.clone()).collect();
    heading.extend(across.levels.iter().map(|level| format!("{} {level}", across.name)));
    let mut rows = vec![heading];
    for line in cells.chunks(across.levels.len()) {
        let mut row = line[0].levels[..down.len()].to_vec();
        row.extend(line.iter().map(|cell| {
            cell.mean.map_or_else(
                || "-".to_owned(),
                |mean| match equal {
                    true => words.amount(mean),
                    false => format!("{} ({})", words.amount(mean), trials(cell.count)),
                },
            )
        }));
        rows.push(row);
    }
    aligned(&rows)
}

/// The number of trials in each cell, if it is one number.
pub(super) fn equal_count(cells: &[Cell]) -> Option<usize> {
    let count = cells.first()?.count;
    cells.iter().all(|cell| cell.count == count).then_some(count)
}

/// `1 trial`, `3 trials`.
pub(super) fn trials(count: usize) -> String {
    format!("{count} trial{}", if count == 1 { "" } else { "s" })
}

/// Main effects and interactions as ratios and as differences.
pub(super) fn effects(scales: &TwoScales, words: &Words) -> String {
    let mut rows = vec![vec!["effect".to_owned(), "times".to_owned(), "difference".to_owned()]];
    let ratio_of = |find: &dyn Fn(&Effects) -> Option<Figure>| match &scales.log {
        Some(log) => find(log).map_or_else(|| "-".to_owned(), |f| ratio_with_interval(&f)),
        None => "-".to_owned(),
    };
    for (index, main) in scales.additive.main.iter().enumerate() {
        rows.push(vec![
            format!("{} {} against {}", main.factor, main.level, main.against),
            ratio_of(&|log| log.main.get(index).map(|main| main.figure)),
            words.difference_with_interval(&main.figure),
        ]);
    }
    for (index, found) in scales.additive.interactions.iter().enumerate() {
        rows.push(vec![
            format!(
                "interaction of {} {} and {} {}",
                found.factors.0, found.levels.0, found.factors.1, found.levels.1
            ),
            ratio_of(&|log| log.interactions.get(index).map(|found| found.figure)),
            words.difference_with_interval(&found.figure),
        ]);
    }
    if !scales.additive.interactions.is_empty() {
        rows.push(vec![
            "all together".to_owned(),
            ratio_of(&|log| Some(log.total)),
            words.difference_with_interval(&scales.additive.total),
        ]);
    }
    aligned(&rows)
}

/// Each factor's effect at each level of the others.
pub(super) fn simple_effects(step: &Step, words: &Words) -> String {
    let mut rows = vec![vec!["effect".to_owned(), "times".to_owned(), "difference".to_owned()]];
    for (index, simple) in step.scales.additive.simple.iter().enumerate() {
        let held: Vec<String> = step
            .factors
            .iter()
            .zip(&simple.cell)
            .filter(|(factor, _)| factor.name != simple.factor)
            .map(|(factor, level)| format!("{} {level}", factor.name))
            .collect();
        let log = step.scales.log.as_ref().and_then(|log| log.simple.get(index));
        rows.push(vec![
            format!("{} with {}", simple.factor, held.join(", ")),
            log.map_or_else(|| "-".to_owned(), |found| ratio_with_interval(&found.figure)),
            words.difference_with_interval(&simple.figure),
        ]);
    }
    aligned(&rows)
}

/// Shares with what the order of counting makes of them, and what single reverts give back.
pub(super) fn shares(step: &Step, words: &Words) -> String {
    let mut rows = vec![
        [
            "factor",
            "as differences",
            "interval",
            "whichever order",
            "as ratios",
            "reverted alone",
            "regains",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let range = |ends: Option<(f64, f64)>| {
        ends.map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.1} to {high:.1} %"))
    };
    for (index, share) in step.shares.iter().enumerate() {
        let log = step.log_shares.get(index).and_then(|share| share.percent);
        let revert = step.reverts.iter().find(|revert| revert.factor == share.factor);
        rows.push(vec![
            share.factor.clone(),
            share.percent.map_or_else(|| "-".to_owned(), percent),
            range(share.interval),
            range(share.order_bounds),
            log.map_or_else(|| "-".to_owned(), percent),
            revert.map_or_else(String::new, |revert| words.difference(revert.change.value)),
            revert.and_then(|revert| revert.percent).map_or_else(|| "-".to_owned(), percent),
        ]);
    }
    aligned(&rows)
}

/// What each part of the work adds, and through which factor. Of a change that is not told from
/// none nothing has a share.
pub(super) fn parts(step: &Step, words: &Words) -> String {
    let told = counts(&step.scales.additive.total, 0.0);
    let mut heading = ["part", "before", "after", "times", "change", "share", "trials"]
        .map(str::to_owned)
        .to_vec();
    let several = step.factors.len() > 1;
    if several {
        heading.extend(step.factors.iter().map(|factor| format!("by {}", factor.name)));
    }
    let mut rows = vec![heading];
    for part in &step.parts {
        let times =
            if part.before > 0.0 { ratio(part.after / part.before) } else { "-".to_owned() };
        let mut row = vec![
            part.part.clone(),
            words.amount(part.before),
            words.amount(part.after),
            times,
            words.difference(part.after - part.before),
            part.percent.filter(|_| told).map_or_else(|| "-".to_owned(), percent),
            part.bounds
                .filter(|_| told)
                .map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.1} to {high:.1} %")),
        ];
        if several {
            row.extend(part.factors.iter().map(|found| words.difference(found.contribution)));
        }
        rows.push(row);
    }
    aligned(&rows)
}

/// The analysis of variance, one line a term.
pub(super) fn variance(terms: &[Term]) -> String {
    let mut rows = vec![["term", "df", "F", "p", "sum of squares"].map(str::to_owned).to_vec()];
    let dash = || "-".to_owned();
    rows.extend(terms.iter().map(|term| {
        vec![
            term.name.clone(),
            term.df.to_string(),
            term.f.map_or_else(dash, |f| format!("{f:.2}")),
            term.p.map_or_else(dash, probability),
            term.percent.map_or_else(dash, percent),
        ]
    }));
    aligned(&rows)
}
