//! Where a trace comes from, and how far it is read.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};

use crate::TraceError;

/// Where a trace comes from, and how far it is read.
pub(crate) struct Input {
    kind: Kind,
    at_byte: u64,
}

enum Kind {
    /// A file, in which bytes can be passed over.
    File { file: BufReader<File>, length_bytes: u64 },
    /// A pipe, or a file that is compressed as a whole.
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// A file that stands at its beginning.
    pub(crate) fn of_file(file: File) -> Result<Self, TraceError> {
        let length_bytes = file.metadata()?.len();
        let file = BufReader::with_capacity(1 << 16, file);
        Ok(Self { kind: Kind::File { file, length_bytes }, at_byte: 0 })
    }

    /// Something that can only be read on.
    pub(crate) fn of_stream(stream: Box<dyn Read + Send>) -> Self {
        Self { kind: Kind::Stream(stream), at_byte: 0 }
    }

    /// How many bytes are read or passed over.
    pub(crate) fn at_byte(&self) -> u64 {
        self.at_byte
    }

    /// Reads as much as there is of what a buffer holds; how much that is.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        let mut done = 0;
        while done < buffer.len() {
            let read = match &mut self.kind {
                Kind::File { file, .. } => file.read(&mut buffer[done..]),
                Kind::Stream(stream) => stream.read(&mut buffer[done..]),
            };
            match read {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.at_byte += done as u64;
        Ok(done)
    }

    /// Passes over bytes; `false` if there are not so many.
    pub(crate) fn skip(&mut self, count: u64) -> Result<bool, TraceError> {
        match &mut self.kind {
            Kind::File { file, length_bytes } => {
                if self.at_byte.saturating_add(count) > *length_bytes {
                    return Ok(false);
                }
                // A file shorter than 2^63 bytes has no longer way.
                file.seek_relative(count.cast_signed())?;
            }
            Kind::Stream(stream) => {
                if std::io::copy(&mut stream.take(count), &mut std::io::sink())? < count {
                    return Ok(false);
                }
            }
        }
        self.at_byte += count;
        Ok(true)
    }
}
