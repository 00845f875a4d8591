//! What the processes of a job on memory note on the board: each has a row, the parent the last one.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter, Read};

use serde::{Deserialize, Serialize};
use sys::board::Board;
use sys::clock::monotonic_ns;
use sys::process::{Exit, Usage, fork_child, usage};

use crate::assignment::Assignment;
use crate::children::say;

const TOUCHES: usize = 0;
/// The numbers of the usage so far.
const USAGE: usize = 1;
/// When the process had done its work; 0 = it has not.
const ENDED_NS: usize = USAGE + Usage::NAMES.len();
/// Of the touches, those of the first time that each place is touched.
const FIRST: usize = ENDED_NS + 1;
/// The signal that ended a process, in the parent's row; 0 = none did.
const SIGNAL: usize = FIRST + 1;
/// How long a process works between two notes, about, in ns.
const NOTE_NS: u64 = 2_000_000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Word {
    /// The process waits for the start; the parent of `vmtest` tells the loops of each child.
    Ready { loops: Option<u64> },
    /// A round is over; moments are those of the monotonic clock.
    Round { started_ns: u64, completed_ns: u64, touches: u64, usage: [u64; Usage::NAMES.len()] },
    /// The process has done its work.
    Done,
}

/// What any process of the job needs.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) processes: usize,
    pub(crate) board: &'a Board,
    pub(crate) writer: &'a PipeWriter,
    pub(crate) start: &'a PipeReader,
}

impl Side<'_> {
    pub(crate) fn say(&self, word: &Word) -> io::Result<()> {
        say(self.writer, word)
    }

    /// Waits until the observer lets one process begin.
    pub(crate) fn await_start(&self) -> io::Result<()> {
        let mut start = self.start;
        start.read_exact(&mut [0])
    }

    pub(crate) fn note_usage(&self, row: usize, usage: &Usage) {
        for (number, word) in usage.0.into_iter().enumerate() {
            self.board.set(row, USAGE + number, word);
        }
    }

    pub(crate) fn note_end(&self, row: usize) {
        self.board.set(row, ENDED_NS, monotonic_ns());
    }

    /// Clears the rows of all processes but the parent's.
    pub(crate) fn clear(&self) {
        for row in 0..self.processes {
            (TOUCHES..=FIRST).for_each(|slot| self.board.set(row, slot, 0));
        }
    }

    /// Forks all processes that work; their rows by their numbers.
    pub(crate) fn fork_all(&self, work: impl Fn(usize) -> i32) -> io::Result<BTreeMap<u32, usize>> {
        let mut rows = BTreeMap::new();
        for row in 0..self.processes {
            let pid = fork_child(|| work(row)).map_err(|error| {
                let text = format!("start process {} of {}: {error}", row + 1, self.processes);
                io::Error::new(error.kind(), text)
            })?;
            rows.insert(pid, row);
        }
        Ok(rows)
    }

    /// Fails with the reason if a process of a row did not end by itself and well.
    pub(crate) fn ended(&self, row: Option<&usize>, exit: Exit) -> io::Result<()> {
        let row = row.copied().unwrap_or_default();
        if exit == Exit::Code(0) {
            return Ok(());
        }
        let failure = self.board.failure(row);
        if let (None, Exit::Signal(number)) = (&failure, exit) {
            self.board.set(self.processes, SIGNAL, number as u64);
        }
        let how = failure.unwrap_or_else(|| exit.to_string());
        Err(io::Error::other(format!("process {row} of {}: {how}", self.processes)))
    }
}

/// The touches of one process, made in pieces after each of which they are noted.
pub(crate) struct Noted<'a> {
    side: &'a Side<'a>,
    row: usize,
    /// Touches that one unit of work makes.
    touches: u64,
    /// Units of work in the next piece.
    piece: u64,
    since_ns: u64,
}

impl<'a> Noted<'a> {
    pub(crate) fn new(side: &'a Side<'a>, row: usize, touches: u64) -> Self {
        Self { side, row, touches, piece: 1, since_ns: monotonic_ns() }
    }

    /// Runs and records a batch of at most `most` units (of first touches); returns its units.
    pub(crate) fn piece(&mut self, most: u64, is_first: bool, work: impl FnOnce(u64)) -> u64 {
        let count = self.piece.min(most);
        work(count);
        let touches = count.saturating_mul(self.touches);
        self.side.board.add(self.row, TOUCHES, touches);
        if is_first {
            self.side.board.add(self.row, FIRST, touches);
        }
        self.side.note_usage(self.row, &usage());
        let now_ns = monotonic_ns();
        let took_ns = now_ns.saturating_sub(self.since_ns).max(1);
        self.since_ns = now_ns;
        // At most twice as many as before: one quick piece promises nothing.
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
    /// Of these, those of the first time that each place is touched.
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

pub(crate) fn totals(board: &Board) -> Totals {
    Totals {
        touches: board.total(TOUCHES),
        first: board.total(FIRST),
        usage: Usage(std::array::from_fn(|number| board.total(USAGE + number))),
    }
}

/// When the last of the first `processes` rows ended.
pub(crate) fn last_end_ns(board: &Board, processes: usize) -> u64 {
    (0..processes).map(|row| board.get(row, ENDED_NS)).max().unwrap_or(0)
}

pub(crate) fn was_killed(board: &Board) -> bool {
    board.get(board.workers() - 1, SIGNAL) != 0
}
