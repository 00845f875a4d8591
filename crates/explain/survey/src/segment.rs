//! The segments of a ring: their names, their times, and their text.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use doctor::Recording;

/// The end of a segment's name, after its number.
const SUFFIX: &str = ".jsonl.zst";
/// Digits of its number.
const DIGITS: usize = 10;
/// What a zstd frame begins with (RFC 8878).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Longest text of a segment in bytes: more is not what a recorder wrote.
const TEXT_BYTES_MAX: u64 = 4 << 30;

/// One segment of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its file.
    pub path: PathBuf,
    /// Start of the recording that it is part of, in ns since 1970 UTC.
    pub started_unix_ns: u64,
    /// Time of its first snapshot, in ns since 1970 UTC.
    pub from_unix_ns: u64,
}

/// The segments of a folder that have a snapshot, the oldest first. Fails when the folder or a
/// segment cannot be read.
pub fn segments(dir: &Path) -> io::Result<Vec<Segment>> {
    let mut found = Vec::new();
    for number in numbers(dir)? {
        let path = dir.join(file_name(number));
        let mut lines = decoded(File::open(&path)?)?;
        let mut text = String::new();
        // One that was cut off within its first two lines has nothing to show.
        let is_whole = (0..2).all(|_| lines.read_line(&mut text).is_ok());
        let Some(recording) = Recording::parse(&text).ok().filter(|_| is_whole) else { continue };
        let Some(first) = recording.snapshots.first() else { continue };
        let started_unix_ns = recording.header.started_unix_ns;
        let from_unix_ns = started_unix_ns.saturating_add(first.at_ns);
        found.push(Segment { path, started_unix_ns, from_unix_ns });
    }
    Ok(found)
}

/// A recording from a file, which may be compressed, as far as it is whole. Fails when the file
/// cannot be read or is not a recording.
pub fn read_whole(path: &Path) -> io::Result<Recording> {
    let mut bytes = Vec::new();
    let mut decoder = decoded(File::open(path)?)?.take(TEXT_BYTES_MAX);
    let read = decoder.read_to_end(&mut bytes);
    // The end of what was compressed may be missing; what came before it is whole.
    read.or_else(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof if !bytes.is_empty() => Ok(0),
        _ => Err(error),
    })?;
    // A cut may be within a character.
    Recording::parse(&String::from_utf8_lossy(&bytes)).map_err(invalid)
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The text of a file.
fn decoded(file: File) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::new(file);
    Ok(match file.fill_buf()?.starts_with(&MAGIC) {
        true => Box::new(BufReader::new(zstd::Decoder::with_buffer(file)?)),
        false => Box::new(file),
    })
}

pub(crate) fn file_name(number: u64) -> String {
    format!("{number:0DIGITS$}{SUFFIX}")
}

/// The numbers of the segments of a folder, in order.
pub(crate) fn numbers(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        let digits = digits.filter(|digits| digits.len() >= DIGITS);
        numbers.extend(digits.and_then(|digits| digits.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_a_number_are_segments() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["lock", "1.jsonl.zst", "a.jsonl.zst", &file_name(7), &file_name(3)] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(numbers(dir.path()).unwrap(), [3, 7]);
        assert_eq!(segments(dir.path()).unwrap(), []);
        assert!(segments(&dir.path().join("none")).is_err());
    }

    #[test]
    fn what_is_not_a_recording_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for bytes in [&b"text"[..], &MAGIC, b"\xff\xff\xff"] {
            fs::write(&path, bytes).unwrap();
            assert!(read_whole(&path).is_err(), "{bytes:?}");
        }
    }
}
