//! The users of a session: processes that think, issue commands, and report their usage.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keep::marked::{self, end_marked};
use model::{PassRecord, WorkRecord};
use rustix::fs::{MemfdFlags, SealFlags};
use serde::{Deserialize, Serialize};
use sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until_ns};
use sys::process::{Exit, all_usage, end, fork_child, signal_group, signals, spawn_bound};
use sys::process::{wait, wait_usage};
use sys::shared_counters::SharedCounters;
use workloads::{Order, Resolved, TOOL_COMMAND, arguments, fill};

use crate::assignment::Assignment;
use crate::children::{Messages, enter_groups, send};
use crate::record::named_usage;
use crate::waiter::{Death, End, Waiter, Woken};

const READY_NS: u64 = 60_000_000_000;

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
    /// Forks all users; each fills its directory and reports that it is ready.
    pub(crate) fn start(
        assignment: &Assignment,
        resolved: &Resolved,
        path: &OsStr,
    ) -> io::Result<Self> {
        let count = resolved.script.users;
        let (messages, writer) = Messages::pipe()?;
        let (start_reader, start) = io::pipe()?;
        let shared = SharedCounters::new(count as usize)?;
        let mark = assignment.work_dir.display().to_string();
        let program = std::env::current_exe()?;
        let mut users = Self { pids: Vec::new(), shared, messages, start, mark };
        for user in 0..count {
            let shared = &users.shared;
            let pid = fork_child(|| {
                let dir = assignment.work_dir.join(format!("user{user:02}"));
                let (program, writer, complaints) = (&program, &writer, None);
                let mut side = UserSide {
                    assignment,
                    resolved,
                    user,
                    path,
                    program,
                    shared,
                    writer,
                    dir,
                    complaints,
                };
                side.live(&start_reader)
            })?;
            users.pids.push(pid);
        }
        Ok(users)
    }

    pub(crate) fn await_ready(&mut self, waiter: &Waiter) -> Result<(), End> {
        let until_ns = monotonic_ns() + READY_NS;
        let late = "the users' directories are not filled after 60 s";
        let mut ready = 0;
        while ready < self.pids.len() {
            let woken = waiter.until_ready(self.messages.as_fd(), until_ns, late);
            // A message before a death explains more than the death.
            for message in self.messages.read().map_err(|error| End::Failed(error.to_string()))? {
                match message {
                    Message::NotReady(why) => return Err(End::Failed(why)),
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
    /// A command ended; times are monotonic.
    Work(WorkRecord),
    /// A pass ended; times are monotonic.
    Pass(PassRecord),
}

/// Slots: the number of the running command from 1 (0 is none), its start, its pass.
pub(crate) const COMMAND: usize = 0;
pub(crate) const STARTED_NS: usize = 1;
pub(crate) const PASS: usize = 2;

/// Captured part of a command's standard error, in bytes.
const COMPLAINT_BYTES: u64 = 4096;
/// Longest text of a failure in characters: a message is one atomic write.
const FAILURE_CHARS: usize = 200;

struct UserSide<'a> {
    assignment: &'a Assignment,
    resolved: &'a Resolved,
    user: u32,
    path: &'a OsStr,
    /// This program, for the built-in tools.
    program: &'a Path,
    shared: &'a SharedCounters,
    writer: &'a PipeWriter,
    dir: PathBuf,
    /// The standard error of commands.
    complaints: Option<File>,
}

impl UserSide<'_> {
    /// Works until it is killed; returns only on failure.
    fn live(&mut self, mut start: &PipeReader) -> i32 {
        if let Err(error) = self.make() {
            let _ = send(self.writer, &Message::NotReady(format!("user {}: {error}", self.user)));
            return 1;
        }
        let worked = send(self.writer, &Message::Ready).and_then(|()| {
            start.read_exact(&mut [0])?;
            self.work()
        });
        if let Err(error) = worked {
            self.shared.fail(self.user as usize, &error.to_string());
        }
        1
    }

    fn make(&mut self) -> io::Result<()> {
        enter_groups(&self.assignment.enter)?;
        // Think time must not include the default timer slack.
        let _ = set_timer_slack_ns(1);
        fs::create_dir(&self.dir)?;
        fill(&self.dir, self.assignment.spec.seed, self.user)?;
        std::env::set_current_dir(&self.dir)?;
        // The corpus must not be written back while commands are timed.
        Ok(rustix::fs::syncfs(File::open(&self.dir)?)?)
    }

    fn work(&mut self) -> io::Result<()> {
        let script = &self.resolved.script;
        let mut order = Order::new(self.assignment.spec.seed, self.user, script.commands.len());
        self.complaints = complaints().ok();
        for pass in 0.. {
            let (started_ns, before) = (monotonic_ns(), all_usage());
            for index in order.next_pass() {
                sleep_until_ns(monotonic_ns() + order.next_think_ns(script.think_ns));
                let work = self.issue(index, pass);
                send(self.writer, &Message::Work(work))?;
                // Only now: the observer finds each command here or in the pipe.
                self.shared.set(self.user as usize, COMMAND, 0);
            }
            let usage = named_usage(&all_usage().since(&before));
            let (worker, completed_ns) = (self.user, monotonic_ns());
            let done = PassRecord { at_ns: 0, worker, pass, started_ns, completed_ns, usage };
            send(self.writer, &Message::Pass(done))?;
        }
        Ok(())
    }

    fn issue(&mut self, index: usize, pass: u32) -> WorkRecord {
        let script = &self.resolved.script;
        let described = &script.commands[index];
        let (words, is_own) = self.resolved.words(described);
        let words = arguments(script, &self.dir, self.user, words);
        let mut command = self.command(&words, is_own);
        let user = self.user as usize;
        let started_ns = monotonic_ns();
        self.shared.set(user, STARTED_NS, started_ns);
        self.shared.set(user, PASS, u64::from(pass));
        self.shared.set(user, COMMAND, index as u64 + 1);
        let (worker, item) = (self.user, described.name.clone());
        let mut work = WorkRecord { worker, pass, item, started_ns, ..WorkRecord::default() };
        self.await_end(&mut command, &mut work, script.limit_ns);
        work
    }

    /// The command in the user's directory, with a fixed environment and the mark of the run.
    fn command(&mut self, words: &[String], is_own: bool) -> Command {
        let program = if is_own { self.program } else { Path::new(&words[0]) };
        let mut command = Command::new(program);
        match is_own {
            true => command.arg(TOOL_COMMAND).args(words),
            false => command.args(&words[1..]),
        };
        command
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", self.path)
            .env("HOME", &self.dir)
            .env("TMPDIR", &self.dir)
            .env("LC_ALL", "C")
            .env(marked::VARIABLE, &self.assignment.work_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(listener(&mut self.complaints).map_or_else(Stdio::null, Stdio::from));
        command
    }

    /// Runs a command until it ends or times out, and records how it ended.
    fn await_end(&self, command: &mut Command, work: &mut WorkRecord, limit_ns: u64) {
        let mut given_up = |failure: String| {
            work.censored_at_ns = Some(monotonic_ns());
            work.failure = Some(failure);
        };
        // Reaped below, by its process id.
        let pid = match spawn_bound(command) {
            Ok(child) => child.id(),
            Err(error) => return given_up(format!("cannot be started: {error}")),
        };
        let usage = match wait_usage(pid, work.started_ns.saturating_add(limit_ns)) {
            Ok(Some((exit, usage))) => {
                work.completed_ns = Some(monotonic_ns());
                work.failure = self.failure(exit);
                Some(usage)
            }
            Ok(None) => {
                // Not reaped yet, so its process id is still its own.
                let _ = signal_group(pid, signals::KILL);
                let ended = wait_usage(pid, u64::MAX).ok().flatten();
                given_up("not done within the limit".to_owned());
                ended.map(|(_, usage)| usage)
            }
            Err(error) => return given_up(format!("cannot be waited for: {error}")),
        };
        work.usage = usage.as_ref().map(named_usage).unwrap_or_default();
    }

    /// How a command failed, with the last line of its standard error.
    fn failure(&self, exit: Exit) -> Option<String> {
        let how = match exit {
            Exit::Code(0) => return None,
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(_) => exit.to_string(),
        };
        let mut bytes = vec![0; COMPLAINT_BYTES as usize];
        let read = self.complaints.as_ref().and_then(|file| file.read_at(&mut bytes, 0).ok());
        bytes.truncate(read.unwrap_or(0));
        let text = String::from_utf8_lossy(&bytes);
        let said = text.trim_matches(['\0', '\n', ' ']).lines().next_back().unwrap_or_default();
        let said = said.chars().filter(|one| !one.is_control()).take(FAILURE_CHARS);
        let said: String = said.collect();
        Some(if said.is_empty() { how } else { format!("{how}: {said}") })
    }
}

/// A fixed-size file in memory.
fn complaints() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(rustix::fs::memfd_create("complaints", flags)?);
    file.set_len(COMPLAINT_BYTES)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::GROW)?;
    Ok(file)
}

/// The truncated file as the standard error of the next command.
fn listener(complaints: &mut Option<File>) -> Option<File> {
    let file = complaints.as_mut()?;
    let mut byte = [0];
    file.read_at(&mut byte, 0).ok()?;
    if byte != [0] {
        file.write_all_at(&[0; COMPLAINT_BYTES as usize], 0).ok()?;
    }
    file.rewind().ok()?;
    file.try_clone().ok()
}
