//! The tables of a comparison with a row per cell, and of the effects over all cells.

use analysis::comparison::{
    Cell, EndCount, Ends, Outcome, Overall, PairedBy, Share, Stalls, Unit, method_words,
};
use model::Observation;
use render::{Cell as TableCell, Table, format};
use stats::{CellResult, NotDecided};

use super::trials::observed;
use super::{View, usable, verdict_cell};

pub(super) fn verdicts(view: &View) -> Table {
    let comparison = view.comparison;
    let head = view.place_head().into_iter().chain(sides(view, ["reference", "median"], " median"));
    let figures = ["ratio", "interval", "verdict", "reason"].map(str::to_owned);
    let rows = comparison.cells.iter().map(|cell| {
        let unit = &comparison.responses[&cell.response].unit;
        let medians = match &cell.outcome {
            Outcome::Ends(ends) => [&ends.first, &ends.second].map(failed),
            _ => [&cell.first, &cell.second].map(|side| observed(side.median.as_ref(), unit)),
        };
        let ratio = cell.ratio().map(|ratio| TableCell::Ratio(cell.ratio_mark(), ratio));
        let interval = cell
            .judged()
            .map(|found| TableCell::Interval(usable(found.adjusted_low, found.adjusted_high)));
        let verdict = verdict_cell(cell.verdict);
        let figures = [ratio.into(), interval.into(), verdict, reason(cell).into()];
        view.place(cell).into_iter().chain(medians).chain(figures)
    });
    Table::of("", head.chain(figures), rows)
}

/// The headings of a figure of the reference and of the other arm, which is named if it is the only
/// one.
fn sides(view: &View, of_several: [&str; 2], what: &str) -> [String; 2] {
    match view.several_arms() {
        true => of_several.map(str::to_owned),
        false => [0, 1].map(|index| format!("{}{what}", view.arm(index))),
    }
}

fn failed(count: &EndCount) -> TableCell {
    TableCell::Figure(format!("failed {} of {}", count.failed, count.trials))
}

/// The basis of a verdict, or why there is none.
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

fn ended(ends: &Ends) -> String {
    let causes = ends.second.causes.iter().chain(&ends.first.causes);
    let mut parts: Vec<String> = causes.map(|(cause, _)| cause.clone()).collect();
    parts.dedup();
    parts.push(match (&ends.test, ends.alone) {
        (Some(test), _) => {
            let [p, adjusted] = [test.p, test.p_adjusted].map(format::p_value);
            format!("Fisher's exact test, p {p}, all cells {adjusted}")
        }
        (None, Some(_)) => "exact for these seeds".to_owned(),
        (None, None) => "not tested".to_owned(),
    });
    parts.join("; ")
}

fn judged(cell: &Cell, found: &CellResult) -> String {
    let text = match found.why {
        _ if cell.tick_hides() => "the kernel's tick is more than the margin",
        None => method_words(found.method),
        Some(NotDecided::TooFewValues) => {
            return format!("{} v {} values can show nothing", found.n_first, found.n_second);
        }
        Some(NotDecided::IntervalIncludesOne) => "the interval includes 1 and more than the margin",
        Some(NotDecided::NotAmongSoMany) => "the difference is not sure among so many cells",
        Some(NotDecided::MarginInsideInterval) => "a difference, but perhaps within the margin",
        Some(NotDecided::BoundsDecide) => {
            "runs that never finished leave it open: a longer timeout would tell"
        }
    };
    text.to_owned()
}

pub(super) fn stalls(view: &View) -> Option<Table> {
    let found =
        || view.comparison.cells.iter().filter_map(|cell| Some((cell, cell.stalls.as_ref()?)));
    found().next()?;
    let of = match found().any(|(_, stalls)| stalls.of_noload) {
        true => "without load",
        false => "of the cell",
    };
    let caption = format!(
        "Stalls: samples above 3 × {}'s median {of}, with exact intervals and Fisher's test",
        view.arm(0)
    );
    let head = view.place_head().into_iter().chain(["stall".to_owned()]);
    let head = head.chain(sides(view, ["reference", "stalled"], " stalled"));
    let figures = ["p", "p, all cells", "median stall", "longest"].map(str::to_owned);
    let rows = found().map(|(cell, Stalls { first, second, limit_ns, p, p_adjusted, .. })| {
        let limit = format!("> {}", format::duration(limit_ns.trunc()));
        let [p, p_adjusted] = [*p, *p_adjusted].map(format::p_value);
        let figures = [limit, share(first), share(second), p, p_adjusted].map(TableCell::Figure);
        let longest = both(first.largest_ns, second.largest_ns);
        let times = [both(first.median_ns, second.median_ns), longest];
        view.place(cell).into_iter().chain(figures).chain(times)
    });
    Some(Table::of(caption, head.chain(figures), rows))
}

/// `2 of 35 [0.7 %, 19.2 %]`.
fn share(share: &Share) -> String {
    let interval = format::interval(share.low, share.high, format::percent);
    format!("{} of {} {interval}", share.stalled, share.samples)
}

fn both(first_ns: Option<Observation>, second_ns: Option<Observation>) -> TableCell {
    let text = |it: Option<Observation>| it.as_ref().map_or("-".to_owned(), format::observed);
    let both = format!("{} : {}", text(first_ns), text(second_ns));
    TableCell::figure(first_ns.or(second_ns).map(|_| both))
}

pub(super) fn seeds(view: &View) -> Option<Table> {
    let found =
        || view.comparison.cells.iter().filter_map(|cell| Some((cell, cell.seeds.as_ref()?)));
    found().next()?;
    let columns =
        ["seeds", "lowest", "quartile", "median", "quartile", "highest", "worse", "better", "same"];
    let caption =
        "Ratios seed by seed: exact, since equal inputs give equal values (no model of noise)";
    let head = view.place_head().into_iter().chain(columns.map(str::to_owned));
    let rows = found().map(|(cell, seeds)| {
        let all = seeds.ratios.len();
        let [low, middle, high] = seeds.quartiles;
        let ratios = [seeds.lowest, low, middle, high, seeds.highest].map(TableCell::ratio);
        let counts = [seeds.worse, seeds.better, all - seeds.worse - seeds.better];
        let place = view.place(cell).into_iter().chain([all.into()]);
        place.chain(ratios).chain(counts.map(TableCell::from))
    });
    Some(Table::of(caption, head, rows))
}

/// The effect of each arm over all cells, the primary estimate of a comparison; `None` without any.
pub(super) fn overall(view: &View) -> Option<Table> {
    let caption = "Over all cells, each counting once: the primary estimate";
    let arm: Vec<String> = view.several_arms().then(|| view.factor()).into_iter().collect();
    let columns = ["response", "cells", "ratio", "interval", "verdict", "reason"];
    let head = arm.into_iter().chain(columns.map(str::to_owned));
    let rows = view.comparison.overall.iter().map(|overall| {
        let arm = view.several_arms().then(|| TableCell::from(view.arm(overall.arm)));
        let effect = overall.effect.as_ref();
        let interval = effect.map(|found| TableCell::Interval(usable(found.low, found.high)));
        let figures = [
            TableCell::from(&overall.response),
            overall.cells.into(),
            TableCell::Ratio(overall.ratio_mark, overall.ratio),
            interval.into(),
            verdict_cell(overall.verdict),
            judged_by(overall).into(),
        ];
        arm.into_iter().chain(figures)
    });
    Some(Table::of(caption, head, rows)).filter(|table| !table.rows.is_empty())
}

fn judged_by(overall: &Overall) -> String {
    let tests = overall.effect.as_ref().map(|effect| match (effect.mixed, effect.permutation) {
        (Some(_), Some(_)) => "mixed model and permutation test, the wider",
        (Some(_), None) => "mixed model",
        (None, Some(_)) => "permutation test",
        (None, None) => "all values are the same",
    });
    let parts = [overall.reason.clone(), tests.map(str::to_owned)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
