//! Writes traces in thrashlab's format and others'.

mod oracle;
mod text;
mod tlt;

use std::fs::File;

use crate::{Block, Format, Header, TraceError};

/// Something that takes a trace block by block.
pub trait Sink {
    /// Writes a block. Fails when writing fails or needed references are missing.
    fn add(&mut self, block: &Block) -> Result<(), TraceError>;

    /// Writes the end. Fails when writing fails.
    fn finish(self: Box<Self>) -> Result<Omitted, TraceError>;
}

/// What a format could not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Events that were left out.
    pub events: u64,
    /// Blocks of other threads than the first that are no longer distinguished.
    pub blocks_of_other_threads: u64,
    first_thread: Option<(u32, u32)>,
}

impl Omitted {
    /// Counts what a format without events omits.
    fn count(&mut self, block: &Block, has_threads: bool) {
        let thread = (block.process, block.thread);
        let other = *self.first_thread.get_or_insert(thread) != thread;
        self.blocks_of_other_threads += u64::from(other && !has_threads);
        self.events += block.events.len() as u64;
    }
}

/// A sink for a file of this format. Fails when writing fails or is not supported.
pub fn create(
    format: Format,
    file: File,
    header: &Header,
) -> Result<Box<dyn Sink + Send>, TraceError> {
    Ok(match format {
        Format::Tlt => Box::new(tlt::Tlt::new(file, header)?),
        Format::Lackey => Box::new(text::Text::new(file, text::lackey, false, header)?),
        Format::Din => Box::new(text::Text::new(file, text::din, false, header)?),
        Format::Csv => Box::new(text::Text::new(file, text::csv, true, header)?),
        Format::OracleGeneral => Box::new(oracle::OracleGeneral::new(file)),
        Format::ChampSim | Format::ChampSimCloudsuite => {
            let reason = "ChampSim's instructions have registers and branches, which no trace has; \
                          write tlt, lackey, din, oracleGeneral or csv";
            return Err(TraceError::bad("header", reason));
        }
    })
}
