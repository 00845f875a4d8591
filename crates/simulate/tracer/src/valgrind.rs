//! Recording under valgrind's tool lackey, where there is no QEMU: its lines come through a pipe.

use std::io::{self, pipe};
use std::os::fd::AsRawFd;
use std::process::Command;

use keep::running::Running;
use rustix::io::{FdFlags, fcntl_setfd};
use sys::process::Exit;
use trace::{
    Access, Block, Event, Format, Granularity, ReferenceWords, Source, TraceError, open_stream,
};

use crate::program::{recorder, split};
use crate::request::at;
use crate::stream::Taker;
use crate::{Ended, Request, TracerError};

const MISSED: &str =
    "threads, further processes and mappings: valgrind's lackey does not report them";

pub(crate) struct Watched {
    lines: Box<dyn Source + Send>,
    block: Block,
    running: Running,
    fetches: bool,
    is_begun: bool,
    pub(crate) version: String,
}

impl Watched {
    pub(crate) fn start(request: &Request<'_>) -> Result<Self, TracerError> {
        let (_, name, arguments) = split(request.command)?;
        let (valgrind, version) = recorder("valgrind")?;
        let (lines, log) = pipe().map_err(at("create a pipe"))?;
        let mut command = Command::new(valgrind);
        command
            .args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"])
            .arg(format!("--log-fd={}", log.as_raw_fd()))
            .arg(name)
            .args(arguments);
        let running = request
            .run(&mut command, || fcntl_setfd(&log, FdFlags::empty()).map_err(io::Error::from))?;
        // Only valgrind holds the writing end now, so the lines end when it ends.
        drop(log);
        let (_, lines) =
            open_stream(Box::new(lines), Granularity::Reference, Some(Format::Lackey))?;
        let (block, fetches) = (Block::default(), request.fetches);
        Ok(Self { lines, block, running, fetches, is_begun: false, version })
    }

    /// Passes on a block's references and events; `false` at the end.
    pub(crate) fn fill(&mut self, taker: &mut impl Taker) -> Result<bool, TraceError> {
        self.running.heed_signals()?;
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

    pub(crate) fn finish(mut self) -> Result<Ended, TracerError> {
        // It blocks until its lines are read.
        while self.lines.next(&mut self.block)? {}
        self.running.has_ended(true).map_err(at("wait for the command"))?;
        let exit = self.running.exit().unwrap_or(Exit::Code(0));
        let interrupted = self.running.was_interrupted();
        let missed = vec![MISSED.to_owned()];
        Ok(Ended { exit, processes: 1, threads: 1, missed, interrupted })
    }
}
