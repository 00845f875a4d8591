//! Bytes of a file, decompressed if it is compressed, with a look ahead and in bounded memory.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Place, TraceError};

/// How much is held, and so how far one can look ahead.
const BUFFER_BYTES: usize = 1 << 16;
/// Most memory that a decompressor may take.
const XZ_MEMORY_BYTES: u64 = 1 << 27;
/// The logarithm of the farthest that zstd may look back.
const ZSTD_WINDOW_LOG: u32 = 26;

/// Bytes of a file.
pub(crate) struct Supply {
    stream: Box<dyn Read + Send>,
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    /// The place of `begin`, after decompression.
    at_byte: u64,
    /// How many bytes of the file itself are read.
    read: Arc<AtomicU64>,
    cut_off: Option<Place>,
}

/// Counts what is read of a file.
struct Counted {
    stream: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// What a line is.
pub(crate) enum Line {
    /// It is in the buffer, without its end.
    Whole,
    /// It is longer than any line of a trace; its beginning is in the buffer.
    TooLong,
}

/// The longest line that is kept.
const LONGEST_LINE_BYTES: usize = 4096;

impl Supply {
    /// Takes the bytes of a file, and decompresses them if they begin as gzip, xz or zstd do.
    pub(crate) fn new(file: Box<dyn Read + Send>) -> Result<Self, TraceError> {
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { stream: file, read: Arc::clone(&read) };
        let mut raw = Self::of(Box::new(counted), Arc::clone(&read));
        let begin = raw.peek(6)?;
        let stream: Box<dyn Read + Send> = if begin.starts_with(&[0x1f, 0x8b]) {
            Box::new(flate2::read::MultiGzDecoder::new(raw))
        } else if begin.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            let flags = liblzma::stream::CONCATENATED;
            let decoder = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, flags)
                .map_err(std::io::Error::from)?;
            Box::new(liblzma::read::XzDecoder::new_stream(raw, decoder))
        } else if begin.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            let mut decoder = zstd::Decoder::new(raw)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        } else {
            return Ok(raw);
        };
        Ok(Self::of(stream, read))
    }

    fn of(stream: Box<dyn Read + Send>, read: Arc<AtomicU64>) -> Self {
        let buffer = vec![0; BUFFER_BYTES].into();
        Self { stream, buffer, begin: 0, end: 0, at_byte: 0, read, cut_off: None }
    }

    /// The next byte's place, after decompression.
    pub(crate) fn at_byte(&self) -> u64 {
        self.at_byte
    }

    /// How many bytes of the file itself are read.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Where the file ends in the middle of a record or of compressed data.
    pub(crate) fn cut_off(&self) -> Option<&Place> {
        self.cut_off.as_ref()
    }

    /// The next bytes: so many, or as many as there are.
    pub(crate) fn peek(&mut self, count: usize) -> Result<&[u8], TraceError> {
        let count = count.min(BUFFER_BYTES);
        if self.end - self.begin < count {
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
            while self.end < count && self.cut_off.is_none() {
                match self.stream.read(&mut self.buffer[self.end..]) {
                    Ok(0) => break,
                    Ok(read) => self.end += read,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // What a decompressor says of a file that was cut off.
                    Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                        self.cut_off = Some(Place::Byte(self.read_bytes()));
                    }
                    Err(error)
                        if error.kind() == ErrorKind::Other
                            || error.kind() == ErrorKind::InvalidData
                            || error.kind() == ErrorKind::InvalidInput =>
                    {
                        let reason = format!("the compressed data cannot be read on: {error}");
                        return Err(TraceError::bad(&Place::Byte(self.read_bytes()), reason));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(&self.buffer[self.begin..self.end.min(self.begin + count)])
    }

    fn consume(&mut self, count: usize) {
        self.begin += count;
        self.at_byte += count as u64;
    }

    /// The next record of a fixed length; `None` at the end, which may be in the middle of one.
    pub(crate) fn record<const LENGTH: usize>(
        &mut self,
    ) -> Result<Option<[u8; LENGTH]>, TraceError> {
        let at_byte = self.at_byte;
        let bytes = self.peek(LENGTH)?;
        let (record, left) = (bytes.first_chunk().copied(), bytes.len());
        match record {
            Some(_) => self.consume(LENGTH),
            None => {
                self.consume(left);
                if left > 0 {
                    self.cut_off.get_or_insert(Place::Byte(at_byte));
                }
            }
        }
        Ok(record)
    }

    /// The next line, without its end; `None` at the end.
    pub(crate) fn line(&mut self, line: &mut Vec<u8>) -> Result<Option<Line>, TraceError> {
        line.clear();
        let mut length = 0;
        loop {
            if self.begin == self.end && self.peek(1)?.is_empty() {
                if length == 0 {
                    return Ok(None);
                }
                break;
            }
            let held = &self.buffer[self.begin..self.end];
            let end = memchr::memchr(b'\n', held);
            let piece = &held[..end.unwrap_or(held.len())];
            let room = LONGEST_LINE_BYTES - line.len();
            line.extend(&piece[..piece.len().min(room)]);
            length += piece.len();
            let taken = piece.len() + usize::from(end.is_some());
            self.consume(taken);
            if end.is_some() {
                break;
            }
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(if length > LONGEST_LINE_BYTES { Line::TooLong } else { Line::Whole }))
    }
}

impl Read for Supply {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let held = self.peek(1).map(<[u8]>::len).map_err(|error| match error {
            TraceError::Io(error) => error,
            bad @ TraceError::Bad { .. } => std::io::Error::other(bad),
        })?;
        if held == 0 {
            return Ok(0);
        }
        let count = buffer.len().min(self.end - self.begin);
        buffer[..count].copy_from_slice(&self.buffer[self.begin..self.begin + count]);
        self.consume(count);
        Ok(count)
    }
}
