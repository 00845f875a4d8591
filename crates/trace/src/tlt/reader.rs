//! Reads a trace block by block, and only the columns that are asked for.

use std::fs::File;
use std::io::Read;

use zstd::bulk::Decompressor;

use super::decode::{Unpacked, decode};
use super::events::take_event;
use super::head::{BLOCK_MAGIC, BlockHead, HEAD_BYTES};
use super::header::MAGIC;
use super::index::INDEX_MAGIC;
use super::input::Input;
use crate::{Block, Columns, Event, Header, Notes, PackedBytes, Place, Source, TraceError};

/// Reads a trace of thrashlab.
pub struct Reader {
    input: Input,
    columns: Columns,
    header: Header,
    zstd: Decompressor<'static>,
    /// The number of the next block.
    number: u64,
    /// How many references stand before it.
    first: u64,
    packed: PackedBytes,
    cut_off: Option<Place>,
    ended: bool,
    buffers: Buffers,
}

/// Memory that is used again for each block.
#[derive(Default)]
struct Buffers {
    /// Columns as they are in the file.
    packed: Vec<u8>,
    pages: Vec<u8>,
    references: Vec<u8>,
    events: Vec<u8>,
}

impl Reader {
    /// Reads a file that stands at its beginning.
    ///
    /// # Errors
    /// When it cannot be read or is no trace.
    pub fn from_file(file: File, columns: Columns) -> Result<Self, TraceError> {
        Self::new(Input::of_file(file)?, columns)
    }

    /// Reads a pipe.
    ///
    /// # Errors
    /// When it cannot be read or is no trace.
    pub fn from_stream(stream: Box<dyn Read + Send>, columns: Columns) -> Result<Self, TraceError> {
        Self::new(Input::of_stream(stream), columns)
    }

    fn new(input: Input, columns: Columns) -> Result<Self, TraceError> {
        let mut reader = Self {
            input,
            columns,
            header: Header::default(),
            zstd: Decompressor::new()?,
            number: 0,
            first: 0,
            packed: PackedBytes::default(),
            cut_off: None,
            ended: false,
            buffers: Buffers::default(),
        };
        reader.read_header()?;
        Ok(reader)
    }

    /// Reads only the head of the next block and passes over the rest; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read or is broken.
    pub fn next_head(&mut self) -> Result<Option<BlockHead>, TraceError> {
        let Some(head) = self.take_head()? else { return Ok(None) };
        if !self.input.skip(head.body_bytes())? {
            self.end_early();
            return Ok(None);
        }
        self.count(&head);
        Ok(Some(head))
    }

    fn read_header(&mut self) -> Result<(), TraceError> {
        let mut fixed = [0; 16];
        let read = self.input.fill(&mut fixed)?;
        if read < fixed.len() && MAGIC.starts_with(&fixed[..read.min(MAGIC.len())]) {
            self.end_early();
            return Ok(());
        }
        let mut rest = vec![0; Header::length(&fixed)? + 4];
        if self.input.fill(&mut rest)? < rest.len() {
            self.end_early();
            return Ok(());
        }
        self.header = Header::from_parts(&fixed, &rest)?;
        Ok(())
    }

    /// The trace is over, without its proper end.
    fn end_early(&mut self) {
        self.ended = true;
        self.cut_off = Some(Place::Byte(self.input.at_byte()));
    }

    /// Where the next block stands, of which the head may be read.
    fn place(&self, read: usize) -> Place {
        Place::Block { number: self.number, byte: self.input.at_byte() - read as u64 }
    }

    /// The head of the next block; `None` at the end. An error ends the trace.
    fn take_head(&mut self) -> Result<Option<BlockHead>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let mut bytes = [0; HEAD_BYTES];
        let read = self.input.fill(&mut bytes)?;
        if bytes.starts_with(&INDEX_MAGIC) && read >= INDEX_MAGIC.len() {
            self.ended = true;
            return Ok(None);
        }
        if read < HEAD_BYTES {
            self.end_early();
            return Ok(None);
        }
        let place = self.place(read);
        let head = match bytes.starts_with(&BLOCK_MAGIC) {
            true => BlockHead::from_bytes(&bytes, &place),
            false => Err(TraceError::bad(&place, "here is no block; the file is broken here")),
        };
        self.ended = head.is_err();
        head.map(Some)
    }

    fn count(&mut self, head: &BlockHead) {
        self.number += 1;
        self.first += u64::from(head.references);
        self.packed.heads += HEAD_BYTES as u64;
        self.packed.pages += u64::from(head.pages_bytes);
        self.packed.references += u64::from(head.references_bytes);
        self.packed.events += u64::from(head.events_bytes);
    }

    /// Reads the columns of a block into the buffers, as they are in the file; `false` if the file
    /// ends within.
    fn read_columns(&mut self, head: &BlockHead) -> Result<bool, TraceError> {
        let (pages, all) = (head.pages_bytes + head.events_bytes, head.body_bytes() as usize);
        let wanted = if self.columns == Columns::Pages { pages as usize } else { all };
        self.buffers.packed.resize(wanted, 0);
        let whole = self.input.fill(&mut self.buffers.packed)? == wanted
            && self.input.skip((all - wanted) as u64)?;
        if !whole {
            self.end_early();
        }
        Ok(whole)
    }

    /// Decompresses what is in the buffers and decodes it.
    fn unpack(&mut self, head: &BlockHead, block: &mut Block) -> Result<(), String> {
        let Buffers { packed, pages, references, events } = &mut self.buffers;
        let behind = (head.pages_bytes + head.events_bytes) as usize;
        let (first, rest) = packed.split_at(behind);
        if crc32fast::hash(first) != head.pages_checksum {
            return Err("the checksum of the pages is wrong".to_owned());
        }
        let (pages_packed, events_packed) = first.split_at(head.pages_bytes as usize);
        let pages = unpack(&mut self.zstd, pages_packed, head.pages_unpacked_bytes, pages)?;
        let events = unpack(&mut self.zstd, events_packed, head.events_unpacked_bytes, events)?;
        block.events.clear();
        unpack_events(events, head, &mut block.events)
            .ok_or("the events column is no such column")?;
        let rest = match rest.is_empty() {
            true => None,
            false if crc32fast::hash(rest) != head.references_checksum => {
                return Err("the checksum of the references is wrong".to_owned());
            }
            false => Some(unpack(&mut self.zstd, rest, head.references_unpacked(), references)?),
        };
        let columns = Unpacked { references: head.references, runs: head.runs, pages, rest };
        decode(&columns, &mut block.runs, &mut block.references, &mut block.events)?;
        Ok(())
    }
}

/// A column of so many bytes as it was before compression.
fn unpack<'a>(
    zstd: &mut Decompressor<'_>,
    packed: &'a [u8],
    length: u32,
    into: &'a mut Vec<u8>,
) -> Result<&'a [u8], String> {
    // What did not become shorter stands there as it was.
    if packed.len() == length as usize {
        return Ok(packed);
    }
    into.resize(length as usize, 0);
    match zstd.decompress_to_buffer(packed, into.as_mut_slice()) {
        Ok(unpacked) if unpacked == length as usize => Ok(into),
        Ok(unpacked) => Err(format!("a column has {unpacked} bytes in place of {length}")),
        Err(error) => Err(format!("a column cannot be decompressed: {error}")),
    }
}

/// Decodes all events of a block, each with the references before it; `None` if that is not possible.
fn unpack_events(mut bytes: &[u8], head: &BlockHead, events: &mut Vec<(u32, Event)>) -> Option<()> {
    let mut at = 0;
    for _ in 0..head.events {
        let (distance, event) = take_event(&mut bytes)?;
        at = distance.checked_add(at).filter(|at| *at <= u64::from(head.references))?;
        events.push((at as u32, event));
    }
    bytes.is_empty().then_some(())
}

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        let Some(head) = self.take_head()? else { return Ok(false) };
        let place = self.place(HEAD_BYTES);
        if !self.read_columns(&head)? {
            return Ok(false);
        }
        self.unpack(&head, block).map_err(|reason| {
            self.ended = true;
            TraceError::bad(&place, format!("{reason}; the file is broken here"))
        })?;
        (block.process, block.thread, block.first) = (head.process, head.thread, self.first);
        block.at_ns = head.at_ns;
        self.count(&head);
        Ok(true)
    }

    fn notes(&self) -> Notes {
        Notes {
            header: Some(self.header.clone()),
            cut_off: self.cut_off.clone(),
            packed: Some(self.packed),
            ..Notes::default()
        }
    }

    fn read_bytes(&self) -> u64 {
        self.input.at_byte()
    }
}
