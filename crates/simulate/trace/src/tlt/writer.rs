//! Compresses blocks and writes them.

use std::io::Write;

use zstd::bulk::Compressor;

use super::head::{BlockHead, HEAD_BYTES, PackedBlock, REFERENCES_PER_BLOCK};
use super::index::Index;
use crate::{Header, TraceError};

/// How hard a recorder compresses: 1 is zstd's quickest level that models well.
pub const QUICK_LEVEL: i32 = 1;
/// How hard a converter does.
pub const SMALL_LEVEL: i32 = 3;

/// How much of a block is worth the time to compress it. A reader does not care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Compress all columns.
    Compress,
    /// Compress all but the references, which cost most and save less.
    CompressPages,
    /// Compress nothing, which is much faster.
    Store,
}

/// Writes a trace.
pub struct Writer<W: Write> {
    out: W,
    zstd: Compressor<'static>,
    /// The block as in the file; reused.
    bytes: Vec<u8>,
    at_byte: u64,
    index: Index,
}

impl<W: Write> Writer<W> {
    /// Writes the header. Fails when writing fails or the zstd level is invalid.
    pub fn new(mut out: W, header: &Header, level: i32) -> Result<Self, TraceError> {
        let bytes = header.to_bytes()?;
        out.write_all(&bytes)?;
        let zstd = Compressor::new(level)?;
        let at_byte = bytes.len() as u64;
        Ok(Self { out, zstd, bytes, at_byte, index: Index::default() })
    }

    /// Compresses and writes a block, unless empty. Fails when it is too large or writing fails.
    pub fn add(&mut self, block: &PackedBlock, effort: Effort) -> Result<(), TraceError> {
        if block.head.references == 0 && block.head.events == 0 {
            return Ok(());
        }
        let (pages, references) = (effort != Effort::Store, effort == Effort::Compress);
        self.bytes.clear();
        self.bytes.resize(HEAD_BYTES, 0);
        let pages_bytes = self.append(&block.pages_column, pages)?;
        let events_bytes = self.append(&block.events_column, pages)?;
        let behind = self.bytes.len();
        let references_bytes = self.append(&block.references_column, references)?;
        let head = BlockHead {
            pages_unpacked_bytes: length(&block.pages_column),
            pages_bytes,
            events_unpacked_bytes: length(&block.events_column),
            events_bytes,
            references_bytes,
            pages_checksum: crc32fast::hash(&self.bytes[HEAD_BYTES..behind]),
            references_checksum: crc32fast::hash(&self.bytes[behind..]),
            ..block.head
        };
        if !head.is_possible() {
            let reason = format!(
                "a block of {} references and {} events is too large to write; finish blocks of \
                 {REFERENCES_PER_BLOCK} references",
                head.references, head.events
            );
            return Err(TraceError::bad("byte 0", reason));
        }
        self.bytes[..HEAD_BYTES].copy_from_slice(&head.to_bytes());
        self.out.write_all(&self.bytes)?;
        self.index.add(self.at_byte, head.references);
        self.at_byte += self.bytes.len() as u64;
        Ok(())
    }

    fn append(&mut self, column: &[u8], compress: bool) -> Result<u32, TraceError> {
        let bytes = &mut self.bytes;
        let begin = bytes.len();
        if compress && !column.is_empty() {
            bytes.resize(begin + zstd::zstd_safe::compress_bound(column.len()), 0);
            let length = self.zstd.compress_to_buffer(column, &mut bytes[begin..])?;
            bytes.truncate(begin + length);
        }
        if !(1..column.len()).contains(&(bytes.len() - begin)) {
            bytes.truncate(begin);
            bytes.extend(column);
        }
        Ok(length(&bytes[begin..]))
    }

    /// Gives what is written to the system. Fails when that is not possible.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        Ok(self.out.flush()?)
    }

    /// How many references are written.
    pub fn references(&self) -> u64 {
        self.index.references
    }

    /// How many bytes are written.
    pub fn written_bytes(&self) -> u64 {
        self.at_byte
    }

    /// Writes the index, without which a trace counts as truncated. Fails when writing fails.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.out.write_all(&self.index.to_bytes(self.at_byte))?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// The length, or more than a block can have.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
