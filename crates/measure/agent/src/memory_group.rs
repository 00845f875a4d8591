//! The processes of a memory job: a parent in the sandbox, and its children.

use std::convert::Infallible;
use std::io::{self, PipeWriter, Write};
use std::os::fd::AsFd;

use jobs::MemoryJob;
use model::Unavailable;
use sys::clock::{is_readable, monotonic_ns};
use sys::perf::PerfCounter;
use sys::process::{Exit, end, fork_child, signal_group, signals, wait};
use sys::shared_counters::SharedCounters;

use crate::assignment::Assignment;
use crate::children::{Messages, enter_groups, prefer_as_oom_victim};
use crate::memory_counters::{Message, Side, was_killed};
use crate::waiter::{Death, End, Waiter, Woken};
use crate::{touch_process, vmtest_process};

/// How long killed processes may take to free their memory, in ns.
const END_NS: u64 = 2_000_000_000;

/// The job's processes. Dropping it ends them all.
pub(crate) struct MemoryGroup {
    parent: u32,
    /// Whether the parent is dead and reaped.
    reaped: bool,
    pub(crate) shared: SharedCounters,
    pub(crate) messages: Messages,
    start: PipeWriter,
    walks: Option<PerfCounter>,
    /// Number of processes that are ready.
    waiting: usize,
}

impl MemoryGroup {
    /// Forks the parent and opens its counters; unavailable ones go to `missed`.
    pub(crate) fn start(
        assignment: &Assignment,
        work: &MemoryJob,
        missed: &mut Vec<Unavailable>,
    ) -> io::Result<Self> {
        let processes = work.processes() as usize;
        let (messages, writer) = Messages::pipe()?;
        let (start_reader, start) = io::pipe()?;
        let shared = SharedCounters::new(processes + 1)?;
        let (writer, start_reader) = (&writer, &start_reader);
        let side = Side { assignment, processes, shared: &shared, writer, start: start_reader };
        let parent = fork_child(|| live(&side, work))?;
        let walks =
            PerfCounter::load_walks(parent).map_err(|error| missed.push(no_walks(&error))).ok();
        let waiting = match work {
            MemoryJob::Vmtest(_) => 1,
            MemoryJob::Touch(_) => processes,
        };
        Ok(Self { parent, reaped: false, shared, messages, start, walks, waiting })
    }

    /// Waits until all are ready and have their memory; returns the loops of `vmtest`.
    pub(crate) fn make(&mut self, waiter: &Waiter, until_ns: u64) -> Result<Option<u64>, End> {
        // A dead parent is noticed below.
        let _ = self.start.write_all(&[1]);
        let late = "the memory was not ready in time: take a smaller footprint";
        let mut loops = None;
        let mut ready = 0;
        while ready < self.waiting {
            if waiter.until_ready(self.messages.as_fd(), until_ns, late)? == Woken::Readable {
                for message in self.messages.read()? {
                    if let Message::Ready { loops: told } = message {
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

    /// Starts the processes of `touch`, or a round of `vmtest`.
    pub(crate) fn begin(&mut self) {
        // Dead processes are noticed later.
        let _ = self.start.write_all(&vec![1; self.waiting]);
    }

    /// Page walks so far; `None` if they are not counted.
    pub(crate) fn page_walks(&self) -> Option<io::Result<u64>> {
        self.walks.as_ref().map(PerfCounter::read)
    }

    pub(crate) fn dead(&mut self) -> Option<Death> {
        let exit = wait(self.parent, false).ok()??;
        self.reaped = true;
        let failure = self.shared.failure(self.shared.workers() - 1);
        let how = failure.unwrap_or_else(|| format!("their parent {exit}"));
        let exit = if was_killed(&self.shared) { Exit::Signal(signals::KILL) } else { exit };
        Some(Death { who: "the job".to_owned(), how, exit: Some(exit) })
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        if !self.reaped {
            // The group may be gone, or not exist yet.
            let _ = signal_group(self.parent, signals::KILL);
            let _ = end([self.parent]);
        }
        // They are not our children, but hold the pipe and their memory until they have ended.
        let until_ns = monotonic_ns() + END_NS;
        while !self.messages.ended && monotonic_ns() < until_ns {
            is_readable(&self.messages, 10_000_000);
            if self.messages.read::<Message>().is_err() {
                return;
            }
        }
    }
}

fn no_walks(error: &io::Error) -> Unavailable {
    let next = match error.kind() {
        io::ErrorKind::PermissionDenied => "sysctl kernel.perf_event_paranoid=2, or be root",
        _ => "the CPU's counters are unavailable here; most virtual machines have none",
    };
    Unavailable {
        capability: "page walks".to_owned(),
        reason: format!("perf_event_open for dTLB load misses: {error}: {next}"),
    }
}

/// The parent: runs until it is killed, or fails with the reason in the shared counters.
fn live(side: &Side<'_>, work: &MemoryJob) -> i32 {
    match try_to_live(side, work) {
        Err(error) => side.shared.fail(side.processes, &error.to_string()),
        Ok(never) => match never {},
    }
    1
}

fn try_to_live(side: &Side<'_>, work: &MemoryJob) -> io::Result<Infallible> {
    // One signal reaches all of them, and no others.
    rustix::process::setpgid(None, None)?;
    prefer_as_oom_victim();
    // The observer opened its counters, which include children forked from now on.
    side.await_start()?;
    enter_groups(&side.assignment.enter)?;
    match work {
        MemoryJob::Vmtest(plan) => vmtest_process::live(side, plan),
        MemoryJob::Touch(plan) => touch_process::live(side, plan),
    }
}
