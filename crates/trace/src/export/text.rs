//! Formats of one line a reference.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::{Left, Sink, needs_references};
use crate::{Access, Block, Header, Reference, TraceError};

/// Appends the line of a reference.
type Line = fn(&mut Vec<u8>, &Block, Reference) -> std::io::Result<()>;

/// Writes one line a reference.
pub(crate) struct Text {
    out: BufWriter<File>,
    line: Line,
    /// Whether the lines tell processes and threads.
    tells_threads: bool,
    /// Process and thread of the first block.
    of: Option<(u32, u32)>,
    left: Left,
    buffer: Vec<u8>,
}

impl Text {
    pub(crate) fn new(file: File, line: Line, header: &Header) -> Result<Self, TraceError> {
        needs_references(header)?;
        let out = BufWriter::with_capacity(1 << 16, file);
        let (left, buffer) = (Left::default(), Vec::new());
        Ok(Self { out, line, tells_threads: false, of: None, left, buffer })
    }

    pub(crate) fn csv(file: File, header: &Header) -> Result<Self, TraceError> {
        let mut text = Self::new(file, csv, header)?;
        text.tells_threads = true;
        text.out.write_all(b"address,access,size,thread,process\n")?;
        Ok(text)
    }
}

impl Sink for Text {
    fn add(&mut self, block: &Block) -> Result<(), TraceError> {
        let thread = (block.process, block.thread);
        let other = *self.of.get_or_insert(thread) != thread;
        self.left.blocks_of_other_threads += u64::from(other && !self.tells_threads);
        self.left.events += block.events.len() as u64;
        self.buffer.clear();
        for reference in &block.references {
            (self.line)(&mut self.buffer, block, *reference)?;
        }
        Ok(self.out.write_all(&self.buffer)?)
    }

    fn finish(mut self: Box<Self>) -> Result<Left, TraceError> {
        self.out.flush()?;
        Ok(self.left)
    }
}

/// ` L 1ffefff728,8`.
pub(crate) fn lackey(out: &mut Vec<u8>, _: &Block, reference: Reference) -> std::io::Result<()> {
    let access = match reference.access() {
        Access::Load => " L",
        Access::Store => " S",
        Access::Fetch => "I ",
    };
    writeln!(out, "{access} {:08x},{}", reference.address(), reference.size_bytes())
}

/// `0 1ffefff728`.
pub(crate) fn din(out: &mut Vec<u8>, _: &Block, reference: Reference) -> std::io::Result<()> {
    let label = match reference.access() {
        Access::Load => 0,
        Access::Store => 1,
        Access::Fetch => 2,
    };
    writeln!(out, "{label} {:x}", reference.address())
}

/// `0x1ffefff728,load,8,0,0`.
fn csv(out: &mut Vec<u8>, block: &Block, reference: Reference) -> std::io::Result<()> {
    let access = match reference.access() {
        Access::Load => "load",
        Access::Store => "store",
        Access::Fetch => "fetch",
    };
    let (address, size) = (reference.address(), reference.size_bytes());
    writeln!(out, "{address:#x},{access},{size},{},{}", block.thread, block.process)
}
