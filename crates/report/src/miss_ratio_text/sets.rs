//! Set-associative caches: miss ratios by sets and ways.

use mmu::curve::UnitCurves;
use render::{Cell, Table};

use super::{figure, unit_name};

/// Numbers of ways that have a column.
const WAYS: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];

/// A row for each number of sets.
pub(super) fn table(unit: &UnitCurves) -> Table {
    let most = unit.sets.iter().map(|curve| curve.misses.len()).max().unwrap_or(0);
    let ways: Vec<usize> = WAYS.into_iter().filter(|ways| *ways <= most).collect();
    let caption = format!(
        "Miss ratio of sets of {}, LRU in each set (all references counted)",
        unit_name(unit)
    );
    let heads = ways.iter().map(|ways| render::format::counted(*ways, "way"));
    let mut table = Table::new(caption, ["sets".to_owned()].into_iter().chain(heads));
    let references = unit.curve.references.max(1) as f64;
    for curve in &unit.sets {
        let ratios = ways.iter().map(|ways| {
            let misses = curve.misses.get(ways - 1);
            misses.map(|misses| figure(*misses as f64 / references)).into()
        });
        table.row([Cell::count(curve.sets)].into_iter().chain(ratios));
    }
    table
}
