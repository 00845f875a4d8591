//! Reads a trace block by block, with only the required columns.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, copy, sink};

use zstd::bulk::Decompressor;

use super::decode::decode;
use super::events::take_events;
use super::head::{BlockHead, HEAD_BYTES};
use super::header::{FIXED_BYTES, MAGIC};
use super::index::INDEX_MAGIC;
use crate::{Block, Granularity, Header, Notes, PackedBytes, Source, TraceError};

/// Reads a trace of thrashlab.
pub struct Reader {
    input: Box<dyn Read + Send>,
    /// The seekable input, if it is one, and its length in bytes.
    file: Option<(File, u64)>,
    at_byte: u64,
    columns: Granularity,
    header: Header,
    zstd: Decompressor<'static>,
    /// The next block's number, and the references before it.
    number: u64,
    first: u64,
    packed: PackedBytes,
    cut_off: Option<String>,
    ended: bool,
    buffers: Buffers,
}

/// Memory that is used again for each block.
#[derive(Default)]
struct Buffers {
    /// Columns as in the file.
    packed: Vec<u8>,
    pages: Vec<u8>,
    references: Vec<u8>,
    events: Vec<u8>,
}

impl Reader {
    /// Reads a file positioned at its beginning. Fails when it cannot be read or is not a trace.
    pub fn from_file(file: File, columns: Granularity) -> Result<Self, TraceError> {
        let length_bytes = file.metadata()?.len();
        let reader = Self::from_stream(Box::new(file.try_clone()?), columns)?;
        Ok(Self { file: Some((file, length_bytes)), ..reader })
    }

    /// Reads a pipe. Fails when it cannot be read or is not a trace.
    pub fn from_stream(
        input: Box<dyn Read + Send>,
        columns: Granularity,
    ) -> Result<Self, TraceError> {
        let mut reader = Self {
            input,
            file: None,
            at_byte: 0,
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
        let is_whole = reader.fill(FIXED_BYTES)?;
        let mut bytes = reader.buffers.packed.clone();
        let is_magic = MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]);
        if (is_whole || !is_magic) && reader.fill(Header::rest_bytes(&bytes)?)? {
            bytes.extend(&reader.buffers.packed);
            reader.header = Header::from_bytes(&bytes)?;
        } else {
            reader.end_early();
        }
        Ok(reader)
    }

    /// Reads the next block's head only; `None` at the end. Fails when the file is corrupt.
    pub fn next_head(&mut self) -> Result<Option<BlockHead>, TraceError> {
        let Some((head, _)) = self.take_head()? else { return Ok(None) };
        let all = head.first_bytes() as u64 + u64::from(head.references_bytes);
        if !self.skip(all)? {
            self.end_early();
            return Ok(None);
        }
        self.count(&head);
        Ok(Some(head))
    }

    /// Fills the buffer; `false` if the file is too short.
    fn fill(&mut self, count: usize) -> io::Result<bool> {
        let packed = &mut self.buffers.packed;
        packed.clear();
        packed.reserve(count);
        let read = (&mut self.input).take(count as u64).read_to_end(packed)?;
        self.at_byte += read as u64;
        Ok(read == count)
    }

    /// Skips bytes; `false` if the file is too short.
    fn skip(&mut self, count: u64) -> io::Result<bool> {
        let is_there = match &mut self.file {
            Some((_, length_bytes)) if self.at_byte.saturating_add(count) > *length_bytes => false,
            // Files are shorter than 2^63 bytes.
            Some((file, _)) => file.seek(SeekFrom::Current(count.cast_signed())).map(|_| true)?,
            None => copy(&mut (&mut self.input).take(count), &mut sink())? == count,
        };
        self.at_byte += if is_there { count } else { 0 };
        Ok(is_there)
    }

    /// The trace was truncated.
    fn end_early(&mut self) {
        self.ended = true;
        self.cut_off = Some(format!("byte {}", self.at_byte));
    }

    /// The next block's head and its place; `None` at the end. Errors end the trace.
    fn take_head(&mut self) -> Result<Option<(BlockHead, String)>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let place = format!("block {} at byte {}", self.number, self.at_byte);
        let is_whole = self.fill(HEAD_BYTES)?;
        if self.buffers.packed.starts_with(&INDEX_MAGIC) {
            self.ended = true;
            return Ok(None);
        }
        if !is_whole {
            self.end_early();
            return Ok(None);
        }
        let head = BlockHead::from_bytes(&self.buffers.packed, &place);
        self.ended = head.is_err();
        head.map(|head| Some((head, place)))
    }

    fn count(&mut self, head: &BlockHead) {
        self.number += 1;
        self.first += u64::from(head.references);
        self.packed.heads += HEAD_BYTES as u64;
        self.packed.pages += u64::from(head.pages_bytes);
        self.packed.references += u64::from(head.references_bytes);
        self.packed.events += u64::from(head.events_bytes);
    }

    /// Reads a block's packed columns; `false` if the file is truncated.
    fn read_columns(&mut self, head: &BlockHead) -> io::Result<bool> {
        let (first, references) = (head.first_bytes(), head.references_bytes);
        let is_whole = match self.columns {
            Granularity::Page => self.fill(first)? && self.skip(references.into())?,
            Granularity::Reference => self.fill(first + references as usize)?,
        };
        if !is_whole {
            self.end_early();
        }
        Ok(is_whole)
    }

    fn unpack(&mut self, head: &BlockHead, block: &mut Block) -> Result<(), String> {
        let Buffers { packed, pages, references, events } = &mut self.buffers;
        let (first, rest) = packed.split_at(head.first_bytes());
        if crc32fast::hash(first) != head.pages_checksum {
            return Err("the checksum of the pages is wrong".to_owned());
        }
        let (pages_packed, events_packed) = first.split_at(head.pages_bytes as usize);
        let pages = unpack(&mut self.zstd, pages_packed, head.pages_unpacked_bytes, pages)?;
        let events = unpack(&mut self.zstd, events_packed, head.events_unpacked_bytes, events)?;
        block.events = take_events(events, head).ok_or("the events column is malformed")?;
        let rest = match rest.is_empty() {
            true => None,
            false if crc32fast::hash(rest) != head.references_checksum => {
                return Err("the checksum of the references is wrong".to_owned());
            }
            false => Some(unpack(&mut self.zstd, rest, head.references_unpacked(), references)?),
        };
        Ok(decode(head, pages, rest, block)?)
    }
}

fn unpack<'a>(
    zstd: &mut Decompressor<'_>,
    packed: &'a [u8],
    length: u32,
    into: &'a mut Vec<u8>,
) -> Result<&'a [u8], String> {
    // Incompressible columns are stored as they are.
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

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        let Some((head, place)) = self.take_head()? else { return Ok(false) };
        if !self.read_columns(&head)? {
            return Ok(false);
        }
        self.unpack(&head, block).map_err(|reason| {
            self.ended = true;
            TraceError::bad(place, format!("{reason}; the file is corrupt here"))
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
        self.at_byte
    }
}
