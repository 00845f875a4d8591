//! Counters that the processes of a memory job share: a row each, the parent last.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter, Read};

use keep::io_results::at;
use serde::{Deserialize, Serialize};
use sys::clock::monotonic_ns;
use sys::process::{Exit, Usage, fork_child, usage};
use sys::shared_counters::SharedCounters;

use crate::assignment::Assignment;
use crate::children::send;

const TOUCHES: usize = 0;
const USAGE: usize = 1;
/// When the process finished its work; 0 before.
const ENDED_NS: usize = USAGE + Usage::NAMES.len();
/// First touches of places.
const FIRST: usize = ENDED_NS + 1;
/// The signal that ended a process, in the parent's row; 0 = none.
const SIGNAL: usize = FIRST + 1;
/// Approximate time between two updates of the counters, in ns.
const NOTE_NS: u64 = 2_000_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The process is ready; the parent of `vmtest` reports the loops of each child.
    Ready {
        loops: Option<u64>,
    },
    /// A round has ended; times are of the monotonic clock.
    Round {
        started_ns: u64,
        completed_ns: u64,
        touches: u64,
        usage: [u64; Usage::NAMES.len()],
    },
    Done,
}

/// The arguments of every process of the job.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) processes: usize,
    pub(crate) shared: &'a SharedCounters,
    pub(crate) writer: &'a PipeWriter,
    pub(crate) start: &'a PipeReader,
}

impl Side<'_> {
    pub(crate) fn send(&self, message: &Message) -> io::Result<()> {
        send(self.writer, message)
    }

    pub(crate) fn await_start(&self) -> io::Result<()> {
        let mut start = self.start;
        start.read_exact(&mut [0])
    }

    pub(crate) fn record_usage(&self, row: usize, usage: &Usage) {
        for (number, value) in usage.0.into_iter().enumerate() {
            self.shared.set(row, USAGE + number, value);
        }
    }

    pub(crate) fn record_end(&self, row: usize) {
        self.shared.set(row, ENDED_NS, monotonic_ns());
    }

    /// Clears the rows of all processes but the parent's.
    pub(crate) fn clear(&self) {
        for row in 0..self.processes {
            (TOUCHES..=FIRST).for_each(|slot| self.shared.set(row, slot, 0));
        }
    }

    /// Forks all processes that work; returns their rows by process id.
    pub(crate) fn fork_all(&self, work: impl Fn(usize) -> i32) -> io::Result<BTreeMap<u32, usize>> {
        let mut rows = BTreeMap::new();
        for row in 0..self.processes {
            let (number, all) = (row + 1, self.processes);
            let step = format_args!("start process {number} of {all}");
            let pid = fork_child(|| work(row)).map_err(at(step))?;
            rows.insert(pid, row);
        }
        Ok(rows)
    }

    /// Fails with the reason if the process of a row failed.
    pub(crate) fn ended(&self, row: Option<&usize>, exit: Exit) -> io::Result<()> {
        let row = row.copied().unwrap_or_default();
        if exit == Exit::Code(0) {
            return Ok(());
        }
        let failure = self.shared.failure(row);
        if let (None, Exit::Signal(number)) = (&failure, exit) {
            self.shared.set(self.processes, SIGNAL, number as u64);
        }
        let how = failure.unwrap_or_else(|| exit.to_string());
        Err(io::Error::other(format!("process {row} of {}: {how}", self.processes)))
    }
}

/// Runs and records the touches of one process in batches.
pub(crate) struct Recorder<'a> {
    side: &'a Side<'a>,
    row: usize,
    touches: u64,
    /// Units of work in the next batch.
    piece: u64,
    since_ns: u64,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(side: &'a Side<'a>, row: usize, touches: u64) -> Self {
        Self { side, row, touches, piece: 1, since_ns: monotonic_ns() }
    }

    /// Runs and records a batch of at most `most` units (of first touches); returns its units.
    pub(crate) fn piece(&mut self, most: u64, is_first: bool, work: impl FnOnce(u64)) -> u64 {
        let count = self.piece.min(most);
        work(count);
        let touches = count.saturating_mul(self.touches);
        self.side.shared.add(self.row, TOUCHES, touches);
        if is_first {
            self.side.shared.add(self.row, FIRST, touches);
        }
        self.side.record_usage(self.row, &usage());
        let now_ns = monotonic_ns();
        let took_ns = now_ns.saturating_sub(self.since_ns).max(1);
        self.since_ns = now_ns;
        // At most twice as many as before: one quick batch proves nothing.
        let fitting = u128::from(count) * u128::from(NOTE_NS) / u128::from(took_ns);
        self.piece = (fitting.min(u128::from(count) * 2) as u64).max(1);
        count
    }

    pub(crate) fn go_on(&mut self) {
        self.since_ns = monotonic_ns();
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) touches: u64,
    pub(crate) first: u64,
    pub(crate) usage: Usage,
}

impl Totals {
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            touches: self.touches - before.touches,
            first: self.first - before.first,
            usage: self.usage.since(&before.usage),
        }
    }
}

pub(crate) fn totals(shared: &SharedCounters) -> Totals {
    Totals {
        touches: shared.total(TOUCHES),
        first: shared.total(FIRST),
        usage: Usage(std::array::from_fn(|number| shared.total(USAGE + number))),
    }
}

pub(crate) fn last_end_ns(shared: &SharedCounters, processes: usize) -> u64 {
    (0..processes).map(|row| shared.get(row, ENDED_NS)).max().unwrap_or(0)
}

pub(crate) fn was_killed(shared: &SharedCounters) -> bool {
    shared.get(shared.workers() - 1, SIGNAL) != 0
}
