//! Recording under QEMU.

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command};
use std::sync::atomic::Ordering;

use keep::marked::{VARIABLE, end_marked};
use keep::{CleanupProcess, Duty, unique};
use sys::process::{Exit, spawn_bound_in_group, wait};
use trace::{Event, ReferenceWords};

use crate::emulator::{Emulator, in_path};
use crate::error::at;
use crate::launch::{Fetches, Settings};
use crate::shared::Shared;
use crate::signals::Signals;
use crate::slots::{Slots, Turn};
use crate::stream::Taker;
use crate::{Ended, Request, TracerError, program, wire};

/// A program that runs under QEMU.
#[derive(Debug)]
pub(crate) struct Emulated {
    shared: Shared,
    slots: Slots,
    child: Child,
    exit: Option<Exit>,
    mark: String,
    emulator: Emulator,
    signals: Signals,
    interrupted: bool,
    // The last to be dropped: it is told to end what is left.
    _cleanup: CleanupProcess,
}

impl Emulated {
    /// Starts a command.
    ///
    /// # Errors
    /// When the program or QEMU is not there, or the system refuses something.
    pub(crate) fn start(request: &Request<'_>) -> Result<Self, TracerError> {
        let Some((name, arguments)) = request.command.split_first() else {
            return Err(TracerError::NoProgram(String::new()));
        };
        let program = program::find(name)?;
        let emulator = Emulator::find()?;
        let shared = Shared::new().map_err(at("make shared memory"))?;
        let (plugin, channel) = shared.paths();
        let fetches = match (request.fetches, request.pages) {
            (false, _) => Fetches::None,
            (true, true) => Fetches::Blocks,
            (true, false) => Fetches::Instructions,
        };
        shared.header(wire::HEADER_NEXT_PROCESS).store(1, Ordering::Relaxed);
        let settings = Settings { plugin, channel, process: 0, image: 0, fetches };
        let name = if program.is_interpreter { program.path.as_os_str() } else { name.as_os_str() };
        let words = settings.emulator_words(emulator.path.as_os_str(), name, &program);
        let mark = format!("trace/{}", unique::token());
        let signals = Signals::catch().map_err(at("catch signals"))?;
        // The kernel ends the first process by itself (PR_SET_PDEATHSIG), but not those that it forked.
        let cleanup = std::env::current_exe()
            .and_then(|program| CleanupProcess::start(&program, &Duty::Marked(mark.clone())))
            .map_err(at("start the cleanup process"))?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(arguments).env(VARIABLE, OsStr::new(&mark));
        let child = spawn_bound_in_group(&mut command).map_err(at("start QEMU"))?;
        Ok(Self {
            shared,
            slots: Slots::default(),
            child,
            exit: None,
            mark,
            emulator,
            signals,
            interrupted: false,
            _cleanup: cleanup,
        })
    }

    /// Whether QEMU is here.
    pub(crate) fn is_possible() -> bool {
        in_path(&Emulator::name()).is_some()
    }

    /// Name and version of QEMU.
    pub(crate) fn version(&self) -> &str {
        &self.emulator.version
    }

    /// Wants nothing more: the command goes on without being recorded. What is recorded already
    /// still comes.
    pub(crate) fn stop(&mut self) {
        self.shared.header(wire::HEADER_STOP).store(1, Ordering::Relaxed);
    }

    /// Waits for the command and says how it ended. What is not read yet is lost.
    ///
    /// # Errors
    /// When the plugin did not come up, or the command cannot be waited for.
    pub(crate) fn finish(mut self) -> Result<Ended, TracerError> {
        self.stop();
        let mut rest = Nothing;
        while self.fill(&mut rest).map_err(at("watch the command"))? {}
        if self.shared.header(wire::HEADER_LOADED).load(Ordering::Relaxed) == 0 && !self.interrupted
        {
            return Err(TracerError::NotLoaded { emulator: self.emulator.version.clone() });
        }
        let (processes, threads) = self.slots.counts();
        let exit = self.exit.unwrap_or(Exit::Code(0));
        let mut missed = self.slots.take_missed();
        let lost_threads = self.shared.header(wire::HEADER_LOST_THREADS).load(Ordering::Relaxed);
        if lost_threads > 0 {
            missed.push(format!("{lost_threads} threads, as there were more than {}", wire::SLOTS));
        }
        Ok(Ended { exit, processes, threads, missed, interrupted: self.interrupted })
    }

    /// Gives a taker the next references and events, all of one thread: as many as it wants, but
    /// it need not wait long for them. `false` when all have ended.
    ///
    /// # Errors
    /// When the system refuses something.
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

    /// Whose references come next; waits for them. `None` when all have ended.
    fn turn(&mut self) -> io::Result<Option<Turn>> {
        loop {
            if self.signals.ask_to_end(self.exit.is_some()) {
                self.interrupted = true;
                end_marked(&self.mark)?;
            }
            if let Some(turn) = self.slots.turn(&self.shared)? {
                return Ok(Some(turn));
            }
            if self.exit.is_some() && self.slots.are_over() {
                return Ok(None);
            }
            // In this order: what it wrote before it ended is found by the next look.
            if self.exit.is_none() {
                self.exit = wait(self.child.id(), false)?;
            }
            self.slots.sleep(&self.shared);
        }
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        // After `finish` there is nobody. Else the command must not outlive its recording.
        if self.exit.is_none() {
            let _ = end_marked(&self.mark);
            let _ = wait(self.child.id(), true);
        }
    }
}

/// Takes what nobody wants.
struct Nothing;

impl Taker for Nothing {
    fn begin(&mut self, _: u32, _: u32) {}
    fn references(&mut self, _: ReferenceWords<'_>) {}
    fn fetches(&mut self, _: u64, _: u32) {}
    fn event(&mut self, _: Event) {}
    fn is_full(&self) -> bool {
        false
    }
}
