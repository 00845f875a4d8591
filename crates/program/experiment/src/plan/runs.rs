//! The runs of a plan in order: randomised complete blocks, or up and down along a factor.

use model::ManifestRun;

use super::{Order, Plan, label};

impl Plan {
    /// The runs in order, each with the index of its cell. A block is one pass through all cells.
    ///
    /// Each block has its own random order; with two cells every second block is reversed (ABBA),
    /// so that a steady drift affects both alike.
    pub fn runs(&self) -> Vec<(usize, ManifestRun)> {
        let cells = self.combinations().unwrap_or_default();
        let cells: Vec<_> = cells.iter().map(|levels| self.named(levels)).collect();
        let first_block = match self.order {
            Order::Random(_) => 0,
            Order::UpAndDown { first_block } => first_block,
        };
        let mut runs = Vec::new();
        let blocks = self.seeds.iter().zip(self.blocks(cells.len()));
        for (block, (seed, order)) in (first_block..).zip(blocks) {
            runs.extend(order.into_iter().map(|cell| {
                // A guest's cell is kept under this name. Along a factor cells come and go, so the
                // levels alone are the name.
                let number = match self.order {
                    Order::Random(_) => self.first_cell + cell,
                    Order::UpAndDown { .. } => self.first_cell,
                };
                let run_id = format!("{number:02}-{}-seed{seed}", label(&cells[cell]));
                let levels = cells[cell].iter().cloned().collect();
                (cell, ManifestRun { run_id, levels, block, seed: *seed })
            }));
        }
        runs
    }

    fn blocks(&self, cells: usize) -> Vec<Vec<usize>> {
        match (self.order, cells) {
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
}
