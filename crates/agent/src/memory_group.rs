//! The processes of a job on memory, as the observer has them: started, heard, and ended together.

use std::io::{self, PipeWriter, Write};
use std::os::fd::AsFd;

use model::Missed;
use sys::board::Board;
use sys::clock::monotonic_ns;
use sys::perf::PerfCounter;
use sys::process::{Exit, fork_child, signals, wait};
use workloads::MemoryJob;

use crate::assignment::Assignment;
use crate::memory_board::{Word, was_killed};
use crate::memory_parent;
use crate::observer::{Death, NotReady};
use crate::waiter::{Waiter, Woken};
use crate::words::Words;

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
    /// Forks the parent and opens counters for it; capabilities that are unavailable go to
    /// `missed`.
    ///
    /// # Errors
    /// When pipes, board or the process cannot be made.
    pub(crate) fn start(
        assignment: &Assignment,
        work: &MemoryJob,
        missed: &mut Vec<Missed>,
    ) -> io::Result<Self> {
        let processes = work.processes() as usize;
        let (words, writer) = Words::pipe()?;
        let (start_reader, start) = io::pipe()?;
        let board = Board::new(processes + 1)?;
        let parent =
            fork_child(|| memory_parent::live(assignment, work, &board, &writer, &start_reader))?;
        let walks =
            PerfCounter::load_walks(parent).map_err(|error| missed.push(no_walks(&error))).ok();
        let waiting = match work {
            MemoryJob::Vmtest(_) => 1,
            MemoryJob::Touch(_) => processes,
        };
        Ok(Self { parent, reaped: false, board, words, start, walks, waiting })
    }

    /// Lets the memory be made, and waits until all processes wait for the start; the loops of each
    /// process of `vmtest`.
    ///
    /// # Errors
    /// When there is a request to stop, or the memory cannot be made.
    pub(crate) fn make(
        &mut self,
        waiter: &Waiter,
        until_ns: u64,
    ) -> io::Result<Result<Option<u64>, NotReady>> {
        // A parent that is gone is noticed as its death.
        let _ = self.start.write_all(&[1]);
        let mut loops = None;
        let mut ready = 0;
        while ready < self.waiting {
            match waiter.wait(Some(self.words.as_fd()), until_ns) {
                Woken::Signal if waiter.stop_requested() => return Ok(Err(NotReady::Stopped)),
                Woken::Signal => {}
                Woken::Time => {
                    let why = "the memory was not made in time: take a smaller footprint";
                    return Ok(Err(NotReady::Failed(why.to_owned())));
                }
                Woken::Readable => {
                    for word in self.words.read()? {
                        if let Word::Ready { loops: told } = word {
                            loops = told;
                            ready += 1;
                        }
                    }
                }
            }
            if let Some(death) = self.dead() {
                return Ok(Err(NotReady::Died(death)));
            }
        }
        Ok(Ok(loops))
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
        let how = match (self.board.failure(self.board.workers() - 1), exit) {
            (Some(why), _) => why,
            (None, Exit::Signal(number)) => format!("their parent ended by signal {number}"),
            (None, Exit::Code(code)) => format!("their parent ended with code {code}"),
        };
        let exit = if was_killed(&self.board) { Exit::Signal(signals::KILL) } else { exit };
        Some(Death::new("the job", how, Some(exit)))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        if !self.reaped {
            memory_parent::end(self.parent);
        }
        // The processes are not ours to wait for, but hold the pipe until they have ended: what
        // comes next is to have the memory.
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
