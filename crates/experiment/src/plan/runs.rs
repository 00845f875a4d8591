//! The runs of a plan in their order: randomised complete blocks.

use super::{CellPlan, Plan};

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// Its name, also that of its file.
    pub run_id: String,
    /// Index of its cell.
    pub cell: usize,
    /// Its block, from 0.
    pub block: u32,
    /// The block's seed.
    pub seed: u64,
}

/// All runs of a plan in their order.
pub type RunList = Vec<PlannedRun>;

impl Plan {
    /// The runs in their order. Each block is one pass through all cells, in an order of its own;
    /// of two cells the order is reversed in every second block (ABBA), so that a steady drift falls
    /// on both alike.
    #[must_use]
    pub fn runs(&self, cells: &[CellPlan]) -> RunList {
        let blocks = match cells.len() {
            2 => stats::abba(self.seeds.len().div_ceil(2), self.order_seed),
            count => stats::randomised_blocks(count, self.seeds.len(), self.order_seed),
        };
        let mut runs = Vec::new();
        for (block, (seed, order)) in self.seeds.iter().zip(blocks).enumerate() {
            runs.extend(order.into_iter().map(|cell| PlannedRun {
                // By cell and seed: the name of a guest's run belongs to what its cache keeps.
                run_id: format!("{:02}-{}-seed{seed}", self.first_cell + cell, cells[cell].label()),
                cell,
                block: block as u32,
                seed: *seed,
            }));
        }
        runs
    }
}
