//! What the differences of mean delays consist of: a line a cell.

use analysis::comparison::Cell;
use analysis::distinct;
use analysis::explained::{ExplainedDifference, PartDifference};
use render::{Block, Cell as TableCell, Table, format};

use super::View;

const MOST_PARTS: usize = 4;
/// A part below this share of all differences together is not shown.
const TOLD_FROM: f64 = 0.02;

/// The table, and what is unknown; nothing if no cell has explained samples on both sides.
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
        let place = view.place(cell).into_iter().chain(figures.map(TableCell::figure));
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

/// What is known of a cell, unless both arms are the same.
fn of(cell: &Cell) -> Option<&ExplainedDifference> {
    let explained = cell.explained.as_ref()?;
    (explained.delay.first_ns > 0.0 || explained.delay.second_ns > 0.0).then_some(explained)
}

/// The parts with the largest differences, and the others together.
fn parts(explained: &ExplainedDifference) -> String {
    let mut parts: Vec<_> = explained.parts.iter().collect();
    parts.sort_by(|a, b| b.1.difference_ns.abs().total_cmp(&a.1.difference_ns.abs()));
    let all_ns: f64 = parts.iter().map(|(_, found)| found.difference_ns.abs()).sum();
    let told = parts
        .iter()
        .take(MOST_PARTS)
        .take_while(|(_, found)| found.difference_ns.abs() >= TOLD_FROM * all_ns && all_ns > 0.0)
        .count();
    let texts = parts[..told].iter();
    let mut texts: Vec<String> =
        texts.map(|(part, found)| format!("{} {}", part.title(), difference(found))).collect();
    let others_ns: f64 = parts[told..].iter().map(|(_, found)| found.difference_ns).sum();
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
