//! Shared counters that forked workers write and their parent reads at any time.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::memory::Mapping;

/// Counters per worker.
pub const SLOTS: usize = 16;
/// Longest failure message per worker, in bytes.
pub const MESSAGE_BYTES: usize = 240;

/// What one worker writes; two workers never share a cache line.
#[repr(C, align(128))]
struct Row {
    slots: [AtomicU64; SLOTS],
    message_bytes: AtomicU64,
    message: [AtomicU8; MESSAGE_BYTES],
}

/// Shared memory with one row of counters and one failure message per worker. Reads take no lock.
#[derive(Debug)]
pub struct SharedCounters {
    mapping: Mapping,
    workers: usize,
}

impl SharedCounters {
    /// Shared counters for workers that are forked later, all counters 0, if memory can be mapped.
    pub fn new(workers: usize) -> io::Result<Self> {
        let mapping = Mapping::shared(workers.max(1) * size_of::<Row>())?;
        Ok(Self { mapping, workers: workers.max(1) })
    }

    /// How many workers have a row.
    pub fn workers(&self) -> usize {
        self.workers
    }

    fn row(&self, worker: usize) -> &Row {
        let index = worker.min(self.workers - 1);
        // SAFETY: the mapping holds `workers` rows from its page-aligned start and lives as long as
        // `self`; a row has atomics only, which may be zero and change at any time.
        unsafe { &*self.mapping.start().as_ptr().cast::<Row>().add(index) }
    }

    /// Adds to a counter; a slot beyond the last does nothing.
    pub fn add(&self, worker: usize, slot: usize, amount: u64) {
        if let Some(counter) = self.row(worker).slots.get(slot) {
            counter.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// Sets a counter; a slot beyond the last does nothing.
    pub fn set(&self, worker: usize, slot: usize, value: u64) {
        if let Some(counter) = self.row(worker).slots.get(slot) {
            counter.store(value, Ordering::Relaxed);
        }
    }

    /// One counter of one worker.
    pub fn get(&self, worker: usize, slot: usize) -> u64 {
        self.row(worker).slots.get(slot).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// The sum of a counter over all workers.
    pub fn total(&self, slot: usize) -> u64 {
        (0..self.workers).fold(0, |sum, worker| sum.wrapping_add(self.get(worker, slot)))
    }

    /// Leaves a message for the parent before the worker gives up; the first message stays.
    pub fn fail(&self, worker: usize, text: &str) {
        let row = self.row(worker);
        if row.message_bytes.load(Ordering::Acquire) != 0 {
            return;
        }
        let bytes = &text.as_bytes()[..text.len().min(MESSAGE_BYTES)];
        for (to, from) in row.message.iter().zip(bytes) {
            to.store(*from, Ordering::Relaxed);
        }
        row.message_bytes.store(bytes.len() as u64, Ordering::Release);
    }

    /// The message that a worker left.
    pub fn failure(&self, worker: usize) -> Option<String> {
        let row = self.row(worker);
        let length = row.message_bytes.load(Ordering::Acquire) as usize;
        let bytes: Vec<u8> =
            row.message.iter().take(length).map(|byte| byte.load(Ordering::Relaxed)).collect();
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_messages_are_kept_apart() {
        let shared = SharedCounters::new(2).unwrap();
        shared.add(0, 1, 5);
        shared.add(1, 1, 7);
        shared.fail(1, &"x".repeat(500));
        shared.fail(1, "later");
        assert_eq!(shared.total(1), 12);
        assert_eq!(shared.failure(0), None);
        assert_eq!(shared.failure(1), Some("x".repeat(MESSAGE_BYTES)));
        shared.add(9, 99, 1);
    }
}
