//! A run that is to be made, and where.

use model::Spec;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Stage,
    /// The session of this index.
    Remote(usize),
    /// The guest machine of this index.
    Guest(usize),
    Simulator,
}

impl At {
    /// Whether it is a real machine, which takes part in what it makes.
    pub(crate) fn is_measured(self) -> bool {
        matches!(self, Self::Stage | Self::Remote(_))
    }
}

pub(crate) struct Order {
    pub(crate) run_id: String,
    /// What progress calls it.
    pub(crate) label: String,
    /// Index of its cell, or its place in the order of a matrix.
    pub(crate) cell: usize,
    pub(crate) spec: Spec,
    pub(crate) at: At,
}
