//! The contents of all files of a root, one after the other in a file of the cache.

use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::tree::Content;

/// What a guest can be handed over (a fw_cfg file has a 32-bit size), without the heads of an archive.
pub(crate) const MOST_BYTES: u64 = 3 << 30;

/// The error of what the user stopped.
pub(crate) const STOPPED: &str = "interrupted";

#[derive(Debug)]
pub(crate) struct Spool {
    file: BufWriter<File>,
    size_bytes: u64,
    next_number: u64,
}

impl Spool {
    /// A new file that nobody else uses.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        Ok(Self { file: BufWriter::with_capacity(1 << 18, file), size_bytes: 0, next_number: 0 })
    }

    /// Keeps a file's content. Fails as the reader, when the disk is full, when all of it is too large
    /// for a guest, and when the user wants to stop.
    pub(crate) fn keep(
        &mut self,
        content: &mut dyn Read,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Content> {
        let (offset, number) = (self.size_bytes, self.next_number);
        let room = MOST_BYTES - offset;
        let size_bytes = {
            let mut content = Stoppable { from: content.take(room + 1), stop };
            io::copy(&mut content, &mut self.file)?
        };
        if size_bytes > room {
            return Err(io::Error::other(format!(
                "the files have more than {} GiB together, the most that a guest takes",
                MOST_BYTES >> 30
            )));
        }
        self.size_bytes += size_bytes;
        self.next_number += 1;
        Ok(Content { number, offset, size_bytes })
    }

    /// Everything that was kept, to be read.
    pub(crate) fn finish(self) -> io::Result<File> {
        self.file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// Fails when the user wants to stop, so that a large file does not delay that.
pub(crate) struct Stoppable<'a, R> {
    pub(crate) from: R,
    pub(crate) stop: &'a dyn Fn() -> bool,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match (self.stop)() {
            // `ErrorKind::Interrupted` would be tried again.
            true => Err(io::Error::other(STOPPED)),
            false => self.from.read(bytes),
        }
    }
}

/// A part of a file, read from its beginning to its end.
pub(crate) struct Part<'a> {
    pub(crate) file: &'a File,
    pub(crate) offset: u64,
    pub(crate) left_bytes: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let wanted = bytes.len().min(usize::try_from(self.left_bytes).unwrap_or(usize::MAX));
        let count = self.file.read_at(&mut bytes[..wanted], self.offset)?;
        self.offset += count as u64;
        self.left_bytes -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_large_file_does_not_delay_an_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(&folder.path().join("spool")).unwrap();
        let looks = Cell::new(0);
        let stop = || {
            looks.set(looks.get() + 1);
            looks.get() > 3
        };
        let error = spool.keep(&mut io::repeat(0), &stop).unwrap_err();
        assert_eq!(error.to_string(), STOPPED);
        assert_eq!(looks.get(), 4);
    }
}
