//! QEMU's monitor (QMP, `docs/interop/qmp-spec.rst` of QEMU) over its standard streams.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use model::whole_lines;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

const ANSWER: Duration = Duration::from_secs(60);

pub(crate) struct Qmp {
    input: ChildStdin,
    output: ChildStdout,
    rest: Vec<u8>,
    answer: Option<Value>,
    is_paused: bool,
    is_closed: bool,
}

impl Qmp {
    /// Connects to a QEMU started with `-qmp stdio`. Fails when QEMU ends instead.
    pub(crate) fn connect(child: &mut Child) -> io::Result<Self> {
        let lost = || io::Error::other("QEMU was started without pipes for input and output");
        let input = child.stdin.take().ok_or_else(lost)?;
        let output = child.stdout.take().ok_or_else(lost)?;
        let (rest, answer) = (Vec::new(), None);
        let mut qmp = Self { input, output, rest, answer, is_paused: false, is_closed: false };
        qmp.command("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Sends a command and waits for its answer; keeps events. Fails when there is none.
    pub(crate) fn command(&mut self, name: &str, arguments: Value) -> io::Result<Value> {
        let failed = |why: &str| io::Error::other(format!("{name}: {why}"));
        self.send(name, arguments)?;
        let until = Instant::now() + ANSWER;
        while self.answer.is_none() {
            if self.is_closed {
                return Err(failed("QEMU ended"));
            }
            if Instant::now() > until {
                return Err(failed("QEMU does not answer"));
            }
            self.fill(Duration::from_millis(100))?;
        }
        let mut answer = self.answer.take().unwrap_or_default();
        match answer.get("error") {
            Some(error) => Err(failed(error["desc"].as_str().unwrap_or("refused"))),
            None => Ok(answer["return"].take()),
        }
    }

    /// Sends a command without waiting. Fails when QEMU is gone.
    pub(crate) fn send(&mut self, name: &str, arguments: Value) -> io::Result<()> {
        let text = json!({ "execute": name, "arguments": arguments }).to_string();
        self.input
            .write_all(text.as_bytes())
            .map_err(|error| io::Error::other(format!("{name}: {error}")))
    }

    /// The next event within `patience`. Fails when the stream breaks.
    pub(crate) fn event(&mut self, patience: Duration) -> io::Result<Event> {
        if !self.is_paused && !self.is_closed {
            self.fill(patience)?;
        }
        Ok(match std::mem::take(&mut self.is_paused) {
            true => Event::Paused,
            false if self.is_closed => Event::Ended,
            false => Event::Other,
        })
    }

    fn fill(&mut self, patience: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&self.output, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 4096];
        let count = self.output.read(&mut bytes)?;
        self.is_closed = count == 0;
        self.rest.extend_from_slice(&bytes[..count]);
        for line in whole_lines::lines(&whole_lines::take(&mut self.rest)) {
            // The greeting and other messages are skipped.
            let message: Value = serde_json::from_slice(line).unwrap_or_default();
            self.is_paused |= message["event"] == "GUEST_PANICKED";
            if message.get("return").or(message.get("error")).is_some() {
                self.answer = Some(message);
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Paused,
    /// Nothing in time, or nothing of interest.
    Other,
    Ended,
}
