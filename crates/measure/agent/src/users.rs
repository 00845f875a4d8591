//! The processes that issue commands, a user each: their start, their messages, their death.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;

use keep::marked::end_marked;
use model::units::format_duration;
use model::{PassRecord, WorkRecord};
use serde::{Deserialize, Serialize};
use sys::clock::monotonic_ns;
use sys::process::{end, fork_child, wait};
use sys::shared_counters::SharedCounters;

use crate::assignment::Assignment;
use crate::children::{Messages, send};
use crate::waiter::{Death, End, Waiter, Woken};

/// The running users. Dropping it kills them and everything they started.
pub(crate) struct Users {
    pub(crate) pids: Vec<u32>,
    /// What each does now, in the slots below.
    pub(crate) shared: SharedCounters,
    pub(crate) messages: Messages,
    start: PipeWriter,
    mark: String,
}

impl Users {
    /// Forks all users, each of whom lives until it is killed, or returns on failure.
    pub(crate) fn start(
        assignment: &Assignment,
        count: u32,
        live: impl Fn(Side<'_>) -> i32,
    ) -> io::Result<Self> {
        let (messages, writer) = Messages::pipe()?;
        let (start_reader, start) = io::pipe()?;
        let shared = SharedCounters::new(count as usize)?;
        let mark = assignment.work_dir.display().to_string();
        let mut users = Self { pids: Vec::new(), shared, messages, start, mark };
        for user in 0..count {
            let (shared, writer, start) = (&users.shared, &writer, &start_reader);
            users.pids.push(fork_child(|| live(Side { user, shared, writer, start }))?);
        }
        Ok(users)
    }

    /// Waits until all are ready, at most so long.
    pub(crate) fn await_ready(&mut self, waiter: &Waiter, limit_ns: u64) -> Result<(), End> {
        let until_ns = monotonic_ns().saturating_add(limit_ns);
        let late = format!("not ready after {}", format_duration(limit_ns));
        let mut ready = 0;
        while ready < self.pids.len() {
            let woken = waiter.until_ready(self.messages.as_fd(), until_ns, &late);
            // A message before a death explains more than the death.
            for message in self.messages.read().map_err(|error| End::Failed(error.to_string()))? {
                match message {
                    Message::NotReady(why) => return Err(End::Failed(why)),
                    Message::Failed(why) => return Err(End::CommandFailed(why)),
                    _ => ready += 1,
                }
            }
            if woken? == Woken::Signal
                && let Some(death) = self.dead_user()
            {
                return Err(End::Died(death));
            }
        }
        Ok(())
    }

    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.start.write_all(&vec![1; self.pids.len()])
    }

    /// The death of a user's process; none ends by itself.
    pub(crate) fn dead_user(&mut self) -> Option<Death> {
        let (user, exit) = self
            .pids
            .iter()
            .enumerate()
            .find_map(|(user, pid)| Some((user, wait(*pid, false).ok()??)))?;
        let who = format!("the process of user {user}");
        Some(match self.shared.failure(user) {
            Some(how) => Death { who, how, exit: None },
            None => Death { who, how: exit.to_string(), exit: Some(exit) },
        })
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        let _ = end(self.pids.drain(..));
        // Their commands may have left processes. Removal of the directory retries.
        let _ = end_marked(&self.mark);
    }
}

/// A message of a user to the observer: one line of JSON, shorter than a pipe's atomic write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The user waits for the start.
    Ready,
    /// The user cannot start, with the reason.
    NotReady(String),
    /// What the user requested cannot be done or failed, with the reason; it ends the run.
    Failed(String),
    /// A command ended; times are monotonic.
    Work(WorkRecord),
    /// A pass ended; times are monotonic.
    Pass(PassRecord),
    /// A remark for the run.
    Note(String),
    /// The user with this number did all that is measured.
    Done(u32),
}

/// Slots: the number of the running command from 1 (0 is none), its start, its pass.
pub(crate) const COMMAND: usize = 0;
pub(crate) const STARTED_NS: usize = 1;
pub(crate) const PASS: usize = 2;

/// What a user's own process knows of the run.
pub(crate) struct Side<'a> {
    pub(crate) user: u32,
    pub(crate) shared: &'a SharedCounters,
    pub(crate) writer: &'a PipeWriter,
    start: &'a PipeReader,
}

impl Side<'_> {
    /// Reports that the user is ready, or the message that it is not, and works from the start on.
    pub(crate) fn live(
        &self,
        made: Result<(), Message>,
        work: impl FnOnce() -> io::Result<()>,
    ) -> i32 {
        if let Err(why) = made {
            let _ = send(self.writer, &why);
            return 1;
        }
        let mut start = self.start;
        let worked = send(self.writer, &Message::Ready).and_then(|()| {
            start.read_exact(&mut [0])?;
            work()
        });
        if let Err(error) = worked {
            self.shared.fail(self.user as usize, &error.to_string());
        }
        1
    }

    /// The record of a command that starts now.
    pub(crate) fn begin(&self, index: usize, pass: u32, name: &str) -> WorkRecord {
        let (user, started_ns) = (self.user as usize, monotonic_ns());
        self.shared.set(user, STARTED_NS, started_ns);
        self.shared.set(user, PASS, u64::from(pass));
        self.shared.set(user, COMMAND, index as u64 + 1);
        let (worker, item) = (self.user, name.to_owned());
        WorkRecord { worker, pass, item, started_ns, ..WorkRecord::default() }
    }

    /// Sends the record of a command that ended.
    pub(crate) fn report(&self, work: WorkRecord) -> io::Result<()> {
        send(self.writer, &Message::Work(work))?;
        // Only now: the observer finds each command here or in the pipe.
        self.shared.set(self.user as usize, COMMAND, 0);
        Ok(())
    }
}
