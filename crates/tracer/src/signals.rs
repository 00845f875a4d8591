//! Signals to the recorder: those of the terminal are the command's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// The signals that end a recording.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Ctrl-C: the command's own affair, the first time.
    interrupt: Arc<AtomicBool>,
    was_interrupted: bool,
    /// Somebody wants this process to end.
    end: Arc<AtomicBool>,
}

impl Signals {
    /// Catches them from now on.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn catch() -> io::Result<Self> {
        let signals = Self::default();
        // Also Ctrl-\: it ends the command, not us.
        for number in [SIGINT, SIGQUIT] {
            flag::register(number, Arc::clone(&signals.interrupt))?;
        }
        for number in [SIGTERM, SIGHUP] {
            flag::register(number, Arc::clone(&signals.end))?;
        }
        Ok(signals)
    }

    /// Whether the traced processes are to be ended: asked for, or by Ctrl-C when the command has
    /// ended or has not obeyed the first.
    pub(crate) fn ask_to_end(&mut self, has_ended: bool) -> bool {
        let again = self.interrupt.swap(false, Ordering::Relaxed)
            && (std::mem::replace(&mut self.was_interrupted, true) || has_ended);
        self.end.swap(false, Ordering::Relaxed) || again
    }
}
