//! A row of a table as it was read.

use std::collections::BTreeMap;

/// One row as it was read.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Number of its line, from 1.
    pub(super) line: usize,
    /// The level of each factor.
    pub(super) levels: BTreeMap<String, String>,
    /// The trial column, or else the row's number among those of equal levels and part.
    pub(super) trial: String,
    /// The part.
    pub(super) part: Option<String>,
    /// The text of every response, empty where nothing was published.
    pub(super) texts: BTreeMap<String, String>,
    /// Its block.
    pub(super) block: Option<u64>,
    /// Its seed.
    pub(super) seed: Option<u64>,
    /// The numbers, by response.
    pub(super) values: Vec<(String, f64)>,
}

/// What makes the rows of one trial.
pub(super) type Key = (BTreeMap<String, String>, String, Option<u64>, Option<u64>);

impl Row {
    /// See [`Key`].
    pub(super) fn key(&self) -> Key {
        (self.levels.clone(), self.trial.clone(), self.block, self.seed)
    }
}
