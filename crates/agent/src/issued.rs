//! Commands that a process of the run issues: how long they take, what they use, how they fail.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, Stdio};
use std::rc::Rc;

use model::{CounterSet, WorkRecord};
use sys::clock::monotonic_ns;
use sys::process::{Exit, signal_group, signals, spawn_bound};
use sys::waiting::{Ended, wait_end, wait_usage};

use crate::captured::Captured;
use crate::delays::{Delays, LOOK_EVERY_NS};
use crate::record::named_usage;

/// The end of a command's output that is kept, in bytes: of its standard error, or of both.
const COMPLAINT_BYTES: usize = 4096;
const OUTPUT_BYTES: usize = 1 << 20;

/// Runs commands one after the other.
#[derive(Default)]
pub(crate) struct Issuer<'a> {
    /// The output of commands; `None` if it is not kept.
    kept: Option<Rc<Captured>>,
    /// Whether their standard output is kept, too.
    with_output: bool,
    /// Also read while they run, so that who writes it does not wait.
    beside: Vec<Rc<Captured>>,
    /// Whether what a command needs has ended, so that it is not waited for.
    is_over: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Issuer<'a> {
    /// Keeps the standard error of commands.
    pub(crate) fn new() -> Self {
        Self::keeping(Captured::new(COMPLAINT_BYTES).ok().map(Rc::new))
    }

    /// Keeps the standard error of commands in this.
    pub(crate) fn keeping(kept: Option<Rc<Captured>>) -> Self {
        Self { kept, ..Self::default() }
    }

    /// Keeps all that commands write. Fails when there is no pipe.
    pub(crate) fn with_output() -> io::Result<Self> {
        let kept = Some(Rc::new(Captured::new(OUTPUT_BYTES)?));
        Ok(Self { kept, with_output: true, ..Self::default() })
    }

    /// Reads these as well while commands run.
    pub(crate) fn beside(self, beside: impl IntoIterator<Item = Rc<Captured>>) -> Self {
        Self { beside: beside.into_iter().collect(), ..self }
    }

    /// Ends commands when this is so.
    pub(crate) fn until(self, is_over: &'a dyn Fn() -> bool) -> Self {
        Self { is_over: Some(is_over), ..self }
    }

    /// What the last command wrote.
    pub(crate) fn output(&self) -> String {
        self.read();
        self.kept.as_ref().map(|kept| kept.text()).unwrap_or_default()
    }

    /// Keeps what a command writes, which is the next to run.
    pub(crate) fn listen_to(&self, command: &mut Command) {
        let writer = || self.kept.as_ref().and_then(|kept| kept.writer().ok());
        command.stderr(writer().map_or_else(Stdio::null, Stdio::from));
        let output = if self.with_output { writer() } else { None };
        command.stdout(output.map_or_else(Stdio::null, Stdio::from));
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
        // What earlier ones left running may have written since.
        self.kept.iter().for_each(|kept| kept.clear());
        // Reaped below, by its process id.
        let pid = match spawn_bound(command) {
            Ok(child) => child.id(),
            Err(error) => {
                given_up(format!("cannot be started: {error}"));
                return None;
            }
        };
        let until_ns = work.started_ns.saturating_add(limit_ns);
        let ended = match self.wait(pid, until_ns, delays) {
            Ok(Some((ended, ended_ns, delays))) => {
                work.completed_ns = Some(ended_ns);
                work.delays = delays;
                work.failure = self.failure(ended.exit);
                Some(ended)
            }
            Ok(None) => {
                // Not reaped yet, so its process id is still its own.
                let _ = signal_group(pid, signals::KILL);
                let ended = wait_usage(pid, u64::MAX, &[], || {}).ok().flatten();
                given_up(match self.is_over() {
                    true => "its service ended".to_owned(),
                    false => "not done within the limit".to_owned(),
                });
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

    /// Waits for a child: how and when it ended, and what delayed it.
    fn wait(
        &self,
        pid: u32,
        until_ns: u64,
        mut delays: Option<&mut Delays>,
    ) -> io::Result<Option<(Ended, u64, CounterSet)>> {
        let outputs: Vec<BorrowedFd<'_>> = self.outputs().map(|output| output.as_fd()).collect();
        let must_look =
            self.is_over.is_some() || delays.as_ref().is_some_and(|delays| delays.must_look());
        let next_ns = || match must_look {
            true => monotonic_ns().saturating_add(LOOK_EVERY_NS).min(until_ns),
            false => until_ns,
        };
        while !wait_end(pid, next_ns(), &outputs, || self.read())? {
            if monotonic_ns() >= until_ns || self.is_over() {
                return Ok(None);
            }
            delays.iter_mut().for_each(|delays| delays.look());
        }
        let ended_ns = monotonic_ns();
        let counters = delays.map_or_else(CounterSet::new, |delays| delays.end(pid));
        let ended = wait_usage(pid, u64::MAX, &[], || {})?;
        Ok(ended.map(|ended| (ended, ended_ns, counters)))
    }

    fn is_over(&self) -> bool {
        self.is_over.is_some_and(|is_over| is_over())
    }

    fn outputs(&self) -> impl Iterator<Item = &Rc<Captured>> {
        self.kept.iter().chain(&self.beside)
    }

    fn read(&self) {
        self.outputs().for_each(|output| output.read());
    }

    /// How a command failed, with the last lines that it wrote.
    fn failure(&self, exit: Exit) -> Option<String> {
        let how = match exit {
            Exit::Code(0) => return None,
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(_) => exit.to_string(),
        };
        self.read();
        let last = self.kept.as_ref().map(|kept| kept.last_lines()).unwrap_or_default();
        Some(if last.is_empty() { how } else { format!("{how}: {last}") })
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
        issuer.run(&mut command, &mut work, 60_000_000_000, None);
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
