//! A whole run as read from its file: complete, or valid up to where it was cut off.

use crate::{End, EndStatus, Header, Line, LineError, SampleRecord, whole_lines};

/// A run file as read.
///
/// A file that was cut off at any byte is a valid, interrupted run: the lines that are whole are
/// here, the rest is counted in `truncated_bytes`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Run {
    /// The first line; `None` if the run was cut off before its header was whole.
    pub header: Option<Header>,
    /// All whole lines after the header, in order, the `end` line included.
    pub lines: Vec<Line>,
    /// Bytes after the last whole line (0 in a file that was not cut off).
    pub truncated_bytes: usize,
    /// Whether the checksum of the `end` line fits the bytes before it; `None` without that line.
    pub checksum_ok: Option<bool>,
}

/// A file that is not a run file.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A whole line cannot be read.
    #[error("line {line}: {source}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        source: LineError,
    },
    /// The first line is not a header.
    #[error("line 1: a run file begins with its header, not with another line")]
    NoHeader,
    /// A second header.
    #[error("line {line}: a second header: two run files in one?")]
    SecondHeader {
        /// Number of the line, from 1.
        line: usize,
    },
    /// Lines after the `end` line.
    #[error("line {line}: a line after the end of the run")]
    AfterEnd {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A whole line is not UTF-8.
    #[error("line {line}: not UTF-8 at byte {byte} of the line")]
    NotUtf8 {
        /// Number of the line, from 1.
        line: usize,
        /// Offset of the first offending byte in the line, from 0.
        byte: usize,
    },
}

impl Run {
    /// Reads a whole run file.
    ///
    /// # Errors
    /// When a line that is whole (ends in a newline) is not a line of a run file, with its number.
    pub fn parse(bytes: &[u8]) -> Result<Self, RunError> {
        let whole = whole_lines::length(bytes);
        let mut run = Self { truncated_bytes: bytes.len() - whole, ..Self::default() };
        let mut decoder = RunDecoder::default();
        for raw in whole_lines::lines(&bytes[..whole]) {
            match decoder.line(raw)? {
                Line::Header(header) => run.header = Some(*header),
                other => run.lines.push(other),
            }
        }
        run.checksum_ok = decoder.checksum_ok();
        Ok(run)
    }

    /// The last line, if the run has one.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        match self.lines.last() {
            Some(Line::End(end)) => Some(end),
            _ => None,
        }
    }

    /// How the run ended; without an `end` line it was killed.
    #[must_use]
    pub fn status(&self) -> EndStatus {
        self.end().map_or(EndStatus::Killed, |end| end.status)
    }

    /// Whether the run has any measurement: a sample, the histogram of a periodic
    /// probe, or a piece of work.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.lines.iter().any(|line| {
            matches!(line, Line::Sample(_) | Line::Histogram(_) | Line::Work(_) | Line::Pass(_))
        })
    }

    /// The samples, in order.
    pub fn samples(&self) -> impl Iterator<Item = &SampleRecord> {
        self.lines.iter().filter_map(|line| match line {
            Line::Sample(sample) => Some(sample.as_ref()),
            _ => None,
        })
    }
}

/// Reads a run file line by line, whatever its size, and keeps the checksum for its `end` line.
#[derive(Default)]
pub struct RunDecoder {
    lines: usize,
    hasher: blake3::Hasher,
    is_ended: bool,
    checksum_ok: Option<bool>,
}

impl RunDecoder {
    /// The next whole line, from its bytes with their newline. The first one is the header, and no
    /// other is.
    ///
    /// # Errors
    /// When it is not the line of a run file that may stand here, with its number.
    pub fn line(&mut self, raw: &[u8]) -> Result<Line, RunError> {
        self.lines += 1;
        let number = self.lines;
        let text = std::str::from_utf8(raw.strip_suffix(b"\n").unwrap_or(raw))
            .map_err(|error| RunError::NotUtf8 { line: number, byte: error.valid_up_to() })?;
        let line = Line::parse(text).map_err(|source| RunError::Line { line: number, source })?;
        if self.is_ended {
            return Err(RunError::AfterEnd { line: number });
        }
        match &line {
            Line::Header(_) if number > 1 => {
                return Err(RunError::SecondHeader { line: number });
            }
            Line::Header(_) => {}
            _ if number == 1 => return Err(RunError::NoHeader),
            Line::End(end) => {
                self.is_ended = true;
                let found = self.hasher.finalize().to_hex();
                self.checksum_ok = Some(found.as_str() == end.blake3);
            }
            _ => {}
        }
        self.hasher.update(raw);
        Ok(line)
    }

    /// As [`Run::checksum_ok`], of the lines so far.
    #[must_use]
    pub fn checksum_ok(&self) -> Option<bool> {
        self.checksum_ok
    }
}

/// Makes the text of a run file line by line and keeps the checksum for its `end` line.
///
/// Formatting only: the caller writes what it gets, in order, and flushes after each line.
#[derive(Default)]
pub struct RunEncoder {
    hasher: blake3::Hasher,
}

impl RunEncoder {
    /// The text of a line, newline included; counts it into the checksum.
    pub fn line(&mut self, line: &Line) -> String {
        let mut text = line.to_json();
        text.push('\n');
        self.hasher.update(text.as_bytes());
        text
    }

    /// Counts text that somebody else formatted into the checksum.
    pub fn foreign(&mut self, text: &[u8]) {
        self.hasher.update(text);
    }

    /// The text of the `end` line, newline included.
    #[must_use]
    pub fn end(&self, at_ns: u64, status: EndStatus) -> String {
        let blake3 = self.hasher.finalize().to_hex().to_string();
        let mut text = Line::End(End { at_ns, status, blake3 }).to_json();
        text.push('\n');
        text
    }
}
