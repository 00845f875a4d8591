//! A process: where it is in its program, and what it waits for.

use std::collections::BTreeMap;

use super::outcome::ProcessOutcome;

/// What a process waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// The CPU, or it has it.
    #[default]
    Runnable,
    /// A tick of the clock, the end of a child, a call or a reply, since a tick.
    Asleep { since: u64, for_child: bool },
    /// Nothing any more.
    Ended,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    pub(crate) program: usize,
    pub(crate) parent: Option<usize>,
    pub(crate) is_measured: bool,
    pub(crate) is_awaited: bool,
    pub(crate) state: State,
    pub(crate) is_swapped: bool,
    /// Whether it had ended before anything was counted.
    pub(crate) is_forgotten: bool,
    /// When it last woke from a sleep, or began.
    pub(crate) woken_ns: u64,
    /// Processes whose calls it has taken.
    pub(crate) callers: Vec<usize>,
    /// Whether it has yet to touch what it touches when it gets the CPU back.
    pub(crate) is_resuming: bool,
    /// Index of the step that it is at.
    pub(crate) step: usize,
    /// How often it still goes back, by step.
    pub(crate) again: BTreeMap<usize, u64>,
    /// Where it is in the path of its step.
    pub(crate) place: Place,
    /// What is left of a computation, in ns.
    pub(crate) compute_ns: Option<u64>,
    /// Children that live or have not been taken, and those of them that have ended.
    pub(crate) children: u64,
    pub(crate) ended: u64,
    pub(crate) outcome: ProcessOutcome,
}

/// A place in a path that is touched several times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Times that are left, with the present one; 0 before the first.
    pub(crate) times: u64,
    pub(crate) visit: usize,
    /// Pages of the visit that are left.
    pub(crate) pages: u64,
    /// Touches of the lowest of them that are done.
    pub(crate) done: u64,
}
