//! What a fault costs: the slope of system time on faults.

use serde::Serialize;

use super::{Row, Settings};

/// Time of the system for one fault, by regression over the levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultCost {
    /// It can be told.
    Known {
        /// Estimate, ns.
        cost_ns: f64,
        /// Lower end of its interval, ns.
        low_ns: f64,
        /// Upper end of its interval, ns.
        high_ns: f64,
        /// Part of the variance of system time that faults explain.
        r_squared: f64,
        /// How many levels it rests on.
        levels: usize,
        /// The figure that counted as faults: `translation_faults`, `faults`.
        faults: String,
    },
    /// It cannot.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// The figures that count as faults, the first that was measured.
const FAULTS: [&str; 3] = ["translation_faults", "faults", "major_faults"];

/// System time over faults.
pub(super) fn fault_cost(rows: &[Row], _settings: &Settings) -> FaultCost {
    let is_measured = |name: &&&str| rows.iter().any(|row| row.figures.contains_key(**name));
    let why = match FAULTS.iter().find(is_measured) {
        None => "faults were not counted",
        Some(_) => "no regression was made",
    };
    FaultCost::Unknown { why: why.to_owned() }
}
