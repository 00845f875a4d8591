//! The parts of the differences of mean delays, cell by cell.

use analysis::comparison::Cell;
use analysis::distinct;
use analysis::explained::{ExplainedDifference, PartDifference};
use render::{Block, Cell as TableCell, Table, format};

use super::View;

const MOST_PARTS: usize = 4;
/// Parts below this share of the sum of all differences are not shown.
const SHOWN_FROM: f64 = 0.02;

/// The table and the unknown parts, if any cell has explained samples on both sides.
pub(super) fn explained(view: &View) -> Vec<Block> {
    let found = || view.comparison.cells.iter().filter_map(|cell| Some((cell, of(cell)?)));
    let Some((_, first)) = found().next() else { return Vec::new() };
    let caption = format!(
        "Where the differences of the mean delays come from, with {} intervals by t, each by itself",
        format::percent(first.confidence)
    );
    let head = ["mean delay", "difference", "consists of"].map(str::to_owned);
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
fn of(cell: &Cell) -> Option<&ExplainedDifference> {
    let explained = cell.explained.as_ref()?;
    (explained.delay.first_ns > 0.0 || explained.delay.second_ns > 0.0).then_some(explained)
}

/// The parts with the largest differences, and the sum of the others.
fn parts(explained: &ExplainedDifference) -> String {
    let mut parts: Vec<_> = explained.parts.iter().collect();
    parts.sort_by(|a, b| b.1.difference_ns.abs().total_cmp(&a.1.difference_ns.abs()));
    let all_ns: f64 = parts.iter().map(|(_, found)| found.difference_ns.abs()).sum();
    let is_shown = |(_, found): &&(_, &PartDifference)| {
        all_ns > 0.0 && found.difference_ns.abs() >= SHOWN_FROM * all_ns
    };
    let shown = parts.iter().take(MOST_PARTS).take_while(is_shown);
    let mut texts: Vec<String> =
        shown.map(|(part, found)| format!("{} {}", part.title(), difference(found))).collect();
    let others_ns: f64 = parts[texts.len()..].iter().map(|(_, found)| found.difference_ns).sum();
    if others_ns.abs() >= 1.0 {
        texts.push(format!("others {}", signed(others_ns)));
    }
    if texts.is_empty() { "no part differs".to_owned() } else { texts.join(", ") }
}

/// `+120ms [+100ms, +140ms]`.
fn difference(found: &PartDifference) -> String {
    let interval = found.interval_ns.map_or_else(String::new, |(low_ns, high_ns)| {
        format!(" {}", format::interval(low_ns, high_ns, signed))
    });
    format!("{}{interval}", signed(found.difference_ns))
}

fn signed(difference_ns: f64) -> String {
    format::signed(format::duration(difference_ns.round()))
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
