//! Recording under valgrind's tool lackey, where there is no QEMU: its lines come through a pipe.

use std::io::pipe;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use sys::process::{Exit, signal, signals, spawn_bound_in_group, wait};
use trace::{
    Access, Block, Columns, Event, Format, ReferenceWords, Source, TraceError, open_stream,
};

use crate::emulator::in_path;
use crate::error::at;
use crate::signals::Signals;
use crate::stream::Taker;
use crate::{Ended, Request, TracerError, program};

/// What a trace of lackey's lacks.
const MISSED: &str =
    "threads, further processes and mappings: valgrind's lackey does not tell them";

/// A program that runs under valgrind.
pub(crate) struct Watched {
    lines: Box<dyn Source + Send>,
    block: Block,
    child: Child,
    exit: Option<Exit>,
    fetches: bool,
    is_begun: bool,
    version: String,
    signals: Signals,
    interrupted: bool,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watched").field("child", &self.child).finish_non_exhaustive()
    }
}

impl Watched {
    /// Starts a command.
    ///
    /// # Errors
    /// When the program or valgrind is not there, or the system refuses something.
    pub(crate) fn start(request: &Request<'_>) -> Result<Self, TracerError> {
        let Some((name, arguments)) = request.command.split_first() else {
            return Err(TracerError::NoProgram(String::new()));
        };
        program::find(name)?;
        let missing = || TracerError::NoEmulator("valgrind".to_owned());
        let valgrind = in_path("valgrind").ok_or_else(missing)?;
        let said = Command::new(&valgrind).arg("--version").stdin(Stdio::null()).output();
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let signals = Signals::catch().map_err(at("catch signals"))?;
        let (lines, log) = pipe().map_err(at("make a pipe"))?;
        fcntl_setfd(&log, FdFlags::empty()).map_err(at("make a pipe"))?;
        let mut command = Command::new(valgrind);
        command
            .args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"])
            .arg(format!("--log-fd={}", log.as_raw_fd()))
            .arg(name)
            .args(arguments);
        let child = spawn_bound_in_group(&mut command).map_err(at("start valgrind"))?;
        // Valgrind alone has the writing end now, so the lines end when it ends.
        drop(log);
        let (_, lines) = open_stream(Box::new(lines), Columns::References, Some(Format::Lackey))?;
        Ok(Self {
            lines,
            block: Block::default(),
            child,
            exit: None,
            fetches: request.fetches,
            is_begun: false,
            version: said.unwrap_or_else(|_| "valgrind".to_owned()),
            signals,
            interrupted: false,
        })
    }

    /// Name and version of valgrind.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Gives a taker a block's references and events; `false` at the end.
    ///
    /// # Errors
    /// When the lines cannot be read.
    pub(crate) fn fill(&mut self, taker: &mut impl Taker) -> Result<bool, TraceError> {
        if self.signals.ask_to_end(self.exit.is_some()) {
            self.interrupted = true;
            signal(self.child.id(), signals::KILL)?;
        }
        taker.begin(0, 0);
        if !std::mem::replace(&mut self.is_begun, true) {
            taker.event(Event::ThreadStart);
            taker.event(Event::Missed { reason: MISSED.to_owned() });
        }
        if !self.lines.next(&mut self.block)? {
            return Ok(false);
        }
        for (_, event) in self.block.events.drain(..) {
            taker.event(event);
        }
        for reference in &self.block.references {
            if self.fetches || reference.access() != Access::Fetch {
                let word = [reference.bits()];
                ReferenceWords::new(&word).into_iter().for_each(|one| taker.references(one));
            }
        }
        Ok(true)
    }

    /// Waits for the command.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub(crate) fn finish(mut self) -> Result<Ended, TracerError> {
        // It waits for somebody to read its lines.
        while self.lines.next(&mut self.block)? {}
        let exit = wait(self.child.id(), true).map_err(at("wait for the command"))?;
        self.exit = exit;
        let missed = vec![MISSED.to_owned()];
        let exit = exit.unwrap_or(Exit::Code(0));
        Ok(Ended { exit, processes: 1, threads: 1, missed, interrupted: self.interrupted })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.exit.is_none() {
            let _ = signal(self.child.id(), signals::KILL);
            let _ = wait(self.child.id(), true);
        }
    }
}
