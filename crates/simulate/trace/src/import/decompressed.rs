//! Bytes of a file, decompressed in bounded memory.

use std::io::{BufReader, Cursor, Error, ErrorKind, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BUFFER_BYTES: usize = 1 << 16;
/// Memory limit of a decompressor.
const XZ_MEMORY_BYTES: u64 = 1 << 27;
/// log2 of zstd's largest window.
const ZSTD_WINDOW_LOG: u32 = 26;

/// Bytes of a file; truncated compressed data ends early.
pub(crate) struct Decompressed {
    stream: Box<dyn Read + Send>,
    /// Bytes read of the file itself.
    read: Arc<AtomicU64>,
    is_compressed: bool,
    is_cut_off: bool,
}

struct Counted {
    stream: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.stream.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Decompressed {
    /// Decompresses files that start as gzip, xz or zstd.
    pub(crate) fn new(stream: Box<dyn Read + Send>) -> Result<BufReader<Self>> {
        let read = Arc::new(AtomicU64::new(0));
        let mut file = Counted { stream, read: Arc::clone(&read) };
        let mut begin = Vec::new();
        (&mut file).take(6).read_to_end(&mut begin)?;
        let magic = begin.clone();
        let file = Cursor::new(begin).chain(file);
        let mut is_compressed = true;
        let stream: Box<dyn Read + Send> = if magic.starts_with(&[0x1f, 0x8b]) {
            Box::new(flate2::read::MultiGzDecoder::new(file))
        } else if magic.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
            let flags = liblzma::stream::CONCATENATED;
            let decoder = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, flags)?;
            Box::new(liblzma::read::XzDecoder::new_stream(file, decoder))
        } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            let mut decoder = zstd::Decoder::new(file)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        } else {
            is_compressed = false;
            Box::new(file)
        };
        let file = Self { stream, read, is_compressed, is_cut_off: false };
        Ok(BufReader::with_capacity(BUFFER_BYTES, file))
    }

    pub(crate) fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Where the compressed data was truncated.
    pub(crate) fn cut_off(&self) -> Option<u64> {
        self.is_cut_off.then(|| self.read_bytes())
    }
}

impl Read for Decompressed {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.is_cut_off {
            return Ok(0);
        }
        self.stream.read(buffer).or_else(|error| match error.kind() {
            // A decompressor's error for truncated data.
            ErrorKind::UnexpectedEof if self.is_compressed => {
                self.is_cut_off = true;
                Ok(0)
            }
            ErrorKind::Other | ErrorKind::InvalidData | ErrorKind::InvalidInput
                if self.is_compressed =>
            {
                let at_byte = self.read_bytes();
                let reason = format!("the rest of the compressed data cannot be read: {error}");
                Err(Error::other(format!("byte {at_byte}: {reason}")))
            }
            _ => Err(error),
        })
    }
}
