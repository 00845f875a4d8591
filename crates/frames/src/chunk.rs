//! One piece of a run file: the lines that begin in it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use blake3::Hasher;
use model::{Delivered, End, Header, Line, RunError};

use crate::checksum::hashed;
use crate::sample_line::SampleLine;
use crate::tables::Collected;

/// How much is read at once where a line goes on beyond its piece.
const BEYOND_BYTES: usize = 1 << 12;

/// What a thread keeps from piece to piece.
#[derive(Default)]
pub(crate) struct Scratch {
    bytes: Vec<u8>,
    line: SampleLine,
    /// How much there was in the last piece: there is about as much in the next.
    last: [usize; 2],
}

/// A piece as read.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) collected: Collected,
    /// How many whole lines begin in it.
    pub(crate) lines: usize,
    pub(crate) header: Option<Header>,
    pub(crate) delivered: Option<Delivered>,
    /// The last line, if it is an `end`, and where it begins in the file.
    pub(crate) end: Option<(End, u64)>,
    /// Bytes of a line without its newline.
    pub(crate) truncated_bytes: u64,
    /// All of the piece that stands before an `end` line, for the checksum of the file.
    pub(crate) hashed: Option<Box<Hasher>>,
}

/// What is wrong with a line; its number counts from the beginning of its piece.
pub(crate) enum Fault {
    Io(io::Error),
    Line(RunError),
}

impl Chunk {
    /// Reads the lines that begin in `range` of a file that is `len` long.
    pub(crate) fn read(
        file: &File,
        range: Range<u64>,
        len: u64,
        run: u32,
        scratch: &mut Scratch,
    ) -> Result<Self, Fault> {
        let mut chunk = Self { collected: Collected::like(scratch.last), ..Self::default() };
        chunk.collected.run = run;
        // What it expects are numbers of names, and each piece numbers its names itself.
        scratch.line = SampleLine::default();
        let bytes = &mut scratch.bytes;
        if let Some(first) = fill(file, &range, len, bytes).map_err(Fault::Io)? {
            chunk.lines(bytes, first, &range, &mut scratch.line).map_err(Fault::Line)?;
        }
        scratch.last = chunk.collected.sizes();
        let end = chunk.end.as_ref().map_or(range.end, |(_, begins)| *begins);
        // The byte before the range was read too.
        let first = usize::from(range.start > 0);
        chunk.hashed = hashed(&bytes[first..first + (end - range.start) as usize], range.start);
        Ok(chunk)
    }

    fn lines(
        &mut self,
        bytes: &[u8],
        first: usize,
        range: &Range<u64>,
        line: &mut SampleLine,
    ) -> Result<(), RunError> {
        let begin = range.start.saturating_sub(1);
        let mut at = first;
        while begin + (at as u64) < range.end {
            let Some(length) = memchr::memchr(b'\n', &bytes[at..]) else {
                self.truncated_bytes = (bytes.len() - at) as u64;
                break;
            };
            let is_first = range.start == 0 && at == 0;
            self.line(&bytes[at..at + length], begin + at as u64, is_first, line)?;
            at += length + 1;
        }
        Ok(())
    }

    fn line(
        &mut self,
        raw: &[u8],
        offset: u64,
        is_first: bool,
        line: &mut SampleLine,
    ) -> Result<(), RunError> {
        self.lines += 1;
        if !is_first && self.end.is_none() && line.read(raw, &mut self.collected.words).is_some() {
            self.collected.sample_line(line);
            return Ok(());
        }
        let number = self.lines;
        let text = std::str::from_utf8(raw)
            .map_err(|error| RunError::NotUtf8 { line: number, byte: error.valid_up_to() })?;
        let parsed = Line::parse(text).map_err(|source| RunError::Line { line: number, source })?;
        if self.end.is_some() {
            return Err(RunError::AfterEnd { line: number });
        }
        match parsed {
            Line::Header(header) if is_first => self.header = Some(*header),
            Line::Header(_) => return Err(RunError::SecondHeader { line: number }),
            _ if is_first => return Err(RunError::NoHeader),
            other => self.other(other, offset),
        }
        Ok(())
    }

    fn other(&mut self, line: Line, offset: u64) {
        let collected = &mut self.collected;
        match line {
            Line::Sample(record) => collected.sample(&record),
            Line::Histogram(record) => collected.histogram(&record),
            Line::Work(record) => collected.work(*record),
            Line::Pass(record) => collected.pass(&record),
            Line::Counters(record) => collected.readings(record.at_ns, &record.counters),
            Line::Phase(record) => collected.phase(&record),
            Line::Warning(record) => collected.warning(record),
            Line::Death(record) => collected.death(*record),
            Line::Unknown(value) => collected.unknown(value.to_string()),
            Line::Delivered(record) => {
                collected.totals(&record);
                self.delivered = Some(record);
            }
            Line::End(record) => self.end = Some((record, offset)),
            Line::Header(_) => {}
        }
    }
}

/// Reads from the byte before the range (the newline of another line, if a line begins with the
/// range) to the end of the last line that begins in it. Answers where in `bytes` the first line
/// begins, if one does.
fn fill(
    file: &File,
    range: &Range<u64>,
    len: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<Option<usize>> {
    let begin = range.start.saturating_sub(1);
    let wanted = (range.end - begin) as usize;
    bytes.resize(wanted, 0);
    file.read_exact_at(bytes, begin)?;
    let first = match range.start {
        0 => 0,
        // A newline as the last byte of the range begins a line of the next one.
        _ => match memchr::memchr(b'\n', &bytes[..wanted - 1]) {
            Some(newline) => newline + 1,
            None => return Ok(None),
        },
    };
    let mut more = BEYOND_BYTES;
    while bytes.last() != Some(&b'\n') && begin + (bytes.len() as u64) < len {
        let old = bytes.len();
        more = (2 * more).min((len - begin) as usize - old);
        bytes.resize(old + more, 0);
        file.read_exact_at(&mut bytes[old..], begin + old as u64)?;
        if let Some(newline) = memchr::memchr(b'\n', &bytes[old..]) {
            bytes.truncate(old + newline + 1);
        }
    }
    Ok(Some(first))
}
