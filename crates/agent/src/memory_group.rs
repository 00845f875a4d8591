//! The processes of a memory job. A parent enters the sandbox, prepares the shared memory, and
//! forks those that work; they die with it, and it dies with the observer.

use std::convert::Infallible;
use std::io::{self, PipeWriter, Write};
use std::os::fd::AsFd;

use model::Missed;
use sys::board::Board;
use sys::clock::monotonic_ns;
use sys::perf::PerfCounter;
use sys::process::{Exit, fork_child, signal_group, signals, wait};
use workloads::MemoryJob;

use crate::assignment::Assignment;
use crate::children::{self, Words, enter_groups, prefer_as_oom_victim};
use crate::memory_board::{Side, Word, was_killed};
use crate::waiter::{Death, End, Waiter, Woken};
use crate::{touch_process, vmtest_process};

/// How long processes that were killed may take to give their memory back, in ns.
const END_NS: u64 = 2_000_000_000;

/// The job's processes. Dropping it ends them all.
pub(crate) struct MemoryGroup {
    parent: u32,
    /// Whether the parent was found dead and waited for.
    reaped: bool,
    pub(crate) board: Board,
    pub(crate) words: Words,
    start: PipeWriter,
    /// Page walks of all processes, where the CPU counts them.
    walks: Option<PerfCounter>,
    /// How many say that they are ready.
    waiting: usize,
}

impl MemoryGroup {
    /// Forks the parent and opens counters for it; what is unavailable goes to `missed`.
    pub(crate) fn start(
        assignment: &Assignment,
        work: &MemoryJob,
        missed: &mut Vec<Missed>,
    ) -> io::Result<Self> {
        let processes = work.processes() as usize;
        let (words, writer) = Words::pipe()?;
        let (start_reader, start) = io::pipe()?;
        let board = Board::new(processes + 1)?;
        let (writer, start_reader) = (&writer, &start_reader);
        let side = Side { assignment, processes, board: &board, writer, start: start_reader };
        let parent = fork_child(|| live(&side, work))?;
        let walks =
            PerfCounter::load_walks(parent).map_err(|error| missed.push(no_walks(&error))).ok();
        let waiting = match work {
            MemoryJob::Vmtest(_) => 1,
            MemoryJob::Touch(_) => processes,
        };
        Ok(Self { parent, reaped: false, board, words, start, walks, waiting })
    }

    /// Waits until the memory is made and all wait for the start; the loops of `vmtest`.
    pub(crate) fn make(&mut self, waiter: &Waiter, until_ns: u64) -> Result<Option<u64>, End> {
        // A parent that is gone is noticed as its death.
        let _ = self.start.write_all(&[1]);
        let late = "the memory was not made in time: take a smaller footprint";
        let mut loops = None;
        let mut ready = 0;
        while ready < self.waiting {
            if waiter.until_ready(self.words.as_fd(), until_ns, late)? == Woken::Readable {
                for word in self.words.read()? {
                    if let Word::Ready { loops: told } = word {
                        loops = told;
                        ready += 1;
                    }
                }
            }
            if let Some(death) = self.dead() {
                return Err(End::Died(death));
            }
        }
        Ok(loops)
    }

    /// Lets all begin: the processes of `touch`, or a round of `vmtest`.
    pub(crate) fn begin(&mut self) {
        // If they are gone, that is noticed as their death.
        let _ = self.start.write_all(&vec![1; self.waiting]);
    }

    /// Page walks so far; `None` if they are not counted.
    pub(crate) fn page_walks(&self) -> Option<io::Result<u64>> {
        self.walks.as_ref().map(PerfCounter::read)
    }

    /// The death of the parent, if it died: it never ends by itself.
    pub(crate) fn dead(&mut self) -> Option<Death> {
        let exit = wait(self.parent, false).ok()??;
        self.reaped = true;
        let failure = self.board.failure(self.board.workers() - 1);
        let how = failure.unwrap_or_else(|| format!("their parent {exit}"));
        let exit = if was_killed(&self.board) { Exit::Signal(signals::KILL) } else { exit };
        Some(Death { who: "the job".to_owned(), how, exit: Some(exit) })
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        if !self.reaped {
            end(self.parent);
        }
        // They are not our children, but hold the pipe and their memory until they have ended.
        let until_ns = monotonic_ns() + END_NS;
        while !self.words.ended && monotonic_ns() < until_ns {
            let timeout = rustix::event::Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let fd = rustix::event::PollFd::new(&self.words, rustix::event::PollFlags::IN);
            // Interrupted or over: the next look tells.
            let _ = rustix::event::poll(&mut [fd], Some(&timeout));
            if self.words.read::<Word>().is_err() {
                return;
            }
        }
    }
}

fn no_walks(error: &io::Error) -> Missed {
    let next = match error.kind() {
        io::ErrorKind::PermissionDenied => "sysctl kernel.perf_event_paranoid=2, or be root",
        _ => "the CPU's counters are unavailable here; most virtual machines have none",
    };
    Missed {
        capability: "page walks".to_owned(),
        reason: format!("perf_event_open for dTLB load misses: {error}: {next}"),
    }
}

/// The parent: lives until it is killed, or fails with the reason in the shared counters.
fn live(side: &Side<'_>, work: &MemoryJob) -> i32 {
    match try_to_live(side, work) {
        Err(error) => side.board.fail(side.processes, &error.to_string()),
        Ok(never) => match never {},
    }
    1
}

fn try_to_live(side: &Side<'_>, work: &MemoryJob) -> io::Result<Infallible> {
    // One signal for all, and for none else.
    rustix::process::setpgid(None, None)?;
    prefer_as_oom_victim();
    // The observer has opened its counters, which count what is forked from now on.
    side.await_start()?;
    enter_groups(&side.assignment.enter)?;
    match work {
        MemoryJob::Vmtest(plan) => vmtest_process::live(side, plan),
        MemoryJob::Touch(plan) => touch_process::live(side, plan),
    }
}

fn end(parent: u32) {
    // A group that is gone already, or was never made, is what we want.
    let _ = signal_group(parent, signals::KILL);
    children::end([parent]);
}
