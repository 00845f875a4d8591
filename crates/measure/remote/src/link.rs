//! A running ssh, and the messages through it.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use agent::{Waiter, Woken};
use sys::clock::monotonic_ns;
use sys::process::{KilledOnDrop, spawn_bound};

use crate::address::Address;
use lease::wire::{Answer, Ask, Frame, Reader, encode};

const PING: Duration = Duration::from_secs(15);
/// A connection without any answer for this long is broken, in ns.
const SILENCE_NS: u64 = 60_000_000_000;
const DRAIN_NS: u64 = 5_000_000_000;
/// How long to wait for ssh's error output: a shared connection may keep it open.
const LAST_WORDS: Duration = Duration::from_secs(2);
const SAID_BYTES: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    #[error("it was closed")]
    Closed,
    #[error("no data for {} s", SILENCE_NS / 1_000_000_000)]
    Silent,
    /// A message that this side does not understand.
    #[error("{0}")]
    Garbled(String),
}

pub(crate) struct Link {
    child: KilledOnDrop,
    input: Option<Input>,
    /// Stops the pings when dropped.
    asking: Option<mpsc::Sender<()>>,
    output: ChildStdout,
    said: Arc<Mutex<Vec<u8>>>,
    /// Closes at the end of ssh's error output.
    complaining: mpsc::Receiver<()>,
    reader: Reader,
    heard_ns: u64,
}

type Input = Arc<Mutex<ChildStdin>>;

impl Link {
    /// Starts ssh; it may not have reached the host yet.
    pub(crate) fn start(ssh: &str, address: &Address, command: &str) -> io::Result<Self> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (sender, receiver) = mpsc::channel();
        let mut shell = shell(ssh, address, command);
        let heard = Arc::clone(&said);
        let (listening, complaining) = mpsc::channel();
        // ssh dies with its starting thread, so that one lives until ssh's error output ends. It is
        // not joined: a shared connection may stay silent for hours.
        thread::spawn(move || {
            match spawn_bound(&mut shell)
                .map(|mut child| (child.stderr.take(), KilledOnDrop(child)))
            {
                Err(error) => drop(sender.send(Err(error))),
                Ok((errors, child)) => {
                    drop(sender.send(Ok(child)));
                    errors.into_iter().for_each(|errors| listen(errors, &heard));
                }
            }
            drop(listening);
        });
        let lost = |what| io::Error::other(format!("ssh has no {what}"));
        let mut child = receiver.recv().map_err(|_| lost("thread"))??;
        let output = child.0.stdout.take().ok_or_else(|| lost("output"))?;
        let input = child.0.stdin.take().ok_or_else(|| lost("input"))?;
        let input = Arc::new(Mutex::new(input));
        Ok(Self {
            input: Some(input),
            asking: None,
            child,
            output,
            said,
            complaining,
            reader: Reader::default(),
            heard_ns: monotonic_ns(),
        })
    }

    pub(crate) fn ask(&mut self, ask: &Ask) -> Result<(), Broken> {
        let input = self.input.as_ref().ok_or(Broken::Closed)?;
        write(input, ask).map_err(|_| Broken::Closed)?;
        self.asking.get_or_insert_with(|| keep_asking(input));
        Ok(())
    }

    /// The next message; `None` at `until_ns` (monotonic), or once the user has requested a stop.
    pub(crate) fn receive(
        &mut self,
        waiter: &Waiter,
        until_ns: u64,
    ) -> Result<Option<Frame<Answer>>, Broken> {
        let stops = waiter.stop_requested();
        // Silence counts only while listening.
        self.heard_ns = monotonic_ns();
        loop {
            if let Some(said) = self.reader.next_frame().map_err(Broken::Garbled)? {
                return Ok(Some(said));
            }
            let now_ns = monotonic_ns();
            if now_ns >= until_ns || waiter.stop_requested() != stops {
                return Ok(None);
            }
            if now_ns >= self.heard_ns.saturating_add(SILENCE_NS) {
                return Err(Broken::Silent);
            }
            let next_ns = until_ns.min(self.heard_ns.saturating_add(SILENCE_NS));
            if waiter.wait(Some(self.output.as_fd()), next_ns) == Woken::Readable {
                self.read()?;
            }
        }
    }

    fn read(&mut self) -> Result<(), Broken> {
        let mut bytes = vec![0; 64 << 10];
        match self.output.read(&mut bytes) {
            Ok(0) => return Err(Broken::Closed),
            Ok(count) => self.reader.push(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Broken::Closed),
        }
        self.heard_ns = monotonic_ns();
        Ok(())
    }

    /// Sends a whole file; the exit status there shows whether it arrived.
    pub(crate) fn give(&mut self, bytes: Vec<u8>) {
        let Some(input) = self.input.take() else { return };
        // On its own thread, since a blocked write would not notice Ctrl-C.
        thread::spawn(move || {
            let _ = input.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes);
        });
    }

    /// Closes the input and waits for the end; `None` after `patience_ns` or a stop request.
    pub(crate) fn end(&mut self, waiter: &Waiter, patience_ns: u64) -> Option<ExitStatus> {
        drop(self.input.take());
        let until_ns = monotonic_ns().saturating_add(patience_ns);
        loop {
            match self.child.0.try_wait() {
                Ok(Some(status)) => {
                    // Error output may still be in transit.
                    let _: Result<(), _> = self.complaining.recv_timeout(LAST_WORDS);
                    return Some(status);
                }
                Ok(None) if monotonic_ns() < until_ns && !waiter.stop_requested() => {}
                _ => return None,
            }
            waiter.wait(None, (monotonic_ns() + 50_000_000).min(until_ns));
        }
    }

    /// Closes the input and lets ssh deliver what it has.
    pub(crate) fn drain(&mut self) {
        drop(self.input.take());
        let until_ns = monotonic_ns() + DRAIN_NS;
        while monotonic_ns() < until_ns && matches!(self.child.0.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The last error output of ssh or its command, in one line.
    pub(crate) fn error_output(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said).into_owned();
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(4)..].join("; ")
    }
}

/// The command that runs `command` on a host; `ssh` may have arguments, in shell syntax.
fn shell(ssh: &str, address: &Address, command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec {ssh} \"$@\""), "ssh"]);
    // No prompts, which nobody would see; no forwarding, which a second connection could not have.
    for option in [
        "BatchMode=yes",
        "ConnectTimeout=20",
        "ClearAllForwardings=yes",
        "RemoteCommand=none",
        "RequestTTY=no",
    ] {
        shell.args(["-o", option]);
    }
    if let Some(port) = address.port {
        shell.args(["-p", &port.to_string()]);
    }
    if let Some(user) = &address.user {
        shell.args(["-l", user]);
    }
    shell.args(["--", &address.host, command]);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// Pings until the sender is dropped, since a session may idle for hours.
fn keep_asking(input: &Input) -> mpsc::Sender<()> {
    let (sender, stopped) = mpsc::channel();
    let input = Arc::downgrade(input);
    thread::spawn(move || {
        while stopped.recv_timeout(PING) == Err(RecvTimeoutError::Timeout) {
            let Some(input) = input.upgrade() else { return };
            if write(&input, &Ask::Ping).is_err() {
                return;
            }
        }
    });
    sender
}

fn write(input: &Mutex<ChildStdin>, ask: &Ask) -> io::Result<()> {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    input.write_all(&encode(ask))?;
    input.flush()
}

fn listen(mut errors: impl Read, said: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut bytes) {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&bytes[..count]);
        let excess = said.len().saturating_sub(SAID_BYTES);
        said.drain(..excess);
    }
}
