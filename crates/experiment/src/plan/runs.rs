//! The runs of a plan in their order: randomised complete blocks, or up and down along a factor.

use super::{CellPlan, Order, Plan};

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

impl Plan {
    /// The runs in their order. Each block is one pass through all cells.
    ///
    /// In random order each block has one of its own; of two cells the order is reversed in every
    /// second block (ABBA), so that a steady drift falls on both alike.
    pub fn runs(&self, cells: &[CellPlan]) -> Vec<PlannedRun> {
        let first_block = match self.order {
            Order::Random(_) => 0,
            Order::UpAndDown { first_block } => first_block,
        };
        let mut runs = Vec::new();
        for (block, (seed, order)) in (first_block..).zip(self.seeds.iter().zip(self.blocks(cells)))
        {
            runs.extend(order.into_iter().map(|cell| PlannedRun {
                run_id: self.name_of(cells, cell, *seed),
                cell,
                block,
                seed: *seed,
            }));
        }
        runs
    }

    fn blocks(&self, cells: &[CellPlan]) -> Vec<Vec<usize>> {
        match (self.order, cells.len()) {
            (Order::Random(seed), 2) => stats::abba(self.seeds.len().div_ceil(2), seed),
            (Order::Random(seed), count) => stats::randomised_blocks(count, self.seeds.len(), seed),
            (Order::UpAndDown { first_block }, count) => (first_block..)
                .take(self.seeds.len())
                .map(|block| match block.is_multiple_of(2) {
                    true => (0..count).collect(),
                    false => (0..count).rev().collect(),
                })
                .collect(),
        }
    }

    /// By cell and seed: the name of a guest's run belongs to what its cache keeps. Along a factor
    /// cells come and go, so there the levels alone make the name.
    fn name_of(&self, cells: &[CellPlan], cell: usize, seed: u64) -> String {
        let number = match self.order {
            Order::Random(_) => self.first_cell + cell,
            Order::UpAndDown { .. } => self.first_cell,
        };
        run_id(number, &cells[cell].label(), seed)
    }
}

pub(crate) fn run_id(number: usize, label: &str, seed: u64) -> String {
    format!("{number:02}-{label}-seed{seed}")
}
