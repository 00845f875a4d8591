//! One user: the process that thinks, issues commands, and tells what they used.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keep::marked;
use model::{PassRecord, WorkRecord};
use rustix::fs::{MemfdFlags, SealFlags};
use serde::{Deserialize, Serialize};
use sys::board::Board;
use sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until_ns};
use sys::process::{Exit, Usage, all_usage, signal_group, signals, spawn_bound, wait_usage};
use workloads::{Order, Resolved, Seat, TOOL_COMMAND, fill};

use crate::assignment::Assignment;
use crate::enter::Enter;
use crate::record::named_usage;
use crate::words::say;

/// A message of a user to the observer: one line of JSON, shorter than a pipe's atomic write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Word {
    /// The user waits for the start.
    Ready,
    /// The user cannot start, with the reason.
    NotReady(String),
    /// A command is over; moments are those of the monotonic clock.
    Work(WorkRecord),
    /// A pass is over; moments are those of the monotonic clock.
    Pass(PassRecord),
}

/// Slots of the board: the number of the command under way from 1 (0 is none), its start, its pass.
pub(crate) const COMMAND: usize = 0;
pub(crate) const STARTED_NS: usize = 1;
pub(crate) const PASS: usize = 2;

/// What of a command's complaints is kept, in bytes.
const COMPLAINT_BYTES: u64 = 4096;
/// Longest text of a failure, in characters: a word of a user is written in one piece.
const FAILURE_CHARS: usize = 200;

/// A user's own side.
pub(crate) struct UserSide<'a> {
    pub(crate) assignment: &'a Assignment,
    pub(crate) resolved: &'a Resolved,
    pub(crate) user: u32,
    /// Where programs are looked for.
    pub(crate) path: &'a OsStr,
    /// This program, for our own tools.
    pub(crate) program: &'a Path,
    pub(crate) board: &'a Board,
    pub(crate) writer: &'a PipeWriter,
}

/// How a command ended.
struct Ended {
    completed_ns: Option<u64>,
    censored_at_ns: Option<u64>,
    failure: Option<String>,
    usage: Option<Usage>,
}

impl UserSide<'_> {
    /// Works until it is killed; returns only if it cannot.
    pub(crate) fn live(&self, mut start: &PipeReader) -> i32 {
        let dir = match self.make() {
            Ok(dir) => dir,
            Err(error) => {
                let _ = say(self.writer, &Word::NotReady(format!("user {}: {error}", self.user)));
                return 1;
            }
        };
        let worked = say(self.writer, &Word::Ready).and_then(|()| {
            start.read_exact(&mut [0])?;
            self.work(&dir)
        });
        if let Err(error) = worked {
            self.board.fail(self.user as usize, &error.to_string());
        }
        1
    }

    /// Enters the sandbox and fills the user's directory.
    fn make(&self) -> io::Result<PathBuf> {
        Enter { groups: &self.assignment.enter }.enter()?;
        // Think time is to be that of the script, not that with the tolerance of timers.
        let _ = set_timer_slack_ns(1);
        let dir = self.assignment.work_dir.join(format!("user{:02}", self.user));
        fs::create_dir(&dir)?;
        fill(&dir, self.assignment.spec.seed, self.user)?;
        std::env::set_current_dir(&dir)?;
        // The corpus is not to be written back while commands are timed.
        rustix::fs::syncfs(File::open(&dir)?)?;
        Ok(dir)
    }

    /// One pass after the other.
    fn work(&self, dir: &Path) -> io::Result<()> {
        let script = &self.resolved.script;
        let mut order = Order::new(self.assignment.spec.seed, self.user, script.commands.len());
        let mut complaints = complaints().ok();
        for pass in 0.. {
            let (started_ns, before) = (monotonic_ns(), all_usage());
            for index in order.next_pass() {
                sleep_until_ns(monotonic_ns() + order.next_think_ns(script.think_ns));
                let work = self.issue(dir, index, pass, &mut complaints);
                say(self.writer, &Word::Work(work))?;
                // Not before: the observer finds each command on the board or in the pipe.
                self.board.set(self.user as usize, COMMAND, 0);
            }
            let used = all_usage().since(&before);
            say(
                self.writer,
                &Word::Pass(PassRecord {
                    at_ns: 0,
                    worker: self.user,
                    pass,
                    started_ns,
                    completed_ns: monotonic_ns(),
                    usage: named_usage(&used),
                }),
            )?;
        }
        Ok(())
    }

    /// Issues one command and waits for its end.
    fn issue(
        &self,
        dir: &Path,
        index: usize,
        pass: u32,
        complaints: &mut Option<File>,
    ) -> WorkRecord {
        let script = &self.resolved.script;
        let described = &script.commands[index];
        let (words, is_own) = self.resolved.words(described);
        let words = Seat { dir, user: self.user }.arguments(script, words);
        let mut command = self.command(dir, &words, is_own, complaints);
        let user = self.user as usize;
        let started_ns = monotonic_ns();
        self.board.set(user, STARTED_NS, started_ns);
        self.board.set(user, PASS, u64::from(pass));
        self.board.set(user, COMMAND, index as u64 + 1);
        let ended = ended(&mut command, started_ns, script.limit_ns, complaints);
        WorkRecord {
            at_ns: 0,
            worker: self.user,
            pass,
            item: described.name.clone(),
            started_ns,
            completed_ns: ended.completed_ns,
            censored_at_ns: ended.censored_at_ns,
            failure: ended.failure,
            usage: ended.usage.as_ref().map(named_usage).unwrap_or_default(),
        }
    }

    /// The command, ready to be started: in the user's directory, with an environment that is the
    /// same everywhere, and the mark by which all it starts is found.
    fn command(
        &self,
        dir: &Path,
        words: &[String],
        is_own: bool,
        complaints: &mut Option<File>,
    ) -> Command {
        let mut command = match is_own {
            true => {
                let mut command = Command::new(self.program);
                command.arg(TOOL_COMMAND).args(words);
                command
            }
            false => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command
            }
        };
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", self.path)
            .env("HOME", dir)
            .env("TMPDIR", dir)
            .env("LC_ALL", "C")
            .env(marked::VARIABLE, &self.assignment.work_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(listener(complaints).map_or_else(Stdio::null, Stdio::from));
        command
    }
}

/// Starts a command and waits until it ends or its time is up.
fn ended(
    command: &mut Command,
    started_ns: u64,
    limit_ns: u64,
    complaints: &mut Option<File>,
) -> Ended {
    let given_up = |failure: String, usage: Option<Usage>| Ended {
        completed_ns: None,
        censored_at_ns: Some(monotonic_ns()),
        failure: Some(failure),
        usage,
    };
    // Reaped below, by its number.
    let pid = match spawn_bound(command) {
        Ok(child) => child.id(),
        Err(error) => return given_up(format!("cannot be started: {error}"), None),
    };
    match wait_usage(pid, started_ns.saturating_add(limit_ns)) {
        Ok(Some((exit, usage))) => {
            let completed_ns = Some(monotonic_ns());
            let failure = failure(exit, complaints);
            Ended { completed_ns, censored_at_ns: None, failure, usage: Some(usage) }
        }
        Ok(None) => {
            // Its number cannot be another's yet: it was not waited for.
            let _ = signal_group(pid, signals::KILL);
            let usage = wait_usage(pid, u64::MAX).ok().flatten().map(|(_, usage)| usage);
            given_up("not done within the limit".to_owned(), usage)
        }
        Err(error) => given_up(format!("cannot be waited for: {error}"), None),
    }
}

/// What is wrong with how a command ended, with the last line of its complaints.
fn failure(exit: Exit, complaints: &mut Option<File>) -> Option<String> {
    let how = match exit {
        Exit::Code(0) => return None,
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(number) => format!("ended by signal {number}"),
    };
    let mut bytes = vec![0; COMPLAINT_BYTES as usize];
    let read = complaints.as_ref().and_then(|file| file.read_at(&mut bytes, 0).ok());
    bytes.truncate(read.unwrap_or(0));
    let text = String::from_utf8_lossy(&bytes);
    let said = text.trim_matches(['\0', '\n', ' ']).lines().next_back().unwrap_or_default();
    let said: String = said.chars().filter(|one| !one.is_control()).take(FAILURE_CHARS).collect();
    Some(if said.is_empty() { how } else { format!("{how}: {said}") })
}

/// A file in memory for what commands complain of. It does not grow: a command that complains
/// without end fills no memory.
fn complaints() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(rustix::fs::memfd_create("complaints", flags)?);
    file.set_len(COMPLAINT_BYTES)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::GROW)?;
    Ok(file)
}

/// The file as the standard error of the next command, empty again.
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
