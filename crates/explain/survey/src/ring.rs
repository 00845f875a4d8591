//! A ring of recordings on disk: segments of a bounded total size, of which the oldest is removed.
//!
//! Each segment is a recording by itself, compressed with zstd. Each line is flushed as a block and
//! synced, so after a power cut the segment is shorter, and whole up to its last line.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use keep::Lock;
use zstd::stream::raw::CParameter;
use zstd::zstd_safe::compress_bound;

use crate::segment::{file_name, numbers};

/// Smallest size of a ring, in bytes.
pub const RING_BYTES_MIN: u64 = 4 << 20;
/// Segments in a full ring: as much of its past is lost at once.
const SEGMENTS: u64 = 16;
const LEVEL: i32 = 1;
/// The window, as a power of two: it must contain the line before, which the next one repeats.
const WINDOW_LOG: u32 = 21;
const LOCK: &str = "lock";
const LOCK_BEGIN: &str = "thrashlab doctor --record ";

/// A ring that is written.
pub struct Ring {
    dir: PathBuf,
    max_bytes: u64,
    header: String,
    /// Earlier segments and their sizes, the oldest first.
    old: VecDeque<(u64, u64)>,
    number: u64,
    current: Option<Current>,
    /// Held while this lives.
    _lock: Lock,
}

struct Current {
    encoder: zstd::Encoder<'static, Counted>,
}

/// A file, and the bytes that were written to it.
struct Counted {
    file: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Ring {
    /// A ring in a folder, which is created if it is missing and may have segments of earlier
    /// recordings; these count against `max_bytes`. Each segment begins with the line `header`.
    /// Fails when the folder cannot be written, is another ring's, or has other files.
    pub fn open(dir: &Path, max_bytes: u64, header: String) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let taken = Lock::take(&dir.join(LOCK), LOCK_BEGIN, &std::process::id().to_string())?;
        let lock = taken.map_err(|holder| {
            io::Error::other(format!("another recorder writes there (process {holder})"))
        })?;
        let mut old = VecDeque::new();
        for number in numbers(dir)? {
            old.push_back((number, fs::metadata(dir.join(file_name(number)))?.len()));
        }
        let number = old.back().map_or(0, |(last, _)| last + 1);
        let max_bytes = max_bytes.max(RING_BYTES_MIN);
        let dir = dir.to_owned();
        Ok(Self { dir, max_bytes, header, old, number, current: None, _lock: lock })
    }

    /// Its folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Appends a line and waits until it is on the disk. After a failure the next line begins a new
    /// segment.
    pub(crate) fn append(&mut self, line: &str) -> io::Result<()> {
        let written = self.try_append(line);
        if written.is_err() {
            self.end_segment();
        }
        written
    }

    fn try_append(&mut self, line: &str) -> io::Result<()> {
        let worst_bytes = compress_bound(line.len() + self.header.len()) as u64;
        if self.current.as_ref().is_some_and(|it| it.bytes() >= self.max_bytes / SEGMENTS) {
            self.end_segment();
        }
        self.make_room(worst_bytes)?;
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.begin_segment()?,
        };
        let written = current.append(line);
        self.current = Some(current);
        written
    }

    /// Removes the oldest segments until so much more fits.
    fn make_room(&mut self, more_bytes: u64) -> io::Result<()> {
        let now_bytes = self.current.as_ref().map_or(0, Current::bytes);
        let mut total_bytes = now_bytes + self.old.iter().map(|(_, bytes)| bytes).sum::<u64>();
        while total_bytes + more_bytes > self.max_bytes {
            let Some((number, bytes)) = self.old.pop_front() else { break };
            match fs::remove_file(self.dir.join(file_name(number))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => total_bytes -= bytes,
            }
        }
        Ok(())
    }

    fn begin_segment(&mut self) -> io::Result<Current> {
        let path = self.dir.join(file_name(self.number));
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        File::open(&self.dir)?.sync_all()?;
        let mut encoder = zstd::Encoder::new(Counted { file, bytes: 0 }, LEVEL)?;
        encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
        let mut current = Current { encoder };
        current.append(&self.header)?;
        Ok(current)
    }

    /// Ends the current segment, whether its end can be written or not.
    fn end_segment(&mut self) {
        if let Some(current) = self.current.take() {
            let bytes = current.bytes();
            // Its lines are on the disk; the mark of its end is not needed to read them.
            let end = current.encoder.finish().map_or(bytes, |counted| counted.bytes);
            self.old.push_back((self.number, end));
        }
        self.number += 1;
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.end_segment();
    }
}

impl Current {
    fn bytes(&self) -> u64 {
        self.encoder.get_ref().bytes
    }

    fn append(&mut self, line: &str) -> io::Result<()> {
        self.encoder.write_all(line.as_bytes())?;
        self.encoder.flush()?;
        self.encoder.get_ref().file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{read_whole, segments};

    const HEADER: &str = r#"{"kind":"doctor-recording","schema":1,"thrashlab":"0","started_unix_ns":5,"environment":{},"missed":[],"costs":{"costs":{}}}"#;

    /// A line that compresses badly.
    fn line(at_ns: u64, counters: u64) -> String {
        let mut hash = at_ns + 1;
        let mut next = || {
            hash = hash.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            hash >> 14
        };
        let values: Vec<String> =
            (0..counters).map(|name| format!("\"{name:05}\":{}", next())).collect();
        format!("{{\"at_ns\":{at_ns},\"machine\":{{\"vmstat\":{{{}}}}}}}\n", values.join(","))
    }

    fn filled(dir: &Path, lines: u64) -> u64 {
        let mut ring = Ring::open(dir, RING_BYTES_MIN, format!("{HEADER}\n")).unwrap();
        let size = || -> u64 {
            let files = fs::read_dir(dir).unwrap().flatten();
            files.map(|file| file.metadata().unwrap().len()).sum()
        };
        (0..lines)
            .map(|at_ns| {
                ring.append(&line(at_ns, 5000)).unwrap();
                size()
            })
            .max()
            .unwrap()
    }

    #[test]
    fn the_total_size_is_bounded_and_the_newest_lines_stay() {
        let dir = tempfile::tempdir().unwrap();
        let most_bytes = filled(dir.path(), 300);
        // The note in the lock is the only other thing.
        assert!(most_bytes <= RING_BYTES_MIN + 100, "{most_bytes}");
        let found = segments(dir.path()).unwrap();
        let last = read_whole(&found.last().unwrap().path).unwrap();
        assert_eq!(last.snapshots.last().unwrap().at_ns, 299);
        assert!(found[0].from_unix_ns > 5, "the oldest are gone");
        assert!(found.len() > 4, "{}", found.len());
        let read: usize =
            found.iter().map(|it| read_whole(&it.path).unwrap().snapshots.len()).sum();
        assert_eq!(read as u64, 300 + 5 - found[0].from_unix_ns, "no line is missing");
    }

    #[test]
    fn a_segment_that_was_cut_off_at_any_byte_is_a_shorter_recording() {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path(), 3);
        let path = segments(dir.path()).unwrap().remove(0).path;
        let bytes = fs::read(&path).unwrap();
        let mut counts = std::collections::BTreeSet::new();
        for length in (0..bytes.len()).step_by(997) {
            fs::write(&path, &bytes[..length]).unwrap();
            match read_whole(&path) {
                Ok(read) => drop(counts.insert(read.snapshots.len())),
                // Nothing was written before the header.
                Err(_) => assert!(counts.is_empty(), "at {length}"),
            }
            assert!(segments(dir.path()).is_ok());
        }
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        let mut ring = Ring::open(dir.path(), RING_BYTES_MIN, format!("{HEADER}\n")).unwrap();
        ring.append(&line(9, 1)).unwrap();
        let found = segments(dir.path()).unwrap();
        assert_eq!(read_whole(&found.last().unwrap().path).unwrap().snapshots[0].at_ns, 9);
    }

    #[test]
    fn a_folder_has_one_recorder_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("other"), "mine").unwrap();
        let _ring = Ring::open(dir.path(), 0, HEADER.to_owned()).unwrap();
        let again = Ring::open(dir.path(), 0, HEADER.to_owned()).map(drop).unwrap_err();
        assert!(again.to_string().contains("another recorder"), "{again}");
        assert_eq!(fs::read_to_string(dir.path().join("other")).unwrap(), "mine");
    }
}
