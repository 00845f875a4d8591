//! A trace of a whole guest, from the references that the plugin passes on.

use std::io::Write;

use trace::{
    Effort, Encoder, Event, Granularity, Header, PAGE_SHIFT, PackedBlock, PageRun, QUICK_LEVEL,
    TraceError, Writer,
};

use crate::words::Word;

/// Bytes of a word.
const WORD: usize = 8;

/// A trace that is written while the guest runs: a process is an address space, a thread a virtual CPU.
pub struct GuestTrace<W: Write> {
    encoder: Encoder,
    packed: PackedBlock,
    writer: Writer<W>,
    /// The beginning of a word.
    rest: Vec<u8>,
    running: (u32, u32),
}

impl<W: Write> GuestTrace<W> {
    /// Begins a trace of pages. Fails when it cannot be written.
    pub fn new(out: W, header: &Header) -> Result<Self, TraceError> {
        Ok(Self {
            encoder: Encoder::new(Granularity::Page),
            packed: PackedBlock::default(),
            writer: Writer::new(out, header, QUICK_LEVEL)?,
            rest: Vec::new(),
            running: (0, 0),
        })
    }

    /// Adds what the plugin wrote next. Fails when the trace cannot be written, or for something else
    /// than words of the plugin.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.rest.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.rest);
        let (words, rest) = bytes.as_chunks::<WORD>();
        self.rest = rest.to_vec();
        words.iter().try_for_each(|word| self.word(u64::from_le_bytes(*word)))
    }

    fn word(&mut self, word: u64) -> Result<(), TraceError> {
        let foreign =
            || TraceError::Bad("a word of the plugin's references has no meaning".to_owned());
        let event = match Word::decode(word).ok_or_else(foreign)? {
            Word::Run { count: 0, .. } => return Err(foreign()),
            Word::Run { page, count, fetch, written } => {
                let run = PageRun { page, count: count as u32, fetch, written };
                let is_full = self.encoder.push_run(run);
                return if is_full { self.end_block() } else { Ok(()) };
            }
            Word::Switch { space, cpu } => {
                let next = (space, u32::from(cpu));
                if self.running != next {
                    self.end_block()?;
                    self.running = next;
                    self.encoder.set_thread(next.0, next.1);
                }
                return Ok(());
            }
            Word::Translation { page, size, is_global } => {
                Event::Translation { address: page << PAGE_SHIFT, size, is_global }
            }
            Word::Flush { globals_too } => Event::Flush { globals_too },
            Word::FlushPage { page } => Event::FlushPage { address: page << PAGE_SHIFT },
        };
        if self.encoder.event(&event) { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), TraceError> {
        if self.encoder.is_empty() {
            return Ok(());
        }
        self.encoder.finish_into(&mut self.packed);
        self.writer.add(&self.packed, Effort::Compress)
    }

    /// Ends the trace; returns the number of its references.
    pub fn finish(mut self) -> Result<u64, TraceError> {
        self.end_block()?;
        let references = self.writer.references();
        self.writer.finish()?;
        Ok(references)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use trace::{Block, Reader, Source};

    use super::*;

    #[test]
    fn a_trace_has_what_the_plugin_passed_on() {
        let kernel = 0xffff_8880_0000_0000_u64.cast_signed() >> PAGE_SHIFT;
        let page = kernel.cast_unsigned();
        let words = [
            Word::Switch { space: 3, cpu: 1 },
            Word::Translation { page, size: 1, is_global: true },
            Word::Run { page, count: 7, fetch: true, written: false },
            Word::Flush { globals_too: false },
            Word::Run { page: 2, count: 1, fetch: false, written: true },
            Word::Switch { space: 4, cpu: 1 },
            Word::FlushPage { page: 2 },
            Word::Run { page: 2, count: 1, fetch: false, written: false },
        ];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.encode().to_le_bytes()).collect();
        let header = Header { granularity: Granularity::Page, ..Header::default() };
        let mut file = tempfile::tempfile().unwrap();
        let mut trace = GuestTrace::new(file.try_clone().unwrap(), &header).unwrap();
        bytes.chunks(3).for_each(|part| trace.add(part).unwrap());
        assert_eq!(trace.finish().unwrap(), 9);
        file.rewind().unwrap();
        let mut reader = Reader::from_file(file, Granularity::Page).unwrap();
        let mut blocks = Vec::new();
        let mut block = Block::default();
        while reader.next(&mut block).unwrap() {
            blocks.push(block.clone());
        }
        let run = |page, count, fetch, written| PageRun { page, count, fetch, written };
        assert_eq!(blocks[0].runs, [run(page, 7, true, false), run(2, 1, false, true)]);
        assert_eq!(blocks[1].runs, [run(2, 1, false, false)]);
        let places: Vec<_> = blocks.iter().map(|block| (block.process, block.thread)).collect();
        assert_eq!(places, [(3, 1), (4, 1)]);
        let address = page << PAGE_SHIFT;
        let events = [
            (0, Event::Translation { address, size: 1, is_global: true }),
            (1, Event::Flush { globals_too: false }),
        ];
        assert_eq!(blocks[0].events, events);
        assert_eq!(blocks[1].events, [(0, Event::FlushPage { address: 2 << PAGE_SHIFT })]);
    }

    #[test]
    fn other_words_are_refused() {
        let mut trace = GuestTrace::new(Vec::new(), &Header::default()).unwrap();
        assert!(trace.add(&7_u64.to_le_bytes()).is_err());
    }
}
