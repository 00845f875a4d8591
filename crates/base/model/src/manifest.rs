//! The manifest of an experiment: which run has which levels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Format version that this build writes and reads.
pub const MANIFEST_SCHEMA: u32 = 1;

/// All runs of an experiment in order, done or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version.
    pub schema: u32,
    /// Version of thrashlab that planned it.
    pub thrashlab: String,
    /// The experiment's name.
    pub name: String,
    /// What was varied, in the plan's order.
    pub factors: Vec<ManifestFactor>,
    /// The responses of interest; empty = all of the measure.
    pub responses: Vec<String>,
    /// Aliased effects of a fraction, one per line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The runs in order.
    pub runs: Vec<ManifestRun>,
    /// The levels of a sweep, whose first factor is the swept parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<ManifestSweep>,
    /// The looks of a comparison that was looked at as it grew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ab: Option<ManifestAb>,
    /// The plan as its author wrote it (TOML).
    pub plan: String,
}

/// The looks at a growing comparison of two levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestAb {
    /// Ratios from 1 / (1 + margin) to 1 + margin do not matter.
    pub margin: f64,
    /// Chance of a wrong verdict over all looks.
    pub alpha: f64,
    /// The planned looks, each with the number of blocks before it and its own level α.
    pub looks: Vec<(u32, f64)>,
}

/// The levels of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestSweep {
    /// Unit of the levels: `bytes`, `ns`, or empty for a bare number.
    pub unit: String,
    /// Runs that could not be done, with the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
}

/// A factor of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFactor {
    /// Its name.
    pub name: String,
    /// Its levels; the first is the reference.
    pub levels: Vec<String>,
}

/// A run of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestRun {
    /// Its name; its file appends `.run.jsonl`.
    pub run_id: String,
    /// The level of each factor.
    pub levels: BTreeMap<String, String>,
    /// Its block, from 0.
    pub block: u32,
    /// The block's seed.
    pub seed: u64,
}
