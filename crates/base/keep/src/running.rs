//! A command of the user while it runs in this terminal, as under `time`: its streams, its signals,
//! its end, and the end of whatever it starts.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use sys::process::{Exit, is_ignored, signal, signals, spawn_bound_in_group, wait};
use sys::waiting::wait_end;

use crate::agent_program::AgentProgram;
use crate::cleanup::{CleanupProcess, Duty};
use crate::io_results::at;
use crate::marked::{VARIABLE, end_marked, pids_marked};
use crate::unique;

/// Pause between two looks at a command.
const TICK: Duration = Duration::from_millis(20);

/// The running command. When it is dropped, or this process is killed, every process that the
/// command has started and that still runs is killed.
pub struct Running {
    child: Child,
    /// The mark of its processes.
    mark: String,
    exit: Option<Exit>,
    /// Whether a signal to this process ended it.
    was_interrupted: bool,
    /// The first Ctrl-C is for the command.
    interrupt: Arc<AtomicBool>,
    has_passed_interrupt: bool,
    /// A signal requests this process to end.
    end: Arc<AtomicBool>,
    // Dropped last: it ends what is left.
    _cleanup: CleanupProcess,
}

impl Running {
    /// Starts a command in this process's group, so that it can read the terminal and gets its
    /// signals. `open` is called when nothing but the command is still to be started: only the
    /// command inherits what it makes inheritable. Fails as `open` and [`Command::spawn`], or when
    /// signals cannot be caught.
    pub fn start(
        command: &mut Command,
        agent: &AgentProgram,
        open: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Self> {
        let (interrupt, end) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        // Ctrl-\ also ends the command, not us.
        let signals =
            [(SIGINT, &interrupt), (SIGQUIT, &interrupt), (SIGTERM, &end), (SIGHUP, &end)];
        for (number, caught) in signals.into_iter().filter(|(number, _)| !is_ignored(*number)) {
            flag::register(number, Arc::clone(caught)).map_err(at("catch signals"))?;
        }
        let mark = format!("command/{}", unique::token());
        // PR_SET_PDEATHSIG ends the first process, but not its forks.
        let cleanup = CleanupProcess::start(agent, &Duty::Marked(mark.clone()))
            .map_err(at("start the cleanup process"))?;
        open()?;
        let child = spawn_bound_in_group(command.env(VARIABLE, &mark))?;
        let (exit, was_interrupted, has_passed_interrupt) = (None, false, false);
        let _cleanup = cleanup;
        Ok(Self {
            child,
            mark,
            exit,
            was_interrupted,
            interrupt,
            has_passed_interrupt,
            end,
            _cleanup,
        })
    }

    /// Passes on a request to end this process to the command; ends all its processes at a second
    /// one, at a Ctrl-C that the command does not obey, and when the command itself has obeyed.
    /// Fails when processes do not end.
    pub fn heed_signals(&mut self) -> io::Result<()> {
        let again = self.interrupt.swap(false, Ordering::Relaxed)
            && (std::mem::replace(&mut self.has_passed_interrupt, true) || self.exit.is_some());
        let is_asked = self.end.swap(false, Ordering::Relaxed);
        if is_asked && self.exit.is_none() && !self.was_interrupted {
            self.was_interrupted = true;
            // Not reaped yet, so its process id is still its own.
            signal(self.child.id(), signals::TERM)
        } else if is_asked || again || self.was_interrupted && self.exit.is_some() {
            self.was_interrupted = true;
            end_marked(&self.mark)
        } else {
            Ok(())
        }
    }

    /// Looks whether the command has ended, or waits until it has. Fails without such a child.
    pub fn has_ended(&mut self, waits: bool) -> io::Result<bool> {
        if self.exit.is_none() {
            self.exit = wait(self.child.id(), waits)?;
        }
        Ok(self.exit.is_some())
    }

    /// Waits until the command has ended, or until `stop`; signals are heeded meanwhile. Returns how it
    /// ended, as far as that is known. Fails as [`Self::has_ended`] and [`Self::heed_signals`].
    pub fn finish(&mut self, stop: &dyn Fn() -> bool) -> io::Result<Option<Exit>> {
        while !self.has_ended(false)? && !stop() {
            self.heed_signals()?;
            thread::sleep(TICK);
        }
        Ok(self.exit)
    }

    /// Whether the command has ended; its counters in `/proc` stay until [`Self::has_ended`].
    pub fn is_over(&self) -> bool {
        self.exit.is_some() || wait_end(self.child.id(), 0, &[], || {}).unwrap_or(true)
    }

    /// How it ended, as soon as that is known.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Whether a signal to this process ended it.
    pub fn was_interrupted(&self) -> bool {
        self.was_interrupted
    }

    /// Its processes now, with the first one until that was waited for. Fails without `/proc`.
    pub fn pids(&self) -> io::Result<BTreeSet<u32>> {
        let first = self.exit.is_none().then(|| self.child.id());
        Ok(pids_marked(&self.mark)?.into_iter().chain(first).collect())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.exit.is_none() {
            let _ = end_marked(&self.mark);
            let _ = signal(self.child.id(), signals::KILL);
            let _ = wait(self.child.id(), true);
        }
    }
}
