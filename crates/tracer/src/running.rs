//! The command as it runs, and signals to the recorder: those of the terminal are the command's.

use std::io;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keep::marked::end_marked;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use sys::process::{Exit, signal, signals, spawn_bound_in_group, wait};

use crate::TracerError;
use crate::request::at;

/// The running command; killed if it is dropped before it has ended.
pub(crate) struct Running {
    child: Child,
    /// The mark of its processes; `None`: there is one.
    mark: Option<String>,
    /// How it ended, as soon as that is known.
    pub(crate) exit: Option<Exit>,
    /// Whether a signal to this process ended it.
    pub(crate) interrupted: bool,
    /// The first Ctrl-C is for the command.
    interrupt: Arc<AtomicBool>,
    was_interrupted: bool,
    /// A signal requests this process to end.
    end: Arc<AtomicBool>,
}

impl Running {
    pub(crate) fn start(
        command: &mut Command,
        mark: Option<String>,
        what: &'static str,
    ) -> Result<Self, TracerError> {
        let (interrupt, end) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        // Ctrl-\ also ends the command, not us.
        let signals =
            [(SIGINT, &interrupt), (SIGQUIT, &interrupt), (SIGTERM, &end), (SIGHUP, &end)];
        for (number, caught) in signals {
            flag::register(number, Arc::clone(caught)).map_err(at("catch signals"))?;
        }
        let child = spawn_bound_in_group(command).map_err(at(what))?;
        let (exit, interrupted, was_interrupted) = (None, false, false);
        Ok(Self { child, mark, exit, interrupted, interrupt, was_interrupted, end })
    }

    /// Ends the traced processes on request, or by a Ctrl-C that the command does not obey.
    pub(crate) fn heed_signals(&mut self) -> io::Result<()> {
        let again = self.interrupt.swap(false, Ordering::Relaxed)
            && (std::mem::replace(&mut self.was_interrupted, true) || self.exit.is_some());
        if self.end.swap(false, Ordering::Relaxed) || again {
            self.interrupted = true;
            self.end()?;
        }
        Ok(())
    }

    /// Looks whether the command has ended, or waits until it has.
    pub(crate) fn has_ended(&mut self, waits: bool) -> io::Result<bool> {
        if self.exit.is_none() {
            self.exit = wait(self.child.id(), waits)?;
        }
        Ok(self.exit.is_some())
    }

    fn end(&self) -> io::Result<()> {
        match &self.mark {
            Some(mark) => end_marked(mark),
            None => signal(self.child.id(), signals::KILL),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.exit.is_none() {
            let _ = self.end();
            let _ = wait(self.child.id(), true);
        }
    }
}
