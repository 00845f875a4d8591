//! The means of all combinations of two levels where some were not run, as in a fraction of a
//! factorial: as the fitted model has them.

use super::outcome::Effects;

/// The model's mean of each combination; bit f of the index is set when factor f is changed.
/// `None` if all were run.
pub(super) fn predicted(additive: &Effects) -> Option<Vec<f64>> {
    let cells = &additive.cells;
    if cells.iter().all(|cell| cell.mean.is_some()) {
        return None;
    }
    // Cells are in the order of counting: the last factor changes fastest.
    let factors = cells.len().trailing_zeros();
    let cell = |combination: usize| {
        (0..factors).fold(0, |cell, factor| cell << 1 | combination >> factor & 1)
    };
    Some((0..cells.len()).map(|combination| cells[cell(combination)].fitted).collect())
}
