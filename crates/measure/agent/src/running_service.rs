//! The user's service while it runs: inside the sandbox, whose clients are outside of it.

use std::cell::Cell;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use model::WorkRecord;
use model::units::format_duration;
use sys::clock::{monotonic_ns, sleep_until_ns};
use sys::process::{Exit, fork_child, signal_group, signals, wait};
use workloads::{Ready, Service};

use crate::captured::Captured;
use crate::children::enter_groups;
use crate::issued::Issuer;

/// The end of a service's output that is kept, in bytes.
const OUTPUT_BYTES: usize = 1 << 16;
/// Time between two looks at a starting or stopping service, in ns.
const LOOK_NS: u64 = 20_000_000;
/// Longest time of a connection or command that shows whether it is ready, in ns.
const TRY_NS: u64 = 10_000_000_000;
/// How long a service may take to stop by itself, in ns.
const STOP_NS: u64 = 10_000_000_000;

/// A service that was started; it dies with this process.
#[derive(Debug)]
pub(crate) struct RunningService {
    line: String,
    pid: u32,
    exit: Cell<Option<Exit>>,
    /// What it writes.
    pub(crate) output: Rc<Captured>,
}

impl RunningService {
    /// Starts a service in control groups and waits until it is ready, at most so long. `prepared`
    /// has its environment and folder; `issue` makes a command that shows whether it is ready. Fails
    /// with the reason when it ends, is late, or something else answers in its place.
    pub(crate) fn start(
        service: &Service,
        mut prepared: Command,
        groups: &[PathBuf],
        issue: impl Fn(&[String]) -> Command,
        limit_ns: u64,
    ) -> Result<Self, String> {
        let line = service.run.join(" ");
        let connects =
            |address| TcpStream::connect_timeout(address, Duration::from_nanos(TRY_NS)).is_ok();
        let is_ready = |output: Option<&Rc<Captured>>| match &service.ready {
            Ready::Port(addresses) => addresses.iter().any(connects),
            Ready::Output(text) => output.is_some_and(|output| output.text().contains(text)),
            Ready::Command(words) => {
                let mut work = WorkRecord { started_ns: monotonic_ns(), ..WorkRecord::default() };
                let mut command = issue(words);
                command.stdout(Stdio::null()).stderr(Stdio::null());
                Issuer::default().beside(output.cloned()).run(
                    &mut command,
                    &mut work,
                    TRY_NS.min(limit_ns),
                    None,
                );
                work.failure.is_none()
            }
        };
        if is_ready(None) {
            return Err(format!(
                "something else is ready before the service {line:?} was started: another process \
                 is running there"
            ));
        }
        let failed = |error: io::Error| format!("start the service {line:?}: {error}");
        let output = Rc::new(Captured::new(OUTPUT_BYTES).map_err(failed)?);
        let writer = || output.writer().map_err(failed);
        let (out, err, mut why) = (writer()?, writer()?, writer()?);
        prepared.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
        let pid = fork_child(|| {
            let entered = enter_groups(groups);
            let error = entered.err().unwrap_or_else(|| prepared.exec());
            // It is read as what the service wrote.
            let _ = writeln!(why, "cannot be started: {error}");
            127
        });
        let pid = pid.map_err(failed)?;
        let started = Self { line, pid, exit: Cell::new(None), output };
        let until_ns = monotonic_ns().saturating_add(limit_ns);
        loop {
            started.output.read();
            if let Some(how) = started.death() {
                return Err(how);
            }
            if is_ready(Some(&started.output)) {
                return Ok(started);
            }
            if monotonic_ns() >= until_ns {
                let last = match started.output.last_lines() {
                    last if last.is_empty() => "it has written nothing".to_owned(),
                    last => last,
                };
                let line = &started.line;
                let limit = format_duration(limit_ns);
                let why = format!("the service {line:?} is not ready after {limit}: {last}");
                let killed = started.stop().map(|killed| format!("; {killed}"));
                return Err(why + &killed.unwrap_or_default());
            }
            sleep_until_ns(monotonic_ns() + LOOK_NS);
        }
    }

    /// How it ended, if it did. One that ends with code 0 works on in the background.
    pub(crate) fn death(&self) -> Option<String> {
        if self.exit.get().is_none() {
            self.exit.set(wait(self.pid, false).ok().flatten());
        }
        let exit = self.exit.get().filter(|exit| *exit != Exit::Code(0))?;
        self.output.read();
        let (line, last) = (&self.line, self.output.last_lines());
        let last = if last.is_empty() { last } else { format!(": {last}") };
        Some(format!("the service {line:?} {exit}{last}"))
    }

    /// Lets it and what it started in its process group end by themselves, and kills what does not,
    /// which it then reports. One that works on in the background has no process number that is
    /// known here.
    pub(crate) fn stop(&self) -> Option<String> {
        if self.exit.get().is_some() {
            return None;
        }
        let _ = signal_group(self.pid, signals::TERM);
        let until_ns = monotonic_ns() + STOP_NS;
        while self.exit.get().is_none() && monotonic_ns() < until_ns {
            self.output.read();
            self.exit.set(wait(self.pid, false).ok().flatten());
            sleep_until_ns(monotonic_ns() + LOOK_NS);
        }
        if self.exit.get().is_some() {
            return None;
        }
        let _ = signal_group(self.pid, signals::KILL);
        let limit = format_duration(STOP_NS);
        Some(format!("the service {:?} did not end within {limit} of SIGTERM: killed", self.line))
    }
}
