//! The ledger of conditions.

use analysis::attribution::Ledger;
use render::format::and;
use render::{Block, Cell, Table};

/// In what experiments differ, and what they have in common.
pub(super) fn blocks(ledger: &Ledger) -> Vec<Block> {
    let plain = |name: &String| name.replace('_', " ");
    let head = ["condition".to_owned()].into_iter().chain(ledger.names.iter().cloned());
    let rows = ledger.differing.iter().map(|condition| {
        let values = condition.values.iter().map(|value| value.as_ref().map(Cell::from).into());
        [Cell::from(plain(&condition.name))].into_iter().chain(values)
    });
    let caption = "Conditions in which the experiments differ (- = not told)";
    let mut blocks = vec![Table::of(caption, head, rows).into()];
    if !ledger.common.is_empty() {
        let common = ledger.common.iter().map(|(name, value)| format!("{} {value}", plain(name)));
        let common: Vec<String> = common.collect();
        blocks.push(format!("The same in all: {}.", common.join("; ")).into());
    }
    let distances = ledger.distances.iter().map(|distance| {
        let (a, b) = (&ledger.names[distance.between.0], &ledger.names[distance.between.1]);
        let named: Vec<String> = distance.conditions.iter().map(plain).collect();
        match named.as_slice() {
            [] => format!("{a} and {b} differ in nothing that is told."),
            [one] => format!("{a} and {b} differ in {one} alone: what they disagree on is its."),
            all => format!("{a} and {b} differ in {} conditions: {}.", all.len(), and(all)),
        }
    });
    blocks.push(Block::List(distances.collect()));
    blocks
}
