//! Commands that a process of the run issues: how long they take, what they use, how they fail.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, Stdio};
use std::rc::Rc;

use model::{CPU_OF_ALL, Values, WorkEnd, WorkRecord};
use sys::clock::monotonic_ns;
use sys::process::{Exit, Usage, signal_group, signals, spawn_bound};
use sys::waiting::{Change, Ended, wait_change, wait_usage};

use crate::captured::Captured;
use crate::delays::{Counted, Delays, LOOK_EVERY_NS};
use crate::record::named_usage;

/// The end of a command's output that is kept, in bytes: of its standard error, or of both.
const COMPLAINT_BYTES: usize = 4096;
const OUTPUT_BYTES: usize = 1 << 20;

const STOPPED_AT_LIMIT: &str =
    "not done within the limit, as a signal had stopped it and none continued it";

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

    /// Runs a command until it ends or must be ended, and records how it ended, with what was counted
    /// meanwhile. `None` if it did not run.
    pub(crate) fn run(
        &self,
        command: &mut Command,
        work: &mut WorkRecord,
        limit_ns: u64,
        delays: Option<&mut Delays>,
    ) -> Option<Ended> {
        // What earlier ones left running may have written since.
        self.kept.iter().for_each(|kept| kept.clear());
        // Reaped below, by its process id.
        let pid = match spawn_bound(command) {
            Ok(child) => child.id(),
            Err(error) => {
                self.give_up(work, WorkEnd::NotStarted { reason: error.to_string() });
                return None;
            }
        };
        let until_ns = work.started_ns.saturating_add(limit_ns);
        let ended = match self.wait(pid, until_ns, delays) {
            Ok(Waited::Ended(ended, ended_ns, counted)) => {
                work.completed_ns = Some(ended_ns);
                work.usage = named_usage(&ended.usage);
                add_cpu_of_all(&mut work.usage, ended.usage.0, counted.cpu_ns);
                work.usage.extend(counted.counts);
                work.delays = counted.delays;
                let end = end_of(ended.exit, counted.killed_for_memory);
                work.failure = self.failure(&end);
                work.ended = Some(end);
                return Some(ended);
            }
            Ok(Waited::EndIt(end)) => {
                let was_stopped = end == WorkEnd::AtLimit && is_stopped(pid);
                // Not reaped yet, so its process id is still its own.
                let _ = signal_group(pid, signals::KILL);
                let ended = wait_usage(pid, u64::MAX, &[], || {}).ok().flatten();
                self.give_up(work, end);
                if was_stopped {
                    work.failure = Some(STOPPED_AT_LIMIT.to_owned());
                }
                ended
            }
            Err(error) => {
                self.give_up(work, WorkEnd::EndedByUs);
                work.failure = Some(format!("cannot be waited for: {error}"));
                return None;
            }
        };
        work.usage = ended.as_ref().map(|it| named_usage(&it.usage)).unwrap_or_default();
        ended
    }

    /// Records the end of a command that has no time of its own.
    fn give_up(&self, work: &mut WorkRecord, end: WorkEnd) {
        work.censored_at_ns = Some(monotonic_ns());
        work.failure = self.failure(&end);
        work.ended = Some(end);
    }

    /// Waits for a child: how and when it ended and what was counted, or why it must be ended.
    fn wait(&self, pid: u32, until_ns: u64, mut delays: Option<&mut Delays>) -> io::Result<Waited> {
        let outputs: Vec<BorrowedFd<'_>> = self.outputs().map(|output| output.as_fd()).collect();
        let must_look =
            self.is_over.is_some() || delays.as_ref().is_some_and(|delays| delays.must_look());
        let next_ns = || match must_look {
            true => monotonic_ns().saturating_add(LOOK_EVERY_NS).min(until_ns),
            false => until_ns,
        };
        loop {
            match wait_change(pid, next_ns(), &outputs, || self.read())? {
                Some(Change::Ended) => break,
                Some(Change::Stopped(signal)) => {
                    return Ok(Waited::EndIt(WorkEnd::StoppedByTerminal { signal }));
                }
                None if self.is_over() => return Ok(Waited::EndIt(WorkEnd::EndedByUs)),
                None if monotonic_ns() >= until_ns => {
                    return Ok(Waited::EndIt(WorkEnd::AtLimit));
                }
                None => delays.iter_mut().for_each(|delays| delays.look()),
            }
        }
        let ended_ns = monotonic_ns();
        let counted = delays.map_or_else(Counted::default, |delays| delays.end(pid));
        let ended = wait_usage(pid, u64::MAX, &[], || {})?;
        let gone = || io::Error::other("it was reaped by another process");
        ended.map(|ended| Waited::Ended(ended, ended_ns, counted)).ok_or_else(gone)
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

    /// How a command failed, with the last lines that it wrote; `None` if it did not.
    fn failure(&self, end: &WorkEnd) -> Option<String> {
        let how = match end {
            WorkEnd::Exited { code: 0 } => return None,
            WorkEnd::Exited { code } => format!("exit code {code}"),
            WorkEnd::Signalled { signal } => Exit::Signal(*signal).to_string(),
            WorkEnd::KilledForMemory { processes, code } => {
                let how = match code {
                    Some(code) => format!("exit code {code}, and"),
                    None => "ended by signal 9:".to_owned(),
                };
                let count = match processes {
                    1 => "one of its processes".to_owned(),
                    several => format!("{several} of its processes"),
                };
                format!("{how} the kernel killed {count} for lack of memory (OOM killer)")
            }
            WorkEnd::NotStarted { reason } => return Some(format!("cannot be started: {reason}")),
            WorkEnd::AtLimit => return Some("not done within the limit".to_owned()),
            WorkEnd::EndedByUs => return Some("its service ended".to_owned()),
            WorkEnd::StoppedByTerminal { signal } => {
                let does = match *signal {
                    signals::TTIN => "read from",
                    _ => "changed",
                };
                return Some(format!(
                    "stopped, as it {does} the terminal, which a timed command cannot use: give it \
                     its input with --input FILE"
                ));
            }
        };
        self.read();
        let last = self.kept.as_ref().map(|kept| kept.last_lines()).unwrap_or_default();
        Some(if last.is_empty() { how } else { format!("{how}: {last}") })
    }
}

/// The result of waiting for a command.
enum Waited {
    /// How and when it ended, and what was counted.
    Ended(Ended, u64, Counted),
    /// It still runs, and must be ended for this reason.
    EndIt(WorkEnd),
}

/// Whether a signal has stopped a process, and none has continued it.
fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
}

fn end_of(exit: Exit, killed_for_memory: u64) -> WorkEnd {
    match exit {
        Exit::Code(code) if killed_for_memory > 0 => {
            WorkEnd::KilledForMemory { processes: killed_for_memory, code: Some(code) }
        }
        Exit::Signal(signals::KILL) if killed_for_memory > 0 => {
            WorkEnd::KilledForMemory { processes: killed_for_memory, code: None }
        }
        Exit::Code(code) => WorkEnd::Exited { code },
        Exit::Signal(signal) => WorkEnd::Signalled { signal },
    }
}

/// Adds CPU time of processes that nobody waited for: what the command's control group counted
/// beyond the time of those that were, divided as all of the group's.
fn add_cpu_of_all(
    usage: &mut Values,
    [user_ns, system_ns, ..]: [u64; Usage::NAMES.len()],
    of_group: Option<[u64; 2]>,
) {
    let Some([all_ns, of_user_ns]) = of_group else { return };
    let more_ns = all_ns.saturating_sub(user_ns + system_ns);
    let of_user = of_user_ns as f64 / all_ns.max(1) as f64;
    let more_user_ns = ((more_ns as f64 * of_user) as u64).min(more_ns);
    let times_ns = [user_ns + more_user_ns, system_ns + more_ns - more_user_ns];
    usage.extend(CPU_OF_ALL.map(Into::into).into_iter().zip(times_ns));
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
        let missing = {
            let (issuer, mut work) = (Issuer::new(), WorkRecord::default());
            issuer.run(&mut Command::new("/no/such/program"), &mut work, u64::MAX, None);
            work
        };
        assert!(matches!(missing.ended, Some(WorkEnd::NotStarted { .. })), "{missing:?}");
        assert_eq!(missing.elapsed_ns(), None, "no time, and no bound of one");
    }

    #[test]
    fn a_command_that_is_stopped_at_its_limit_is_named_as_that() {
        let ended = |text: &str| {
            let (issuer, mut work) = (Issuer::new(), WorkRecord::default());
            let mut command = Command::new("sh");
            issuer.listen_to(command.args(["-c", text]));
            work.started_ns = monotonic_ns();
            issuer.run(&mut command, &mut work, 300_000_000, None);
            assert_eq!(work.ended, Some(WorkEnd::AtLimit));
            work.failure.unwrap()
        };
        assert_eq!(ended("kill -STOP $$"), STOPPED_AT_LIMIT);
        assert_eq!(ended("sleep 60"), "not done within the limit");
    }

    #[test]
    fn a_kill_for_memory_is_a_failure_whatever_the_exit_code() {
        let issuer = Issuer::new();
        let end = end_of(Exit::Code(0), 2);
        assert_eq!(
            issuer.failure(&end).unwrap(),
            "exit code 0, and the kernel killed 2 of its processes for lack of memory (OOM killer)"
        );
        assert_eq!(end_of(Exit::Code(0), 0), WorkEnd::Exited { code: 0 });
        assert_eq!(end_of(Exit::Signal(15), 1), WorkEnd::Signalled { signal: 15 });
    }

    #[test]
    fn the_time_of_all_processes_is_that_of_those_waited_for_and_the_rest() {
        let waited = [100, 50, 0, 0, 0, 0, 0, 0];
        let mut usage = named_usage(&Usage(waited));
        add_cpu_of_all(&mut usage, waited, Some([1150, 1150]));
        assert_eq!((usage["all_user_ns"], usage["all_system_ns"]), (1100, 50));
        add_cpu_of_all(&mut usage, waited, Some([90, 90]));
        assert_eq!((usage["all_user_ns"], usage["all_system_ns"]), (100, 50), "never less");
    }

    #[test]
    fn what_an_earlier_command_left_running_blocks_nothing() {
        let text = "(sleep 20; echo late >&2) & exit 4";
        let started_ns = monotonic_ns();
        assert_eq!(failure(text).unwrap(), "exit code 4");
        assert!(monotonic_ns() - started_ns < 15_000_000_000);
    }
}
