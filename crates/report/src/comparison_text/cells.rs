//! The tables of a comparison: a row a cell.

use analysis::comparison::{Cell, EndCount, Ends, Outcome, PairedBy, Share, Unit, method_words};
use model::Observation;
use model::units::format_duration;
use stats::{CellResult, NotDecided, Verdict};

use super::{View, numbers};
use crate::columns::aligned;
use crate::ratio_text::ratio_text;

/// The table of verdicts.
pub(super) fn verdicts(view: &View) -> String {
    let comparison = view.comparison;
    let mut head = place_head(view);
    let first = view.arm(0);
    if view.several_arms() {
        head.extend(["median".to_owned(), "reference".to_owned()]);
    } else {
        head.extend([format!("{first} median"), format!("{} median", view.arm(1))]);
    }
    head.extend(["ratio", "interval", "verdict", "reason"].map(str::to_owned));
    let mut rows = vec![head];
    for cell in &comparison.cells {
        let unit = &comparison.responses[&cell.response].unit;
        let medians = match &cell.outcome {
            Outcome::Ends(ends) => [&ends.first, &ends.second].map(failed),
            _ => [&cell.first, &cell.second]
                .map(|side| numbers::observed(side.median.as_ref(), unit)),
        };
        let mut row = place(view, cell);
        if view.several_arms() {
            row.extend(medians.into_iter().rev());
        } else {
            row.extend(medians);
        }
        row.push(cell.ratio().map_or_else(
            || "-".to_owned(),
            |ratio| format!("{}×{}", cell.ratio_mark(), ratio_text(ratio)),
        ));
        row.push(cell.judged().map_or_else(
            || "-".to_owned(),
            |found| numbers::interval(found.adjusted_low, found.adjusted_high),
        ));
        row.push(verdict(cell.verdict).to_owned());
        row.push(reason(cell));
        rows.push(row);
    }
    aligned(&rows)
}

fn failed(count: &EndCount) -> String {
    format!("failed {} of {}", count.failed, count.trials)
}

pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "regression",
        Verdict::Improvement => "improvement",
        Verdict::Equivalent => "equivalent",
        Verdict::CannotTell => "cannot tell",
    }
}

/// The heads of the columns that tell a cell's place.
pub(super) fn place_head(view: &View) -> Vec<String> {
    let comparison = view.comparison;
    let mut head = Vec::new();
    if view.several_arms() {
        head.push(comparison.factor.clone().unwrap_or_else(|| "input".to_owned()));
    }
    if comparison.responses.len() > 1 || comparison.cells.len() == comparison.arms.len() - 1 {
        head.push("response".to_owned());
    }
    head.extend(comparison.cells.first().into_iter().flat_map(|cell| cell.levels.keys().cloned()));
    if comparison.cells.iter().any(|cell| cell.part.is_some()) {
        head.push("part".to_owned());
    }
    head
}

/// The cells of these columns.
pub(super) fn place(view: &View, cell: &Cell) -> Vec<String> {
    let comparison = view.comparison;
    let mut row = Vec::new();
    if view.several_arms() {
        row.push(view.arm(cell.arm));
    }
    if comparison.responses.len() > 1 || comparison.cells.len() == comparison.arms.len() - 1 {
        row.push(cell.response.clone());
    }
    row.extend(cell.levels.values().cloned());
    if comparison.cells.iter().any(|cell| cell.part.is_some()) {
        row.push(cell.part.clone().unwrap_or_else(|| "whole".to_owned()));
    }
    row
}

/// What the verdict rests on, or why there is none.
fn reason(cell: &Cell) -> String {
    let how = match cell.paired_by {
        Some(PairedBy::Block) => ", by blocks",
        Some(PairedBy::Seed) => ", by seeds",
        None if cell.unit == Unit::Samples => ", of the samples of one run",
        None => "",
    };
    match &cell.outcome {
        Outcome::Judged(found) => {
            let more = found
                .more_blocks
                .map_or_else(String::new, |more| format!("; about {more} more {}", cell.more_of()));
            let interval = found.interval_needs.map_or_else(String::new, |needs| {
                format!("; an interval takes about {needs} {}", cell.more_of())
            });
            format!("{}{how}{more}{interval}", judged(cell, found))
        }
        Outcome::Identical => format!("all values are the same{how}"),
        Outcome::Untested { reason, .. } => reason.clone(),
        Outcome::Ends(ends) => ended(ends),
    }
}

/// What runs died of, and what decided.
fn ended(ends: &Ends) -> String {
    let causes = ends.second.causes.iter().chain(&ends.first.causes);
    let mut parts: Vec<String> = causes.map(|(cause, _)| cause.clone()).collect();
    parts.dedup();
    parts.push(match (&ends.test, ends.alone) {
        (Some(test), _) => {
            format!(
                "Fisher's exact test, p {}, all cells {}",
                numbers::p(test.p),
                numbers::p(test.p_adjusted)
            )
        }
        (None, Some(_)) => "exact for these seeds".to_owned(),
        (None, None) => "not tested".to_owned(),
    });
    parts.join("; ")
}

fn judged(cell: &Cell, found: &CellResult) -> String {
    match found.why {
        _ if cell.tick_hides() => "the kernel's tick is more than the margin".to_owned(),
        None => method_words(found.method).to_owned(),
        Some(NotDecided::TooFewValues) => {
            format!("{} v {} values can show nothing", found.n_first, found.n_second)
        }
        Some(NotDecided::IntervalIncludesOne) => {
            "the interval includes 1 and more than the margin".to_owned()
        }
        Some(NotDecided::NotAmongSoMany) => {
            "the difference is not sure among so many cells".to_owned()
        }
        Some(NotDecided::MarginInsideInterval) => {
            "a difference, but perhaps within the margin".to_owned()
        }
        Some(NotDecided::BoundsDecide) => {
            "runs that never finished leave it open: a longer timeout would tell".to_owned()
        }
    }
}

/// How often a probe stalled, and how long.
pub(super) fn stalls(view: &View) -> Option<String> {
    let found = || view.comparison.cells.iter().filter(|cell| cell.stalls.is_some());
    found().next()?;
    let mut head = place_head(view);
    head.push("stall".to_owned());
    if view.several_arms() {
        head.extend(["reference".to_owned(), "stalled".to_owned()]);
    } else {
        head.extend([0, 1].map(|arm| format!("{} stalled", view.arm(arm))));
    }
    head.extend(["p", "p, all cells", "median stall", "longest"].map(str::to_owned));
    let mut rows = vec![head];
    for cell in found() {
        let Some(stalls) = &cell.stalls else { continue };
        let mut row = place(view, cell);
        row.push(format!("> {}", format_duration(stalls.limit_ns as u64)));
        row.extend([share(&stalls.first), share(&stalls.second)]);
        row.extend([numbers::p(stalls.p), numbers::p(stalls.p_adjusted)]);
        row.push(both(stalls.first.median_ns, stalls.second.median_ns));
        row.push(both(stalls.first.largest_ns, stalls.second.largest_ns));
        rows.push(row);
    }
    let of = if found().filter_map(|cell| cell.stalls.as_ref()).any(|stalls| stalls.of_noload) {
        "without load"
    } else {
        "of the cell"
    };
    Some(format!(
        "Stalls: samples above 3 × {}'s median {of}, with exact intervals and Fisher's test\n{}",
        view.arm(0),
        aligned(&rows)
    ))
}

/// `2 of 35, 0.7 .. 19.2 %`.
fn share(share: &Share) -> String {
    format!(
        "{} of {}, {} .. {} %",
        share.stalled,
        share.samples,
        numbers::percent(share.low),
        numbers::percent(share.high)
    )
}

fn both(first_ns: Option<Observation>, second_ns: Option<Observation>) -> String {
    match (first_ns, second_ns) {
        (None, None) => "-".to_owned(),
        (first, second) => {
            let [first, second] = [first, second].map(|it| numbers::observed(it.as_ref(), "ns"));
            format!("{first} : {second}")
        }
    }
}

/// The ratios over seeds.
pub(super) fn seeds(view: &View) -> Option<String> {
    let found = || view.comparison.cells.iter().filter(|cell| cell.seeds.is_some());
    found().next()?;
    let mut head = place_head(view);
    let columns =
        ["seeds", "lowest", "quartile", "median", "quartile", "highest", "worse", "better", "same"];
    head.extend(columns.map(str::to_owned));
    let mut rows = vec![head];
    for cell in found() {
        let Some(seeds) = &cell.seeds else { continue };
        let mut row = place(view, cell);
        let all = seeds.ratios.len();
        row.push(all.to_string());
        let [low, middle, high] = seeds.quartiles;
        row.extend([seeds.lowest, low, middle, high, seeds.highest].map(ratio_text));
        row.extend(
            [seeds.worse, seeds.better, all - seeds.worse - seeds.better].map(|n| n.to_string()),
        );
        rows.push(row);
    }
    Some(format!(
        "Ratios seed by seed: exact, since equal inputs give equal values (no model of noise)\n{}",
        aligned(&rows)
    ))
}
