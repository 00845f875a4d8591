//! How a curve is read, and the words for its ends.

use serde::Serialize;

/// How a curve is read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Coverage of intervals, from 0 to 1, both excluded.
    pub confidence: f64,
    /// Factor of the cost that counts as leaving the plateau, above 1.
    pub least_rise: f64,
    /// The level in use now, from which headroom is reckoned.
    pub present: Option<f64>,
    /// Bootstrap samples behind an interval.
    pub resamples: usize,
    /// Seed of these samples.
    pub seed: u64,
    /// At which end the plateau lies; `None` = where the cost is lower.
    pub plateau: Option<End>,
    /// How many counters are told at most.
    pub most_movers: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            confidence: 0.95,
            least_rise: 1.5,
            present: None,
            resamples: 1000,
            seed: 0,
            plateau: None,
            most_movers: 12,
        }
    }
}

/// An end of the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Low levels, as for a footprint that grows.
    Low,
    /// High levels, as for a limit that shrinks.
    High,
}
