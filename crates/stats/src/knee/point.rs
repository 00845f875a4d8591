//! A level of a curve as its fits use it.

/// One point of the curve: the middle of a level's costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The level itself.
    pub level: f64,
    /// Logarithm of the level.
    pub x: f64,
    /// Logarithm of the cost.
    pub y: f64,
    /// Replicates behind it.
    pub weight: f64,
}
