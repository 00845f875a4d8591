//! A long file written past the page cache, where gigabytes that are not read soon would evict other
//! data and cost time. If the disk cannot keep up, the rest goes through the page cache.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};

/// A shorter file stays in the page cache: it is read soon.
const KEPT_BYTES: u64 = 64 << 20;
/// Bytes of a write; less would mean more commands.
const BUFFER_BYTES: usize = 1 << 20;
/// Alignment of a disk's memory and file offsets.
const ALIGNMENT: usize = 1 << 12;
/// The part of the time that the disk may take.
const MOST_OF_TIME: f64 = 0.9;
/// Bytes after which its speed is known.
const ENOUGH_BYTES: u64 = 128 << 20;

pub(crate) struct UncachedFile {
    file: File,
    pub(crate) written_bytes: u64,
    /// `None` before it is worthwhile, and where it is impossible.
    direct: Option<Direct>,
    is_open: bool,
}

/// The file without the page cache, and the buffer for it.
struct Direct {
    file: File,
    memory: Vec<u8>,
    /// Where the buffer begins in the memory, and its length.
    begin: usize,
    length: usize,
    /// Its offset in the file, a multiple of [`ALIGNMENT`].
    at_byte: u64,
    /// How much of it was written through the page cache.
    flushed: usize,
    begun: Instant,
    taken_bytes: u64,
    taken: Duration,
}

impl UncachedFile {
    pub(crate) fn new(file: File) -> Self {
        let is_open = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Self { file, written_bytes: 0, direct: None, is_open }
    }

    /// Continues through the page cache, with the contents of the buffer.
    fn leave_direct(&mut self) -> io::Result<()> {
        self.flush()?;
        self.direct = None;
        self.file.seek(SeekFrom::Start(self.written_bytes)).map(drop)
    }
}

impl Write for UncachedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_due = self.is_open && self.written_bytes >= KEPT_BYTES;
        if is_due && self.written_bytes.is_multiple_of(ALIGNMENT as u64) {
            self.direct = Direct::new(&self.file, self.written_bytes).ok();
            self.is_open = false;
        }
        let count = match &mut self.direct {
            Some(direct) => direct.add(bytes),
            None if is_due && self.is_open => {
                // Up to the next aligned offset.
                let left = ALIGNMENT - self.written_bytes as usize % ALIGNMENT;
                self.file.write(&bytes[..left.min(bytes.len())])?
            }
            None => self.file.write(bytes)?,
        };
        self.written_bytes += count as u64;
        if self.direct.as_mut().is_some_and(|direct| !direct.pass_on()) {
            self.leave_direct()?;
        }
        Ok(count)
    }

    /// Afterwards other processes see everything in the file.
    fn flush(&mut self) -> io::Result<()> {
        if let Some(direct) = &mut self.direct {
            direct.flush(&self.file)?;
        }
        self.file.flush()
    }
}

impl Direct {
    fn new(file: &File, at_byte: u64) -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        // Opened again: the flag must not affect the other descriptor.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let file = open(path, OFlags::WRONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty())?;
        let memory = vec![0; BUFFER_BYTES + ALIGNMENT];
        let begin = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let file = File::from(file);
        Ok(Self {
            file,
            memory,
            begin,
            length: 0,
            at_byte,
            flushed: 0,
            begun: Instant::now(),
            taken_bytes: 0,
            taken: Duration::ZERO,
        })
    }

    fn buffer(&self) -> &[u8] {
        &self.memory[self.begin..self.begin + self.length]
    }

    /// Appends as much as fits, at least a byte.
    fn add(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(BUFFER_BYTES - self.length);
        let from = self.begin + self.length;
        self.memory[from..from + count].copy_from_slice(&bytes[..count]);
        self.length += count;
        count
    }

    /// Writes a full buffer to the disk; `false` if that fails or is too slow to be tried again.
    fn pass_on(&mut self) -> bool {
        if self.length < BUFFER_BYTES {
            return true;
        }
        let begun = Instant::now();
        // The page cache's write reports a persistent error.
        if self.file.write_all_at(self.buffer(), self.at_byte).is_err() {
            return false;
        }
        self.taken += begun.elapsed();
        self.taken_bytes += self.length as u64;
        self.at_byte += self.length as u64;
        (self.length, self.flushed) = (0, 0);
        let most = self.begun.elapsed().mul_f64(MOST_OF_TIME);
        self.taken_bytes < ENOUGH_BYTES || self.taken < most
    }

    /// Writes the buffer through the page cache and keeps it, because the disk takes whole ones.
    fn flush(&mut self, file: &File) -> io::Result<()> {
        let new = self.buffer().get(self.flushed..).unwrap_or_default();
        file.write_all_at(new, self.at_byte + self.flushed as u64)?;
        self.flushed = self.length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// The contents of a file from its beginning.
    fn all(file: &mut File) -> Vec<u8> {
        let mut read = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut read).unwrap();
        read
    }

    #[test]
    fn a_file_is_what_was_written_however_it_is_cut() {
        // Not in the temporary folder, which may have no disk.
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let mut out = UncachedFile::new(file.try_clone().unwrap());
        let bytes: Vec<u8> = (0..5_000_000_u32).map(|index| ((index * 7) >> 5) as u8).collect();
        file.set_len(KEPT_BYTES).unwrap();
        out.file.seek(SeekFrom::Start(KEPT_BYTES)).unwrap();
        // As if much were written before.
        out.written_bytes = KEPT_BYTES;
        let mut rest = bytes.as_slice();
        for length in [1, 4095, 4096, 0, 8191, 1, 10_000, 2_000_000, 100, 50_000, 1 << 20] {
            let (piece, behind) = rest.split_at(length);
            out.write_all(piece).unwrap();
            rest = behind;
            if length % 2 == 0 {
                out.flush().unwrap();
                let written = bytes.len() - rest.len();
                assert!(all(&mut file)[KEPT_BYTES as usize..] == bytes[..written], "{length}");
                out.file.seek(SeekFrom::Start(KEPT_BYTES + written as u64)).unwrap();
            }
        }
        // The usual path continues where the other ended.
        out.leave_direct().unwrap();
        out.write_all(rest).unwrap();
        out.flush().unwrap();
        assert_eq!(out.written_bytes, KEPT_BYTES + bytes.len() as u64);
        assert!(all(&mut file)[KEPT_BYTES as usize..] == bytes);
    }

    #[test]
    fn a_pipe_is_written_as_usual() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut out = UncachedFile::new(File::from(std::os::fd::OwnedFd::from(writer)));
        out.written_bytes = KEPT_BYTES;
        out.write_all(&[7; 8192]).unwrap();
        drop(out);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, [7; 8192]);
    }
}
