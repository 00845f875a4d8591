//! The tables of a comparison: with a row per cell, of effects over all cells, and of delays.

use analysis::comparison::{
    Cell, Comparison, EndCount, Ends, Outcome, Overall, PairedBy, Share, Stalls, Unit, method_words,
};
use analysis::distinct;
use analysis::explained::{ExplainedDifference, Part, PartDifference};
use itertools::Itertools;
use model::Observation;
use render::{Block, Cell as TableCell, Table, format};
use stats::{CellResult, NotDecided};

use super::{View, usable, verdict_cell};

const FEW_VALUES: usize = 12;
const FEW_ROWS: usize = 40;

pub(super) fn verdicts(view: &View) -> Table {
    let comparison = view.comparison;
    let head = view.place_head().into_iter().chain(sides(view, ["reference", "median"], " median"));
    let figures = ["ratio", "interval", "verdict", "reason"].map(str::to_owned);
    let rows = comparison.cells.iter().map(|cell| {
        let unit = &comparison.responses[&cell.response].unit;
        let medians = match &cell.outcome {
            Outcome::Ends(ends) => [&ends.first, &ends.second].map(failed),
            _ => [&cell.first, &cell.second].map(|side| observed_cell(side.median.as_ref(), unit)),
        };
        let ratio = cell.ratio().map(|ratio| TableCell::Ratio(cell.ratio_mark(), ratio));
        // With too few values the interval is only the range of their ratios.
        let found = cell.judged().filter(|it| it.why != Some(NotDecided::TooFewValues));
        let ends = found.map(|found| usable(found.adjusted_low, found.adjusted_high));
        let interval = ends.map(TableCell::Interval);
        let verdict = verdict_cell(cell.verdict);
        let figures = [ratio.into(), interval.into(), verdict, reason(cell).into()];
        view.place(cell).into_iter().chain(medians).chain(figures)
    });
    Table::of("", head.chain(figures), rows)
}

/// The headings of a figure of the reference and of the other arm, or of named arms if there are two.
fn sides(view: &View, of_several: [&str; 2], what: &str) -> [String; 2] {
    match view.several_arms() {
        true => of_several.map(str::to_owned),
        false => [0, 1].map(|index| format!("{}{what}", view.arm(index))),
    }
}

fn failed(count: &EndCount) -> TableCell {
    TableCell::Figure(format!("failed {} of {}", count.failed, count.trials))
}

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
        Some(NotDecided::NotAmongSoMany) => "the difference is not certain among that many cells",
        Some(NotDecided::MarginInsideInterval) => "a difference, but perhaps within the margin",
        Some(NotDecided::BoundsDecide) => {
            "runs that never finished leave it open: a longer timeout would decide it"
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
    parts.into_iter().flatten().join("; ")
}

const MOST_PARTS: usize = 4;
/// Parts below this share of the sum of all differences are not shown.
const SHOWN_FROM: f64 = 0.02;

pub(super) fn explained(view: &View) -> Vec<Block> {
    let found = || view.comparison.cells.iter().filter_map(|cell| Some((cell, explanation(cell)?)));
    let Some((cell, first)) = found().next() else { return Vec::new() };
    let what = if cell.response == "delay_ns" { "delay" } else { "time" };
    let caption = format!(
        "Where the differences of the mean {what}s come from, with {} intervals by t, each by itself",
        format::percent(first.confidence)
    );
    let head = [format!("mean {what}"), "difference".to_owned(), "consists of".to_owned()];
    let rows = found().map(|(cell, explained)| {
        let [first, second] = [explained.delay.first_ns, explained.delay.second_ns]
            .map(|mean_ns| format::duration(mean_ns.trunc()));
        let figures = [format!("{first} : {second}"), difference(&explained.delay)];
        let place = view.place(cell).into_iter().chain(figures.map(TableCell::Figure));
        place.chain([parts(explained).into()])
    });
    let head = view.place_head().into_iter().chain(head);
    let mut blocks = vec![Table::of(caption, head, rows).into()];
    let unknown = found().flat_map(|(_, explained)| &explained.unknown);
    let unknown = distinct(unknown.map(|part| part.title()));
    if !unknown.is_empty() {
        blocks.push(format!("Unknown of an arm: {}.", unknown.join(", ")).into());
    }
    blocks
}

/// The explanation of a cell, unless both delays are 0.
fn explanation(cell: &Cell) -> Option<&ExplainedDifference> {
    let explained = cell.explained.as_ref()?;
    (explained.delay.first_ns > 0.0 || explained.delay.second_ns > 0.0).then_some(explained)
}

/// The parts with the largest differences, and the sum of the others.
fn parts(explained: &ExplainedDifference) -> String {
    let size = |(_, found): &(&Part, &PartDifference)| found.difference_ns.abs();
    let parts = explained.parts.iter().sorted_by(|a, b| size(b).total_cmp(&size(a))).collect_vec();
    let all_ns: f64 = parts.iter().map(size).sum();
    let shown = parts.iter().take(MOST_PARTS);
    let shown = shown.take_while(|it| all_ns > 0.0 && size(it) >= SHOWN_FROM * all_ns);
    let mut texts: Vec<String> =
        shown.map(|(part, found)| format!("{} {}", part.title(), difference(found))).collect();
    let others_ns: f64 = parts[texts.len()..].iter().map(|(_, found)| found.difference_ns).sum();
    if others_ns.abs() >= 1.0 {
        texts.push(format!("others {}", signed(others_ns)));
    }
    if texts.is_empty() { "no part differs".to_owned() } else { texts.join(", ") }
}

fn difference(found: &PartDifference) -> String {
    let interval = found.interval_ns.map_or_else(String::new, |(low_ns, high_ns)| {
        format!(" {}", format::interval(low_ns, high_ns, signed))
    });
    format!("{}{interval}", signed(found.difference_ns))
}

fn signed(difference_ns: f64) -> String {
    format::signed(format::duration(difference_ns.round()))
}

/// Tables of few values, one per response: a row per trial, a column per arm.
pub(super) fn trials(view: &View) -> Vec<Table> {
    let most = |cell: &Cell| cell.first.values.len().max(cell.second.values.len());
    let Comparison { cells, responses, .. } = view.comparison;
    if cells.iter().any(|cell| most(cell) > FEW_VALUES) || cells.iter().all(|cell| most(cell) <= 1)
    {
        return Vec::new();
    }
    let tables = responses.keys().filter_map(|response| of_response(view, response)).collect_vec();
    let rows: usize = tables.iter().map(|table| table.rows.len() + 1).sum();
    if rows <= FEW_ROWS { tables } else { Vec::new() }
}

/// The values of one response; `None` if there are none, or the arms have different references.
fn of_response(view: &View, response: &str) -> Option<Table> {
    let Comparison { arms, cells, responses, .. } = view.comparison;
    let unit = &responses[response].unit;
    let of_response = || cells.iter().filter(|cell| cell.response == response);
    let mut places: Vec<&Cell> = Vec::new();
    for cell in of_response() {
        match places.iter().find(|place| is_same_place(place, cell)) {
            // Pairing may leave out different reference trials for each arm.
            Some(place) if place.first.values != cell.first.values => return None,
            Some(_) => {}
            None => places.push(cell),
        }
    }
    let is_labelled = places.len() > 1;
    let mut table = Table::new("", [response.to_owned()]);
    table.head.extend(is_labelled.then(|| "trial".to_owned()));
    table.head.extend((0..arms.len()).map(|index| view.arm(index)));
    for place in &places {
        let second = |arm: usize| {
            let cell = of_response().find(|cell| cell.arm == arm && is_same_place(place, cell));
            cell.map_or(&[][..], |cell| cell.second.values.as_slice())
        };
        let first = [place.first.values.as_slice()].into_iter();
        let sides: Vec<&[Observation]> = first.chain((1..arms.len()).map(second)).collect();
        let most = sides.iter().map(|values| values.len()).max().unwrap_or(0);
        for index in 0..most {
            let value = |values: &&[Observation]| match values.get(index) {
                Some(value) => observed_cell(Some(value), unit),
                None => TableCell::blank(),
            };
            let label = if index == 0 { rows_label(place) } else { String::new() };
            let label = is_labelled.then(|| TableCell::from(label));
            let row = label.into_iter().chain([TableCell::from(index + 1)]);
            table.row(row.chain(sides.iter().map(value)));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn rows_label(place: &Cell) -> String {
    let label = place.label();
    let is_whole = label.is_empty() || place.part.is_none() && place.levels.is_empty();
    if is_whole { "whole".to_owned() } else { label }
}

fn is_same_place(first: &Cell, second: &Cell) -> bool {
    first.levels == second.levels && first.part == second.part
}

/// A measured value, marked if it is a lower bound.
pub(crate) fn observed_cell(value: Option<&Observation>, unit: &str) -> TableCell {
    match value {
        None => TableCell::absent(),
        Some(value) if unit == "ns" => TableCell::Duration(*value),
        Some(it) => TableCell::Figure(format!("{}{}", it.mark(), format::number(it.value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::explained::Part;

    fn part(difference_ms: f64, interval_ms: Option<(f64, f64)>) -> PartDifference {
        PartDifference {
            first_ns: 1e7,
            second_ns: 1e7 + difference_ms * 1e6,
            difference_ns: difference_ms * 1e6,
            interval_ns: interval_ms.map(|(low, high)| (low * 1e6, high * 1e6)),
        }
    }

    fn of_parts(parts: &[(Part, PartDifference)]) -> ExplainedDifference {
        ExplainedDifference {
            delay: part(parts.iter().map(|(_, found)| found.difference_ns / 1e6).sum(), None),
            parts: parts.iter().copied().collect(),
            unknown: Vec::new(),
            values: [4, 4],
            confidence: 0.95,
        }
    }

    #[test]
    fn the_largest_differences_are_told_and_the_others_together() {
        let found = of_parts(&[
            (Part::User, part(0.5, Some((-1.0, 2.0)))),
            (Part::System, part(-0.4, None)),
            (Part::CpuWait, part(-20.0, Some((-25.0, -15.0)))),
            (Part::Thrashing, part(120.0, Some((100.0, 140.0)))),
        ]);
        assert_eq!(
            parts(&found),
            "thrashing +120ms [+100ms, +140ms], CPU wait -20.0ms [-25.0ms, -15.0ms], others +100us"
        );
    }

    #[test]
    fn no_difference_is_no_part() {
        assert_eq!(parts(&of_parts(&[(Part::User, part(0.0, None))])), "no part differs");
    }
}
