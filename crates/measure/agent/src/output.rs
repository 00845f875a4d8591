//! The agent's output: run lines, each flushed as it is written.

use std::io::{self, Write};

use model::{DeathRecord, EndStatus, Line, Phase, PhaseRecord, RunEncoder, Warning};
use sys::clock::{monotonic_ns, realtime_offset_ns};

pub(crate) struct Output<W> {
    writer: W,
    encoder: RunEncoder,
    origin_ns: u64,
}

impl<W: Write> Output<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self { writer, encoder: RunEncoder::default(), origin_ns: monotonic_ns() }
    }

    /// The time of day at the start of the run, in ns since 1970 UTC.
    pub(crate) fn started_unix_ns(&self) -> u64 {
        self.origin_ns + realtime_offset_ns()
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.relative_ns(monotonic_ns())
    }

    /// A monotonic timestamp as time since the start of the run, in ns.
    pub(crate) fn relative_ns(&self, moment_ns: u64) -> u64 {
        moment_ns.saturating_sub(self.origin_ns)
    }

    pub(crate) fn moment_ns(&self, relative_ns: u64) -> u64 {
        self.origin_ns.saturating_add(relative_ns)
    }

    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        let text = self.encoder.line(line);
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.writer.write_all(text.as_bytes())?;
        self.writer.flush()
    }

    /// Writes the beginning of a phase; returns the time of its line.
    pub(crate) fn phase(&mut self, phase: Phase) -> io::Result<u64> {
        let at_ns = self.now_ns();
        self.line(&Line::Phase(PhaseRecord { at_ns, phase, instrument: None }))?;
        Ok(at_ns)
    }

    pub(crate) fn warning(&mut self, text: impl Into<String>) -> io::Result<()> {
        self.line(&Line::Warning(Warning { at_ns: self.now_ns(), text: text.into() }))
    }

    /// Writes the death of a process of the run.
    pub(crate) fn death(&mut self, cause: String) -> io::Result<()> {
        let at_ns = self.now_ns();
        self.line(&Line::Death(Box::new(DeathRecord { at_ns, cause, log: Vec::new() })))
    }

    pub(crate) fn end(&mut self, status: EndStatus) -> io::Result<()> {
        let text = self.encoder.end(self.now_ns(), status);
        self.write(&text)
    }
}
