//! Formats with a line per reference.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::{Omitted, Sink};
use crate::{Block, Granularity, Header, Reference, TraceError};

type WriteLine = fn(&mut Vec<u8>, &Block, Reference) -> std::io::Result<()>;

pub(crate) struct Text {
    out: BufWriter<File>,
    line: WriteLine,
    /// Whether lines have process and thread, below a header.
    is_csv: bool,
    omitted: Omitted,
    buffer: Vec<u8>,
}

impl Text {
    pub(crate) fn new(
        file: File,
        line: WriteLine,
        is_csv: bool,
        header: &Header,
    ) -> Result<Self, TraceError> {
        if header.granularity == Granularity::Page {
            let reason = "only pages were recorded, so single references are unavailable; write \
                          tlt or oracleGeneral";
            return Err(TraceError::bad("header", reason));
        }
        let mut out = BufWriter::with_capacity(1 << 16, file);
        if is_csv {
            out.write_all(b"address,access,size,thread,process\n")?;
        }
        Ok(Self { out, line, is_csv, omitted: Omitted::default(), buffer: Vec::new() })
    }
}

impl Sink for Text {
    fn add(&mut self, block: &Block) -> Result<(), TraceError> {
        self.omitted.count(block, self.is_csv);
        self.buffer.clear();
        for reference in &block.references {
            (self.line)(&mut self.buffer, block, *reference)?;
        }
        Ok(self.out.write_all(&self.buffer)?)
    }

    fn finish(mut self: Box<Self>) -> Result<Omitted, TraceError> {
        self.out.flush()?;
        Ok(self.omitted)
    }
}

/// ` L 1ffefff728,8`.
pub(crate) fn lackey(out: &mut Vec<u8>, _: &Block, reference: Reference) -> std::io::Result<()> {
    let access = [" L", " S", "I "][reference.access() as usize];
    writeln!(out, "{access} {:08x},{}", reference.address(), reference.size_bytes())
}

/// `0 1ffefff728`.
pub(crate) fn din(out: &mut Vec<u8>, _: &Block, reference: Reference) -> std::io::Result<()> {
    let label = reference.access() as usize;
    writeln!(out, "{label} {:x}", reference.address())
}

/// `0x1ffefff728,load,8,0,0`.
pub(crate) fn csv(out: &mut Vec<u8>, block: &Block, reference: Reference) -> std::io::Result<()> {
    let access = ["load", "store", "fetch"][reference.access() as usize];
    let (address, size) = (reference.address(), reference.size_bytes());
    writeln!(out, "{address:#x},{access},{size},{},{}", block.thread, block.process)
}
