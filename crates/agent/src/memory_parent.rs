//! The parent of a job on memory: it enters the sandbox, makes what all share, and forks the
//! processes that work. They die with it, and it dies with the observer.

use std::io::{self, PipeReader, PipeWriter};

use sys::board::Board;
use sys::process::signals;
use workloads::MemoryJob;

use crate::assignment::Assignment;
use crate::enter::{Enter, prefer_as_oom_victim};
use crate::memory_board::Side;
use crate::{touch_process, vmtest_process};

/// Lives until it is killed; returns only if it cannot go on, with the reason on the board.
pub(crate) fn live(
    assignment: &Assignment,
    work: &MemoryJob,
    board: &Board,
    writer: &PipeWriter,
    start: &PipeReader,
) -> i32 {
    let processes = work.processes() as usize;
    let side = Side { assignment, processes, board, writer, start };
    match try_to_live(&side, work) {
        Err(error) => board.fail(processes, &error.to_string()),
        Ok(never) => match never {},
    }
    1
}

fn try_to_live(side: &Side<'_>, work: &MemoryJob) -> io::Result<std::convert::Infallible> {
    // One signal for all, and for none else.
    rustix::process::setpgid(None, None)?;
    prefer_as_oom_victim();
    // The observer has opened its counters, which count what is forked from now on.
    side.await_start()?;
    Enter { groups: &side.assignment.enter }.enter()?;
    match work {
        MemoryJob::Vmtest(plan) => vmtest_process::live(side, plan),
        MemoryJob::Touch(plan) => touch_process::live(side, plan),
    }
}

/// Ends a parent and all of its processes.
pub(crate) fn end(parent: u32) {
    // A group that is gone already, or was never made, is what we want.
    let _ = sys::process::signal_group(parent, signals::KILL);
    let _ = sys::process::signal(parent, signals::KILL);
    let _ = sys::process::wait(parent, true);
}
