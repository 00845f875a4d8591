//! Commands that a process of the run issues: how long they take, what they use, how they fail.

use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use model::{CounterSet, WorkRecord};
use rustix::fs::{MemfdFlags, SealFlags};
use sys::clock::monotonic_ns;
use sys::process::{Ended, Exit, signal_group, signals, spawn_bound, wait_end, wait_usage};

use crate::delays::{Delays, LOOK_EVERY_NS};
use crate::record::named_usage;

/// Captured part of a command's standard error, in bytes.
const COMPLAINT_BYTES: u64 = 4096;
/// Longest text of a failure in characters: a message is one atomic write.
const FAILURE_CHARS: usize = 200;

/// Runs commands one after the other.
pub(crate) struct Issuer {
    /// The standard error of commands; `None` if it cannot be kept.
    complaints: Option<File>,
}

impl Issuer {
    pub(crate) fn new() -> Self {
        Self { complaints: complaints().ok() }
    }

    /// Keeps the standard error of a command, which is the next to run.
    pub(crate) fn listen_to(&mut self, command: &mut Command) {
        command.stderr(listener(&mut self.complaints).map_or_else(Stdio::null, Stdio::from));
    }

    /// Runs a command until it ends or times out, and records how it ended, with what delayed it.
    /// `None` if it did not run.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        work: &mut WorkRecord,
        limit_ns: u64,
        delays: Option<&mut Delays>,
    ) -> Option<Ended> {
        let mut given_up = |failure: String| {
            work.censored_at_ns = Some(monotonic_ns());
            work.failure = Some(failure);
        };
        // Reaped below, by its process id.
        let pid = match spawn_bound(command) {
            Ok(child) => child.id(),
            Err(error) => {
                given_up(format!("cannot be started: {error}"));
                return None;
            }
        };
        let until_ns = work.started_ns.saturating_add(limit_ns);
        let ended = match wait(pid, until_ns, delays) {
            Ok(Some((ended, ended_ns, delays))) => {
                work.completed_ns = Some(ended_ns);
                work.delays = delays;
                work.failure = self.failure(ended.exit);
                Some(ended)
            }
            Ok(None) => {
                // Not reaped yet, so its process id is still its own.
                let _ = signal_group(pid, signals::KILL);
                let ended = wait_usage(pid, u64::MAX).ok().flatten();
                given_up("not done within the limit".to_owned());
                ended
            }
            Err(error) => {
                given_up(format!("cannot be waited for: {error}"));
                return None;
            }
        };
        work.usage = ended.as_ref().map(|it| named_usage(&it.usage)).unwrap_or_default();
        ended
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
        let said = said.chars().map(|one| if one.is_control() { ' ' } else { one });
        let said: String = said.take(FAILURE_CHARS).collect();
        Some(if said.is_empty() { how } else { format!("{how}: {said}") })
    }
}

/// Waits for a child: how and when it ended, and what delayed it.
fn wait(
    pid: u32,
    until_ns: u64,
    delays: Option<&mut Delays>,
) -> io::Result<Option<(Ended, u64, CounterSet)>> {
    let Some(delays) = delays else {
        let ended = wait_usage(pid, until_ns)?;
        return Ok(ended.map(|ended| (ended, monotonic_ns(), CounterSet::new())));
    };
    let must_look = delays.must_look();
    let next_ns = || match must_look {
        true => monotonic_ns().saturating_add(LOOK_EVERY_NS).min(until_ns),
        false => until_ns,
    };
    while !wait_end(pid, next_ns())? {
        if monotonic_ns() >= until_ns {
            return Ok(None);
        }
        delays.look();
    }
    let ended_ns = monotonic_ns();
    let counters = delays.end(pid);
    let ended = wait_usage(pid, u64::MAX)?;
    Ok(ended.map(|ended| (ended, ended_ns, counters)))
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
