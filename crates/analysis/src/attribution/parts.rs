//! Which part of the work a change comes from.

use serde::Serialize;
use stats::{Part, PartChange, Scale};

use super::table::Table;

/// What one part of the work, such as a command, adds to a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartShare {
    /// The part.
    pub part: String,
    /// Its mean before.
    pub before: f64,
    /// Its mean after.
    pub after: f64,
    /// Percentage of the change of all parts together; absent when nothing changed.
    pub percent: Option<f64>,
    /// Smallest and largest percentage over all pairs of a trial before and a trial after.
    pub bounds: Option<(f64, f64)>,
    /// How the part's change divides among the factors; empty with one factor.
    pub factors: Vec<FactorPart>,
}

/// What one factor does to one part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorPart {
    /// The factor.
    pub factor: String,
    /// Its contribution (Shapley value), in the response's unit.
    pub contribution: f64,
    /// Percentage of the change of all parts together.
    pub percent: Option<f64>,
}

/// The parts of one step, largest change first; empty where the response has none.
pub(super) fn parts(table: &Table) -> Vec<PartShare> {
    let ends = [0, 1].map(|level| vec![level; table.factors.len()]);
    let part = |name: &String| {
        let [before, after] = ends.each_ref().map(|levels| -> Vec<f64> {
            let rows = table.rows.iter().filter(|row| row.levels == *levels);
            rows.filter_map(|row| row.parts.get(name).copied()).collect()
        });
        let known = !before.is_empty() && !after.is_empty();
        known.then(|| Part { name: name.clone(), before, after })
    };
    let parts: Vec<Part> = table.parts.iter().filter_map(part).collect();
    let found = stats::breakdown(&parts).unwrap_or_default();
    let sum = |side: fn(&Part) -> &Vec<f64>| -> f64 {
        parts.iter().filter_map(|part| stats::mean(side(part))).sum()
    };
    // Bounds are over trials, so every trial must have all parts.
    let mut rows = table.rows.iter().filter(|row| ends.contains(&row.levels));
    let whole = rows.all(|row| row.parts.len() == table.parts.len());
    let total = sum(|part| &part.after) - sum(|part| &part.before);
    let share = |change: PartChange| PartShare {
        factors: factors(table, &change.name, &ends, total),
        part: change.name,
        before: change.before,
        after: change.after,
        percent: change.share.map(|share| 100.0 * share),
        bounds: change
            .share_bounds
            .filter(|_| whole)
            .map(|(low, high)| (100.0 * low, 100.0 * high)),
    };
    found.into_iter().map(share).collect()
}

/// How the change of one part divides among several factors; Shapley values add over parts.
fn factors(table: &Table, part: &str, ends: &[Vec<usize>; 2], total: f64) -> Vec<FactorPart> {
    if table.factors.len() == 1 {
        return Vec::new();
    }
    let data = table.factorial(|row| row.parts.get(part).copied());
    let found = stats::shapley_of(&data, &ends[0], &ends[1], Scale::Additive);
    let factors = table.factors.iter().zip(found.unwrap_or_default());
    let part = |(factor, found): (&crate::Factor, stats::Contribution)| FactorPart {
        factor: factor.name.clone(),
        contribution: found.effect,
        percent: (total != 0.0).then(|| 100.0 * found.effect / total),
    };
    factors.map(part).collect()
}
