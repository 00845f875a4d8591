//! Recording under QEMU.

use std::io;
use std::process::Command;
use std::sync::atomic::Ordering;

use keep::running::Running;
use sys::process::Exit;
use trace::Block;

use crate::launch::{Fetches, Settings};
use crate::processes::Processes;
use crate::program::{qemu, recorder, split};
use crate::request::at;
use crate::shared::Shared;
use crate::slots::{Slots, Turn};
use crate::stream::Taker;
use crate::takers::BlockTaker;
use crate::{Ended, Request, TracerError, wire};

pub(crate) struct Emulated {
    // Dropped first: nothing uses the shared memory after that.
    running: Running,
    shared: Shared,
    slots: Slots,
    pub(crate) version: String,
}

impl Emulated {
    pub(crate) fn start(request: &Request<'_>) -> Result<Self, TracerError> {
        let (program, name, arguments) = split(request.command)?;
        let (emulator, version) = recorder(&qemu())?;
        let shared = Shared::new().map_err(at("create shared memory"))?;
        let (plugin, channel) = shared.paths();
        let fetches = match (request.fetches, request.pages) {
            (false, _) => Fetches::None,
            (true, true) => Fetches::Blocks,
            (true, false) => Fetches::Instructions,
        };
        shared.header(wire::HEADER_NEXT_PROCESS).store(1, Ordering::Relaxed);
        let settings = Settings { plugin, channel, process: 0, image: 0, fetches };
        let name = if program.is_interpreter { program.path.as_os_str() } else { name };
        let words = settings.emulator_words(emulator.as_os_str(), name, &program);
        let mut command = Command::new(&words[0]);
        let running = request.run(command.args(&words[1..]).args(arguments), || Ok(()))?;
        Ok(Self { shared, slots: Slots::default(), running, version })
    }

    /// Waits for the command; what was not read is lost.
    pub(crate) fn finish(mut self) -> Result<Ended, TracerError> {
        // What is recorded already still arrives.
        self.shared.header(wire::HEADER_STOP).store(1, Ordering::Relaxed);
        let mut rest = Block::default();
        while self
            .fill(&mut BlockTaker::new(&mut rest, 0, true))
            .map_err(at("watch the command"))?
        {}
        let interrupted = self.running.was_interrupted();
        if self.shared.header(wire::HEADER_LOADED).load(Ordering::Relaxed) == 0 && !interrupted {
            return Err(TracerError::NoRecorder(format!(
                "{} did not load our plugin (its output is above); the plugin is for QEMU 5 to 8",
                self.version
            )));
        }
        let Processes { all: processes, threads, .. } = self.slots.processes;
        let exit = self.running.exit().unwrap_or(Exit::Code(0));
        let mut missed = self.slots.missed;
        let lost_threads = self.shared.header(wire::HEADER_LOST_THREADS).load(Ordering::Relaxed);
        if lost_threads > 0 {
            missed.push(format!("{lost_threads} threads, as there were more than {}", wire::SLOTS));
        }
        Ok(Ended { exit, processes, threads, missed, interrupted })
    }

    /// Passes on the next references and events of one thread; `false` at the end.
    pub(crate) fn fill(&mut self, taker: &mut impl Taker) -> io::Result<bool> {
        let Some(first) = self.turn()? else { return Ok(false) };
        taker.begin(first.process, first.thread);
        self.slots.take(first, &self.shared, taker);
        while !taker.is_full() {
            match self.slots.turn(&self.shared)? {
                Some(next) if next.is_of_thread_of(first) => {
                    self.slots.take(next, &self.shared, taker);
                }
                Some(_) => break,
                None if self.slots.sleep(&self.shared) => {}
                None => break,
            }
        }
        Ok(true)
    }

    /// Waits for the references that come next; `None` when all have ended.
    fn turn(&mut self) -> io::Result<Option<Turn>> {
        loop {
            self.running.heed_signals()?;
            if let Some(turn) = self.slots.turn(&self.shared)? {
                return Ok(Some(turn));
            }
            if self.running.exit().is_some() && self.slots.are_over() {
                return Ok(None);
            }
            // In this order: the next look finds what it wrote before it ended.
            self.running.has_ended(false)?;
            self.slots.sleep(&self.shared);
        }
    }
}
