//! When keys were referred to last.

use super::table::Table;

#[derive(Clone, Debug)]
pub(super) struct Times {
    table: Table,
    times: Vec<u64>,
}

impl Times {
    pub(super) fn new() -> Self {
        Self { table: Table::for_length(0), times: Vec::new() }
    }

    /// The number of a key, which it keeps, and its time; `None` if it is new.
    pub(super) fn find(&mut self, key: u64, now: u64) -> (usize, Option<u64>) {
        let (mut slot, index) = self.table.find(key);
        if let Some(index) = index {
            return (index as usize, Some(self.times[index as usize]));
        }
        if self.table.is_full() {
            self.table.grow();
            slot = self.table.find(key).0;
        }
        self.table.insert(slot, key, self.times.len() as u32);
        self.times.push(now);
        (self.times.len() - 1, None)
    }

    pub(super) fn set(&mut self, index: usize, now: u64) {
        self.times[index] = now;
    }

    pub(super) fn all(&self) -> &[u64] {
        &self.times
    }
}
