//! Thrashlab's own format.

use std::fs::File;
use std::io::BufWriter;

use super::{Omitted, Sink};
use crate::{
    Block, Effort, Encoder, Granularity, Header, PackedBlock, PageRun, SMALL_LEVEL, TraceError,
    Writer,
};

/// Longer runs are split, to limit blocks.
const LONGEST_RUN: u32 = 1 << 20;

pub(crate) struct Tlt {
    writer: Writer<BufWriter<File>>,
    encoder: Encoder,
    packed: PackedBlock,
    granularity: Granularity,
}

impl Tlt {
    pub(crate) fn new(file: File, header: &Header) -> Result<Self, TraceError> {
        Ok(Self {
            writer: Writer::new(BufWriter::new(file), header, SMALL_LEVEL)?,
            encoder: Encoder::new(header.granularity),
            packed: PackedBlock::default(),
            granularity: header.granularity,
        })
    }

    fn flush_if(&mut self, is_due: bool, block: &Block) -> Result<(), TraceError> {
        if !is_due {
            return Ok(());
        }
        self.encoder.finish_into(&mut self.packed);
        self.packed.head.at_ns = block.at_ns;
        self.writer.add(&self.packed, Effort::Compress)
    }

    fn add_run(&mut self, block: &Block, mut run: PageRun) -> Result<(), TraceError> {
        while run.count > 0 {
            let piece = PageRun { count: run.count.min(LONGEST_RUN), ..run };
            run.count -= piece.count;
            let is_full = self.encoder.push_run(piece);
            self.flush_if(is_full, block)?;
        }
        Ok(())
    }
}

impl Sink for Tlt {
    fn add(&mut self, block: &Block) -> Result<(), TraceError> {
        self.encoder.set_thread(block.process, block.thread);
        let mut references = block.references.iter();
        let mut events = block.events.iter().peekable();
        for (place, run) in block.runs.iter().enumerate() {
            while let Some((_, event)) = events.next_if(|(before, _)| *before as usize <= place) {
                let is_full = self.encoder.event(event);
                self.flush_if(is_full, block)?;
            }
            if self.granularity == Granularity::Page {
                self.add_run(block, *run)?;
                continue;
            }
            for reference in references.by_ref().take(run.count as usize) {
                let is_full = self.encoder.push_all([*reference]);
                self.flush_if(is_full, block)?;
            }
        }
        for (_, event) in events {
            let is_full = self.encoder.event(event);
            self.flush_if(is_full, block)?;
        }
        self.flush_if(true, block)
    }

    fn finish(self: Box<Self>) -> Result<Omitted, TraceError> {
        self.writer.finish()?;
        Ok(Omitted::default())
    }
}
