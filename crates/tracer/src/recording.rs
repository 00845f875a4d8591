//! A recording: a program that runs, whatever records it.

use std::ffi::OsString;

use sys::process::Exit;
use trace::{Block, Source, TraceError};

use crate::TracerError;
use crate::emulated::Emulated;
use crate::emulator::in_path;
use crate::stream::Taker;
use crate::takers::BlockTaker;
use crate::valgrind::Watched;

/// What is to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The command and its arguments.
    pub command: &'a [OsString],
    /// Whether instruction fetches are recorded too.
    pub fetches: bool,
    /// Whether pages are enough: no single references, and fetches block by block.
    pub pages: bool,
    /// What records it; `None` for QEMU, or valgrind where there is no QEMU.
    pub tool: Option<Tool>,
}

/// What records a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// QEMU user mode with our plugin.
    Qemu,
    /// Valgrind's tool lackey: a hundred times slower, and of the first process only.
    Valgrind,
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How the command ended.
    pub exit: Exit,
    /// How many processes were recorded.
    pub processes: u32,
    /// How many threads, those of all processes together.
    pub threads: u32,
    /// What could not be recorded, with the reason, the first of it.
    pub missed: Vec<String>,
    /// Whether a signal to this process ended the recording before the command ended.
    pub interrupted: bool,
}

/// A program that runs and is recorded.
#[derive(Debug)]
pub struct Recording {
    runner: Runner,
    pages: bool,
    references: u64,
}

#[derive(Debug)]
enum Runner {
    Emulated(Box<Emulated>),
    Watched(Watched),
}

impl Recording {
    /// Starts a command whose references come out of [`Source::next`].
    ///
    /// Standard input, output and error are the command's, and the signals of the terminal.
    ///
    /// # Errors
    /// When the program or what records it is not there, or the system refuses something.
    pub fn start(request: &Request<'_>) -> Result<Self, TracerError> {
        let tool = request.tool.unwrap_or_else(|| match Emulated::is_possible() {
            false if in_path("valgrind").is_some() => Tool::Valgrind,
            _ => Tool::Qemu,
        });
        let runner = match tool {
            Tool::Qemu => Runner::Emulated(Box::new(Emulated::start(request)?)),
            Tool::Valgrind => Runner::Watched(Watched::start(request)?),
        };
        Ok(Self { runner, pages: request.pages, references: 0 })
    }

    /// What records it.
    #[must_use]
    pub fn tool(&self) -> Tool {
        match self.runner {
            Runner::Emulated(_) => Tool::Qemu,
            Runner::Watched(_) => Tool::Valgrind,
        }
    }

    /// Name and version of that.
    #[must_use]
    pub fn version(&self) -> &str {
        match &self.runner {
            Runner::Emulated(emulated) => emulated.version(),
            Runner::Watched(watched) => watched.version(),
        }
    }

    /// Waits for the command and says how it ended. What is not read yet is lost, and the command
    /// goes on without being recorded.
    ///
    /// # Errors
    /// When what records it did not come up, or the command cannot be waited for.
    pub fn finish(self) -> Result<Ended, TracerError> {
        match self.runner {
            Runner::Emulated(emulated) => emulated.finish(),
            Runner::Watched(watched) => watched.finish(),
        }
    }

    /// Whether only pages are recorded.
    pub(crate) fn pages(&self) -> bool {
        self.pages
    }

    /// Gives a taker the next references and events, all of one thread: as many as it wants, but
    /// it need not wait long for them. `false` when all have ended.
    ///
    /// # Errors
    /// When the system refuses something.
    pub(crate) fn fill(&mut self, taker: &mut impl Taker) -> Result<bool, TraceError> {
        match &mut self.runner {
            Runner::Emulated(emulated) => Ok(emulated.fill(taker)?),
            Runner::Watched(watched) => watched.fill(taker),
        }
    }
}

impl Source for Recording {
    fn next(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        let mut taker = BlockTaker::new(block, self.references, self.pages);
        let is_there = self.fill(&mut taker)?;
        self.references += taker.finish();
        Ok(is_there)
    }
}
