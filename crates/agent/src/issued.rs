//! Commands that a process of the run issues: how long they take, what they use, how they fail.

use std::cell::RefCell;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use model::WorkRecord;
use sys::clock::monotonic_ns;
use sys::process::{Ended, Exit, signal_group, signals, spawn_bound, wait_usage};

use crate::record::named_usage;

/// The end of a command's standard error that is kept, in bytes.
const COMPLAINT_BYTES: usize = 4096;
/// Most reads at once: a command may write as fast as it is read.
const READS: usize = 64;
/// Longest text of a failure in characters: a message is one atomic write.
const FAILURE_CHARS: usize = 200;
/// Most lines of standard error in a failure.
const FAILURE_LINES: usize = 3;

/// Runs commands one after the other.
pub(crate) struct Issuer {
    /// The standard error of commands; `None` if it cannot be kept.
    complaints: Option<Complaints>,
}

impl Issuer {
    pub(crate) fn new() -> Self {
        Self { complaints: Complaints::new().ok() }
    }

    /// Keeps the standard error of a command, which is the next to run.
    pub(crate) fn listen_to(&self, command: &mut Command) {
        let writer = self.complaints.as_ref().and_then(|kept| kept.writer.try_clone().ok());
        command.stderr(writer.map_or_else(Stdio::null, Stdio::from));
    }

    /// Runs a command until it ends or times out, and records how it ended. `None` if it did not
    /// run.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        work: &mut WorkRecord,
        limit_ns: u64,
    ) -> Option<Ended> {
        let mut given_up = |failure: String| {
            work.censored_at_ns = Some(monotonic_ns());
            work.failure = Some(failure);
        };
        // What earlier ones left running may have written since.
        self.read();
        self.complaints.iter().for_each(|kept| kept.end.borrow_mut().clear());
        // Reaped below, by its process id.
        let pid = match spawn_bound(command) {
            Ok(child) => child.id(),
            Err(error) => {
                given_up(format!("cannot be started: {error}"));
                return None;
            }
        };
        let until_ns = work.started_ns.saturating_add(limit_ns);
        let output = self.complaints.as_ref().map(|kept| kept.reader.as_fd());
        let ended = match wait_usage(pid, until_ns, output, || self.read()) {
            Ok(Some(ended)) => {
                work.completed_ns = Some(monotonic_ns());
                work.failure = self.failure(ended.exit);
                Some(ended)
            }
            Ok(None) => {
                // Not reaped yet, so its process id is still its own.
                let _ = signal_group(pid, signals::KILL);
                let ended = wait_usage(pid, u64::MAX, None, || false).ok().flatten();
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

    /// Reads what was written to standard error; returns whether that works.
    fn read(&self) -> bool {
        self.complaints.as_ref().is_some_and(|kept| kept.read().is_ok())
    }

    /// How a command failed, with the last lines of its standard error.
    fn failure(&self, exit: Exit) -> Option<String> {
        let how = match exit {
            Exit::Code(0) => return None,
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(_) => exit.to_string(),
        };
        self.read();
        let last = self.complaints.as_ref().map(Complaints::last_lines).unwrap_or_default();
        Some(if last.is_empty() { how } else { format!("{how}: {last}") })
    }
}

/// The standard error of commands: a pipe, of which the end is kept. A command may write as much as
/// it likes, as to a terminal.
struct Complaints {
    reader: PipeReader,
    writer: PipeWriter,
    end: RefCell<Vec<u8>>,
}

impl Complaints {
    fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        Ok(Self { reader, writer, end: RefCell::default() })
    }

    /// Keeps the end of what is in the pipe now.
    fn read(&self) -> io::Result<()> {
        let (mut end, mut bytes) = (self.end.borrow_mut(), [0; COMPLAINT_BYTES]);
        for _ in 0..READS {
            match (&self.reader).read(&mut bytes) {
                Ok(count) => end.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            let surplus = end.len().saturating_sub(COMPLAINT_BYTES);
            end.drain(..surplus);
        }
        Ok(())
    }

    /// The last lines that are not empty, as one.
    fn last_lines(&self) -> String {
        let end = self.end.borrow();
        let text = String::from_utf8_lossy(&end);
        let mut last = String::new();
        let lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
        for line in lines.take(FAILURE_LINES) {
            let line: String =
                line.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
            match last.is_empty() {
                true => last = line.chars().take(FAILURE_CHARS).collect(),
                false if last.chars().count() + line.chars().count() < FAILURE_CHARS => {
                    last = format!("{line}; {last}");
                }
                false => break,
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a shell command ended.
    fn failure(text: &str) -> Option<String> {
        let (issuer, mut work) = (Issuer::new(), WorkRecord::default());
        let mut command = Command::new("sh");
        issuer.listen_to(command.args(["-c", text]));
        work.started_ns = monotonic_ns();
        issuer.run(&mut command, &mut work, 60_000_000_000);
        work.failure
    }

    #[test]
    fn a_failure_has_the_end_of_standard_error_however_much_there_is() {
        let much =
            "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); echo \"line $i\" >&2 || exit 9; done";
        assert_eq!(failure(much), None, "each line can be written");
        assert_eq!(
            failure(&format!("{much}; exit 3")).unwrap(),
            "exit code 3: line 2998; line 2999; line 3000"
        );
        assert_eq!(failure("echo x >&2; kill -9 $$").unwrap(), "ended by signal 9: x");
        let long = failure("echo no >&2; printf '%0500d\n' 7 >&2; exit 1").unwrap();
        assert!(long.starts_with("exit code 1: 000"), "{long}");
        assert_eq!(failure("exit 2").unwrap(), "exit code 2");
    }

    #[test]
    fn what_an_earlier_command_left_running_blocks_nothing() {
        let text = "(sleep 20; echo late >&2) & exit 4";
        let started_ns = monotonic_ns();
        assert_eq!(failure(text).unwrap(), "exit code 4");
        assert!(monotonic_ns() - started_ns < 15_000_000_000);
    }
}
