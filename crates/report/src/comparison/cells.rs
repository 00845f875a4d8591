//! The tables of a comparison: a row a cell.

use analysis::comparison::{Cell, EndCount, Ends, Outcome, PairedBy, Share, Unit, method_words};
use model::Observation;
use render::{Cell as TableCell, Table, format};
use stats::{CellResult, NotDecided};

use super::trials::observed;
use super::{View, usable, verdict_cell};

/// The table of verdicts.
pub(super) fn verdicts(view: &View) -> Table {
    let comparison = view.comparison;
    let head = view.place_head().into_iter().chain(sides(view, ["reference", "median"], " median"));
    let figures = ["ratio", "interval", "verdict", "reason"].map(str::to_owned);
    let mut table = Table::new("", head.chain(figures));
    for cell in &comparison.cells {
        let unit = &comparison.responses[&cell.response].unit;
        let medians = match &cell.outcome {
            Outcome::Ends(ends) => [&ends.first, &ends.second].map(failed),
            _ => [&cell.first, &cell.second].map(|side| observed(side.median.as_ref(), unit)),
        };
        let ratio = cell.ratio().map(|ratio| TableCell::bounded_ratio(cell.ratio_mark(), ratio));
        let interval = cell
            .judged()
            .map(|found| TableCell::interval(usable(found.adjusted_low, found.adjusted_high)));
        let mut row = view.place(cell);
        row.extend(medians);
        row.extend([
            ratio.into(),
            interval.into(),
            verdict_cell(cell.verdict),
            reason(cell).into(),
        ]);
        table.row(row);
    }
    table
}

/// The headings of a figure of the reference and of the other arm, which has a name of its own if it
/// is the only one.
fn sides(view: &View, of_several: [&str; 2], what: &str) -> [String; 2] {
    match view.several_arms() {
        true => of_several.map(str::to_owned),
        false => [0, 1].map(|index| format!("{}{what}", view.arm(index))),
    }
}

fn failed(count: &EndCount) -> TableCell {
    TableCell::figure(format!("failed {} of {}", count.failed, count.trials))
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
                format::p_value(test.p),
                format::p_value(test.p_adjusted)
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
    let mut table = Table::new(caption, head.chain(figures));
    for (cell, stalls) in found() {
        let mut row = view.place(cell);
        row.push(TableCell::figure(format!("> {}", format::duration(stalls.limit_ns.trunc()))));
        row.extend([share(&stalls.first), share(&stalls.second)].map(TableCell::figure));
        row.extend([stalls.p, stalls.p_adjusted].map(|p| TableCell::figure(format::p_value(p))));
        row.push(both(stalls.first.median_ns, stalls.second.median_ns));
        row.push(both(stalls.first.largest_ns, stalls.second.largest_ns));
        table.row(row);
    }
    Some(table)
}

/// `2 of 35 [0.7 %, 19.2 %]`.
fn share(share: &Share) -> String {
    let interval = format::interval(share.low, share.high, format::percent);
    format!("{} of {} {interval}", share.stalled, share.samples)
}

fn both(first_ns: Option<Observation>, second_ns: Option<Observation>) -> TableCell {
    if first_ns.is_none() && second_ns.is_none() {
        return TableCell::absent();
    }
    let text = |it: Option<Observation>| it.as_ref().map_or("-".to_owned(), format::observed);
    TableCell::figure(format!("{} : {}", text(first_ns), text(second_ns)))
}

/// The ratios over seeds.
pub(super) fn seeds(view: &View) -> Option<Table> {
    let found =
        || view.comparison.cells.iter().filter_map(|cell| Some((cell, cell.seeds.as_ref()?)));
    found().next()?;
    let columns =
        ["seeds", "lowest", "quartile", "median", "quartile", "highest", "worse", "better", "same"];
    let caption =
        "Ratios seed by seed: exact, since equal inputs give equal values (no model of noise)";
    let head = view.place_head().into_iter().chain(columns.map(str::to_owned));
    let mut table = Table::new(caption, head);
    for (cell, seeds) in found() {
        let all = seeds.ratios.len();
        let [low, middle, high] = seeds.quartiles;
        let mut row = view.place(cell);
        row.push(all.into());
        row.extend([seeds.lowest, low, middle, high, seeds.highest].map(TableCell::ratio));
        let same = all - seeds.worse - seeds.better;
        row.extend([seeds.worse, seeds.better, same].map(TableCell::from));
        table.row(row);
    }
    Some(table)
}
