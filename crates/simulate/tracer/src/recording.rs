//! A recording: a program that runs, whatever records it.

use keep::in_path;
use trace::{Block, Source, TraceError};

use crate::emulated::Emulated;
use crate::program::qemu;
use crate::stream::Taker;
use crate::takers::BlockTaker;
use crate::valgrind::Watched;
use crate::{Ended, Request, Tool, TracerError};

/// A program that runs and is recorded.
pub struct Recording {
    /// What records it.
    pub tool: Tool,
    runner: Runner,
    pub(crate) pages: bool,
    references: u64,
}

enum Runner {
    Emulated(Box<Emulated>),
    Watched(Box<Watched>),
}

impl Recording {
    /// Starts a command with our standard streams. Fails without the program or its
    /// recorder, or when the system refuses something.
    pub fn start(request: &Request<'_>) -> Result<Self, TracerError> {
        let tool = request.tool.unwrap_or_else(|| match in_path(&qemu()) {
            None if in_path("valgrind").is_some() => Tool::Valgrind,
            _ => Tool::Qemu,
        });
        let runner = match tool {
            Tool::Qemu => Runner::Emulated(Box::new(Emulated::start(request)?)),
            Tool::Valgrind => Runner::Watched(Box::new(Watched::start(request)?)),
        };
        Ok(Self { tool, runner, pages: request.pages, references: 0 })
    }

    /// Name and version of that.
    pub fn version(&self) -> &str {
        match &self.runner {
            Runner::Emulated(emulated) => &emulated.version,
            Runner::Watched(watched) => &watched.version,
        }
    }

    /// Waits for the command, no longer recorded. Fails when its recorder did not start
    /// or the command cannot be waited for.
    pub fn finish(self) -> Result<Ended, TracerError> {
        match self.runner {
            Runner::Emulated(emulated) => emulated.finish(),
            Runner::Watched(watched) => watched.finish(),
        }
    }

    /// Passes on the next references and events of one thread; `false` at the end.
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
        self.references += taker.references as u64;
        Ok(is_there)
    }
}
