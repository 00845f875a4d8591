//! A long file written past the page cache, where gigabytes that nobody reads would evict other
//! data and cost more time than they took to compute. If the disk cannot keep up, the rest goes
//! through the page cache.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};

/// What is kept in memory like any file: somebody will read a short one soon.
const KEPT_BYTES: u64 = 64 << 20;
/// How much goes to the disk at a time; less would be as many commands more.
const BUFFER_BYTES: usize = 1 << 20;
/// Where a disk wants memory and file to begin.
const ALIGNMENT: usize = 1 << 12;
/// Which part of the time the disk may take; with more it is what everybody waits for.
const MOST_OF_TIME: f64 = 0.9;
/// After how many bytes its speed is known.
const ENOUGH_BYTES: u64 = 128 << 20;

/// A file that is written from its beginning.
#[derive(Debug)]
pub(crate) struct UncachedFile {
    file: File,
    written_bytes: u64,
    /// The way past the page cache; none before it is worth it, and where there is none.
    direct: Option<Direct>,
    /// Whether it is to be tried.
    is_open: bool,
}

/// The file past the page cache, and what is not in it yet.
#[derive(Debug)]
struct Direct {
    file: File,
    memory: Vec<u8>,
    /// Where in the memory the buffer begins, and how much is in it.
    begin: usize,
    length: usize,
    /// Where in the file it belongs; a multiple of [`ALIGNMENT`].
    at_byte: u64,
    /// How much of it is in the file all the same.
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

    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Begins to write past the page cache where that is possible now.
    fn try_direct(&mut self) {
        let is_due = self.is_open && self.written_bytes >= KEPT_BYTES;
        if is_due && self.written_bytes.is_multiple_of(ALIGNMENT as u64) {
            self.direct = Direct::new(&self.file, self.written_bytes).ok();
            self.is_open = false;
        }
    }

    /// Goes on as usual, with what is in the buffer.
    fn leave_direct(&mut self) -> io::Result<()> {
        self.flush()?;
        self.direct = None;
        io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.written_bytes)).map(|_| ())
    }
}

impl Write for UncachedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.try_direct();
        let count = match &mut self.direct {
            Some(direct) => direct.add(bytes),
            None if self.is_open && self.written_bytes >= KEPT_BYTES => {
                // Up to where a disk can go on.
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

    /// Everything is in the file then, as other processes see it.
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
        // The same file again, as the flag is not to hold for the usual way.
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

    /// Takes as much as there is room for, which is some.
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
        // If it was for another reason than the way, the usual way says so.
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

    /// Writes what is in the buffer as usual; it stays, because the disk takes whole ones.
    fn flush(&mut self, file: &File) -> io::Result<()> {
        let new = self.buffer().get(self.flushed..).unwrap_or_default();
        file.write_all_at(new, self.at_byte + self.flushed as u64)?;
        self.flushed = self.length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    /// What is in a file from its beginning.
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
        out.file.seek(io::SeekFrom::Start(KEPT_BYTES)).unwrap();
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
                out.file.seek(io::SeekFrom::Start(KEPT_BYTES + written as u64)).unwrap();
            }
        }
        // The usual way goes on where the other ended.
        out.leave_direct().unwrap();
        out.write_all(rest).unwrap();
        out.flush().unwrap();
        assert_eq!(out.written_bytes(), KEPT_BYTES + bytes.len() as u64);
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
