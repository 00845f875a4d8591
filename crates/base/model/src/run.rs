//! A whole run as read from its file: complete, or valid up to its truncation.

use crate::{End, EndStatus, Header, Line, LineError, SampleRecord, WorkRecord, whole_lines};

/// A run file as read; truncated at any byte, it is a valid, interrupted run of its whole lines.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Run {
    /// The first line; `None` if truncated before the end of the header.
    pub header: Option<Header>,
    /// All whole lines after the header, in order, the `end` line included.
    pub lines: Vec<Line>,
    /// Bytes after the last whole line, 0 unless truncated.
    pub truncated_bytes: usize,
    /// Whether the `end` line's checksum matches the bytes before it; `None` without that line.
    pub checksum_ok: Option<bool>,
}

/// A file that is not a run file.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct RunError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: RunFault,
}

/// What is wrong with a line of a run file.
#[derive(Debug, thiserror::Error)]
pub enum RunFault {
    /// A whole line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The first line is not a header.
    #[error("a run file begins with its header, not with another line")]
    NoHeader,
    /// A second header.
    #[error("a second header: two run files in one?")]
    SecondHeader,
    /// A line after the `end` line.
    #[error("a line after the end of the run")]
    AfterEnd,
    /// A whole line is not UTF-8.
    #[error("not UTF-8 at byte {byte} of the line")]
    NotUtf8 {
        /// Offset of the first offending byte in the line, from 0.
        byte: usize,
    },
}

impl Line {
    /// Parses a line of a run file without its newline. Fails when it is invalid, when the first
    /// line is not a header or another one is, or when it follows the end.
    pub fn parse_in_run(raw: &[u8], is_first: bool, is_ended: bool) -> Result<Self, RunFault> {
        let text = std::str::from_utf8(raw)
            .map_err(|error| RunFault::NotUtf8 { byte: error.valid_up_to() })?;
        let line = Self::parse(text)?;
        match (matches!(line, Self::Header(_)), is_first) {
            _ if is_ended => Err(RunFault::AfterEnd),
            (true, false) => Err(RunFault::SecondHeader),
            (false, true) => Err(RunFault::NoHeader),
            _ => Ok(line),
        }
    }
}

impl Run {
    /// Parses a whole run file. Fails with the number of an invalid whole line.
    pub fn parse(bytes: &[u8]) -> Result<Self, RunError> {
        let whole = whole_lines::length(bytes);
        let mut run = Self { truncated_bytes: bytes.len() - whole, ..Self::default() };
        let mut begin = 0;
        for (index, raw) in whole_lines::lines(&bytes[..whole]).enumerate() {
            let text = raw.strip_suffix(b"\n").unwrap_or(raw);
            let line = Line::parse_in_run(text, index == 0, run.end().is_some())
                .map_err(|fault| RunError { line: index + 1, fault })?;
            match line {
                Line::Header(header) => run.header = Some(*header),
                other => {
                    if let Line::End(end) = &other {
                        let found = blake3::hash(&bytes[..begin]).to_hex();
                        run.checksum_ok = Some(found.as_str() == end.blake3);
                    }
                    run.lines.push(other);
                }
            }
            begin += raw.len();
        }
        Ok(run)
    }

    /// The last line, if the run has one.
    pub fn end(&self) -> Option<&End> {
        match self.lines.last() {
            Some(Line::End(end)) => Some(end),
            _ => None,
        }
    }

    /// How the run ended; without an `end` line it was killed.
    pub fn status(&self) -> EndStatus {
        self.end().map_or(EndStatus::Killed, |end| end.status)
    }

    /// Whether the run has a sample, a histogram or a work item.
    pub fn is_measured(&self) -> bool {
        self.lines.iter().any(|line| {
            matches!(line, Line::Sample(_) | Line::Histogram(_) | Line::Work(_) | Line::Pass(_))
        })
    }

    /// The work items of a job, in order.
    pub fn works(&self) -> impl Iterator<Item = &WorkRecord> {
        self.lines.iter().filter_map(|line| match line {
            Line::Work(work) => Some(work.as_ref()),
            _ => None,
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

/// Formats a run file line by line and computes the checksum for its `end` line.
#[derive(Default)]
pub struct RunEncoder {
    hasher: blake3::Hasher,
}

impl RunEncoder {
    /// The text of a line, newline included; adds it to the checksum.
    pub fn line(&mut self, line: &Line) -> String {
        let mut text = line.to_json();
        text.push('\n');
        self.hasher.update(text.as_bytes());
        text
    }

    /// Adds text that was formatted elsewhere to the checksum.
    pub fn foreign(&mut self, text: &[u8]) {
        self.hasher.update(text);
    }

    /// The text of the `end` line, newline included.
    pub fn end(&self, at_ns: u64, status: EndStatus) -> String {
        let blake3 = self.hasher.finalize().to_hex().to_string();
        let mut text = Line::End(End { at_ns, status, blake3 }).to_json();
        text.push('\n');
        text
    }
}
