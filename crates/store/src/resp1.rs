//! Reads what the resp1 response benchmark printed, in either of its two formats.
//!
//! Outputs reach us through `script(1)`, mail and web archives, so columns may have lost their
//! alignment, base rows the blank that they began with, and lines their endings. A line is
//! therefore known by its shape, not by its position:
//!
//! - **title**: `Starting`, then any of `N CPU`, `M MB`, `P data`, `I sec`;
//! - **heading**: `Test low high median average` and the names of the last two columns, which tell
//!   the format; the line of underlined group names above it is skipped;
//! - **row**: a test name and numbers. A name is letters, digits and `-_.+/` and is no number.
//!   Most of the words behind it must be numbers, and at least five; four behind a known name or
//!   in an indented line. Nothing but numbers makes a row earlier: one behind a known name, three in
//!   an indented line, so that a row which was cut off is refused and not lost;
//! - anything else that is not blank is an **extra** and kept.
//!
//! Without a heading the format is taken from the numbers: the raw ratio is
//! `average / average(noload)` and is the fifth number of the second format, the sixth of the first.

mod line;
mod points;
mod ratio;

use model::resp1::{NOLOAD, Resp1Format, Resp1Row, Resp1Table};

use line::{Row, Shape};
pub use points::{Points, RowPoints, points_notes, recover_points};
pub use ratio::{RatioCheck, check_ratios};

/// Why a text is not a resp1 result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ImportError {
    /// A row has another number of columns than both formats.
    #[error(
        "line {line}: row {test:?} has {found} numbers; both formats have 6 (low, high, median, \
         average and two more)"
    )]
    Columns {
        /// Number of the line, from 1.
        line: usize,
        /// The row's test.
        test: String,
        /// How many numbers it has.
        found: usize,
    },
    /// A cell of a row is not a number.
    #[error("line {line}: {column} is {text:?}, which is not a number")]
    NotANumber {
        /// Number of the line, from 1.
        line: usize,
        /// Which cell.
        column: &'static str,
        /// What stands there.
        text: String,
    },
    /// A cell of a row is negative, infinite or NaN.
    #[error("line {line}: {column} is {text}; delays and ratios are finite and not negative")]
    OutOfRange {
        /// Number of the line, from 1.
        line: usize,
        /// Which cell.
        column: &'static str,
        /// What stands there.
        text: String,
    },
    /// The median or the average lies outside low and high.
    #[error(
        "line {line}: the {column} {value_ms:.3} ms lies outside low {low_ms:.3} and high \
         {high_ms:.3} ms"
    )]
    OutsideLowHigh {
        /// Number of the line, from 1.
        line: usize,
        /// `median` or `average`.
        column: &'static str,
        /// Its value, in ms.
        value_ms: f64,
        /// The row's low, in ms.
        low_ms: f64,
        /// The row's high, in ms.
        high_ms: f64,
    },
    /// Two rows have the same test.
    #[error(
        "line {line}: a second row {test:?} (the first is line {first}): two outputs in one text? \
         Import them one by one"
    )]
    DuplicateTest {
        /// Number of the line, from 1.
        line: usize,
        /// The test.
        test: String,
        /// Number of the first row's line, from 1.
        first: usize,
    },
    /// A heading or row of one format in a table of the other.
    #[error("line {line}: {reason}: both resp1 formats in one table")]
    MixedFormats {
        /// Number of the line, from 1.
        line: usize,
        /// What shows it.
        reason: &'static str,
    },
    /// No heading, and the numbers fit both formats or none.
    #[error(
        "line {line}: no heading tells the format, and neither the 5th nor the 6th numbers alone \
         are average / average(noload): restore the line that begins with \"Test low high\""
    )]
    UnknownFormat {
        /// Number of the first row's line, from 1.
        line: usize,
    },
    /// No row of the test that all ratios are relative to, or its average is 0.
    #[error("line {line}: no row \"noload\" with an average above 0, which all ratios refer to")]
    NoNoload {
        /// Number of the first row's line (or of the noload row's line), from 1.
        line: usize,
    },
    /// No rows at all.
    #[error("no resp1 rows in {lines} lines: a row is a test name and six numbers")]
    NoRows {
        /// How many lines the text has.
        lines: usize,
    },
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    cpus: Option<u32>,
    memory_mb: Option<u64>,
    minimum_points: Option<u32>,
    interval_s: Option<f64>,
    titled: bool,
    format: Option<Resp1Format>,
    rows: Vec<Row>,
    extras: Vec<String>,
}

/// Reads the output of one resp1 run, of either format.
///
/// A `-` in the last two columns stands for a value that is not known. Terminal escape sequences
/// and control characters are dropped.
///
/// # Errors
/// When there is no row, no `noload` row, or a row that is not one of resp1; always with the
/// number of the line and the reason. See [`ImportError`].
pub fn parse(text: &str) -> Result<Resp1Table, ImportError> {
    let mut reader = Reader::default();
    let mut lines = 0;
    for (index, raw) in text.split('\n').enumerate() {
        lines = index + 1;
        reader.push(lines, &line::clean(raw))?;
    }
    reader.finish(lines)
}

impl Reader {
    /// Takes one cleaned line, whose number is `number`.
    fn push(&mut self, number: usize, text: &str) -> Result<(), ImportError> {
        match line::shape(text) {
            Shape::Blank | Shape::Groups => {}
            Shape::Heading(format) => match self.format {
                Some(known) if known != format => {
                    let reason = "the heading is of the other format";
                    return Err(ImportError::MixedFormats { line: number, reason });
                }
                _ => self.format = Some(format),
            },
            Shape::Title(title) if !self.titled => {
                self.titled = true;
                self.cpus = title.cpus;
                self.memory_mb = title.memory_mb;
                self.minimum_points = title.minimum_points;
                self.interval_s = title.interval_s;
            }
            Shape::Row => {
                let row = Row::parse(number, text)?;
                if let Some(first) = self.rows.iter().find(|first| first.test == row.test) {
                    let first = first.line;
                    return Err(ImportError::DuplicateTest { line: number, test: row.test, first });
                }
                self.rows.push(row);
            }
            Shape::Title(_) | Shape::Extra => self.extras.push(text.trim().to_owned()),
        }
        Ok(())
    }

    /// The table, once all `lines` lines are read.
    fn finish(self, lines: usize) -> Result<Resp1Table, ImportError> {
        let Some(first) = self.rows.first() else {
            return Err(ImportError::NoRows { lines });
        };
        let noload = self.rows.iter().find(|row| row.test == NOLOAD);
        let noload = noload.ok_or(ImportError::NoNoload { line: first.line })?;
        if noload.average_ms() <= 0.0 {
            return Err(ImportError::NoNoload { line: noload.line });
        }
        let noload_ms = noload.average_ms();
        let format = match self.format {
            Some(format) => format,
            None => guess_format(&self.rows, noload_ms)
                .ok_or(ImportError::UnknownFormat { line: first.line })?,
        };
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            if raw_format(row, noload_ms).is_some_and(|found| found != format) {
                let reason = match format {
                    Resp1Format::First => "its 5th number, not its 6th, is the raw ratio",
                    Resp1Format::Second => "its 6th number, not its 5th, is the raw ratio",
                };
                return Err(ImportError::MixedFormats { line: row.line, reason });
            }
            rows.push(row.finish(format)?);
        }
        Ok(Resp1Table {
            cpus: self.cpus,
            memory_mb: self.memory_mb,
            minimum_points: self.minimum_points,
            interval_s: self.interval_s,
            format,
            rows,
            extras: self.extras,
        })
    }
}

/// The format that a row must have because only one of its last two numbers is
/// `average / noload_ms`; `None` if both or none are.
fn raw_format(row: &Row, noload_ms: f64) -> Option<Resp1Format> {
    let fits = |ratio: Option<f64>| {
        ratio.is_some_and(|ratio| ratio::agrees(row.average_ms(), noload_ms, ratio))
    };
    match (fits(row.last[0]), fits(row.last[1])) {
        (true, false) => Some(Resp1Format::Second),
        (false, true) => Some(Resp1Format::First),
        _ => None,
    }
}

/// The format of a table without heading: that of its first row that can have only one.
fn guess_format(rows: &[Row], noload_ms: f64) -> Option<Resp1Format> {
    rows.iter().find_map(|row| raw_format(row, noload_ms))
}

impl Row {
    /// The row as one of `format`.
    fn finish(&self, format: Resp1Format) -> Result<Resp1Row, ImportError> {
        let [low_ms, high_ms, median_ms, average_ms] = self.delays_ms;
        let (raw, sd_s, ratio_sd) = match format {
            Resp1Format::First => (self.last[1], self.last[0], None),
            Resp1Format::Second => (self.last[0], None, self.last[1]),
        };
        let ratio_raw = raw.ok_or_else(|| ImportError::NotANumber {
            line: self.line,
            column: "the raw ratio",
            text: "-".to_owned(),
        })?;
        let test = self.test.clone();
        Ok(Resp1Row { test, low_ms, high_ms, median_ms, average_ms, sd_s, ratio_raw, ratio_sd })
    }
}
