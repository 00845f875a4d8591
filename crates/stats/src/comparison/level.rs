//! When a p-value reaches a level.

/// Whether a p-value is at most this level; an excess of rounding size is forgiven.
pub(crate) fn reaches(p: f64, level: f64) -> bool {
    p <= level * (1.0 + 1e-12)
}
