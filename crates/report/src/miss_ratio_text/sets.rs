//! Set-associative caches: miss ratios by sets and ways.

use mmu::curve::UnitCurves;

use crate::columns::to_the_right;

use super::{significant, unit_name};

/// Numbers of ways that have a column.
const WAYS: [usize; 11] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];

/// A row for each number of sets.
pub(super) fn text(unit: &UnitCurves) -> String {
    let most = unit.sets.iter().map(|curve| curve.misses.len()).max().unwrap_or(0);
    let ways: Vec<usize> = WAYS.into_iter().filter(|ways| *ways <= most).collect();
    let mut rows = vec![vec!["sets".to_owned()]];
    rows[0].extend(ways.iter().map(|ways| match ways {
        1 => "1 way".to_owned(),
        ways => format!("{ways} ways"),
    }));
    for curve in &unit.sets {
        let mut row = vec![curve.sets.to_string()];
        let references = unit.curve.references.max(1) as f64;
        row.extend(ways.iter().map(|ways| {
            let misses = curve.misses.get(ways - 1);
            misses.map_or_else(String::new, |misses| significant(*misses as f64 / references))
        }));
        rows.push(row);
    }
    let all = "all references counted";
    format!(
        "Miss ratio of sets of {}, LRU in each set ({all})\n{}",
        unit_name(unit),
        to_the_right(&rows)
    )
}
