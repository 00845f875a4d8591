//! A measured value that may be a lower bound only.

use serde::{Deserialize, Serialize};

/// One measurement: a value, or a bound that the true value is not below.
///
/// Whoever reads the value must say what it does with bounds; that is why this is not a plain
/// number. A start that never completed is known to have taken at least the time until the run
/// ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The value, or the bound, in the unit of its response.
    pub value: f64,
    /// Whether the true value may be larger.
    pub is_lower_bound: bool,
}

impl Observation {
    /// A value that was measured to its end.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, is_lower_bound: false }
    }

    /// What stands before the value in print: `≥ ` of a lower bound, else nothing.
    #[must_use]
    pub const fn mark(&self) -> &'static str {
        if self.is_lower_bound { "≥ " } else { "" }
    }

    /// A value that is at least this.
    #[must_use]
    pub const fn at_least(value: f64) -> Self {
        Self { value, is_lower_bound: true }
    }
}
