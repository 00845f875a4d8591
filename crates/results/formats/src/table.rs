//! Rows of imported CSV tables.

use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) key: Key,
    pub(super) part: Option<String>,
    /// All responses; empty where not published.
    pub(super) texts: Vec<(String, String)>,
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) levels: BTreeMap<String, String>,
    /// The trial column, else a number within equal levels and part.
    pub(super) trial: String,
    pub(super) block: Option<u64>,
    pub(super) seed: Option<u64>,
}
