//! Whether the printed raw ratios follow from the printed averages.

use model::resp1::Resp1Table;

/// Half a unit of the last printed place.
const HALF: f64 = 0.000_5;

/// A raw ratio, as printed and as recomputed.
#[derive(Clone, Debug, PartialEq)]
pub struct RatioCheck {
    /// The row's test.
    pub test: String,
    /// The ratio as printed.
    pub printed: f64,
    /// `average / average(noload)` of the printed averages.
    pub recomputed: f64,
    /// Whether both can be the same number, given that all three were rounded to 3 decimals.
    pub agrees: bool,
}

/// Recomputes every raw ratio as `average / average(noload)` (resp1 manual, 2003). Printed numbers
/// stand for ±0.0005, so the ratio is within `(a ∓ 0.0005) / (a0 ± 0.0005)`; it agrees if that
/// interval meets the printed one. Empty without a positive `noload` average.
pub fn check_ratios(table: &Resp1Table) -> Vec<RatioCheck> {
    let noload_ms = table.noload().map(|row| row.average_ms).filter(|value| *value > 0.0);
    let Some(noload_ms) = noload_ms else {
        return Vec::new();
    };
    let check = |row: &model::resp1::Resp1Row| RatioCheck {
        test: row.test.clone(),
        printed: row.ratio_raw,
        recomputed: row.average_ms / noload_ms,
        agrees: agrees(row.average_ms, noload_ms, row.ratio_raw),
    };
    table.rows.iter().map(check).collect()
}

/// The rule of [`check_ratios`]; `noload_ms` is above 0.
pub(super) fn agrees(average_ms: f64, noload_ms: f64, printed: f64) -> bool {
    // Allows for rounding in the arithmetic itself.
    let slack = 1e-9 * printed.abs().max(1.0);
    let least = (average_ms - HALF) / (noload_ms + HALF);
    let most =
        if noload_ms > HALF { (average_ms + HALF) / (noload_ms - HALF) } else { f64::INFINITY };
    printed + HALF + slack >= least && printed - HALF - slack <= most
}
