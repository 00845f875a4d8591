//! What the resp1 response benchmark prints, in either of its two formats, read and written.
//!
//! Outputs come through `script(1)`, mail and web archives, so columns may be misaligned and line
//! ends lost. A line is therefore recognized by its shape:
//!
//! - **title**: `Starting`, then any of `N CPU`, `M MB`, `P data`, `I sec`;
//! - **heading**: `Test low high median average` and two more names, which identify the format; the
//!   line of underlined group names above it is skipped;
//! - **row**: a test name (letters, digits and `-_.+/`) and mostly numbers: at least five, or four
//!   after a known name or an indent. If only numbers follow, one after a known name or three after
//!   an indent suffice, so that a cut row is refused, not lost;
//! - anything else that is not blank is an **extra** and kept.
//!
//! Without a heading the numbers determine the format: the raw ratio `average / average(noload)`
//! is the fifth number of the second format, the sixth of the first.

mod line;
mod of_matrix;
mod points;
mod ratio;
mod read;
mod write;

use model::resp1::{NOLOAD, Resp1Format, Resp1Row, Resp1Table};

pub(crate) use line::clean;
use line::{Row, Shape, Title};
pub use of_matrix::{resp1_table, verbose_lines};
pub use points::{Points, RowPoints, points_notes, recover_points};
pub use ratio::{RatioCheck, check_ratios};
pub(crate) use read::{looks_right, read};
pub use write::printed;

use crate::dataset::Refusal;

const UNKNOWN_FORMAT: &str = "no heading shows the format, and neither the 5th nor the 6th numbers \
    alone are average / average(noload): restore the line that begins with \"Test low high\"";

fn mixed_formats(reason: &str) -> String {
    format!("{reason}: both resp1 formats in one table")
}

#[derive(Default)]
struct Reader {
    title: Option<Title>,
    format: Option<Resp1Format>,
    rows: Vec<Row>,
    extras: Vec<String>,
}

/// Reads the output of one resp1 run; `-` in the last two columns means unknown. Fails, with the
/// line, without rows or a `noload` row, or when a row is malformed.
pub fn parse(text: &str) -> Result<Resp1Table, Refusal> {
    let mut reader = Reader::default();
    let mut lines = 0;
    for (index, raw) in text.split('\n').enumerate() {
        lines = index + 1;
        reader.push(lines, &line::clean(raw)).map_err(|reason| Refusal::line(lines, reason))?;
    }
    reader.finish(lines)
}

/// Whether a line is a title or a heading of resp1, whatever the other lines are.
pub(crate) fn has_heading(text: &str) -> bool {
    text.lines().any(|raw| {
        let shape = line::shape(&line::clean(raw));
        matches!(
            shape,
            Shape::Title(_) | Shape::Groups | Shape::Heading(_) | Shape::UnknownHeading(_)
        )
    })
}

impl Reader {
    fn push(&mut self, number: usize, text: &str) -> Result<(), String> {
        match line::shape(text) {
            Shape::Blank | Shape::Groups => {}
            Shape::Heading(format) => match self.format {
                Some(known) if known != format => {
                    return Err(mixed_formats("the heading is of the other format"));
                }
                _ => self.format = Some(format),
            },
            Shape::UnknownHeading(columns) => {
                return Err(format!(
                    "the heading has the columns {columns:?} after the delays; known are \
                     \"S.D. ratio\" and \"raw S.D.\""
                ));
            }
            Shape::Title(title) if self.title.is_none() => self.title = Some(title),
            Shape::Row => {
                let row = Row::parse(number, text)?;
                if let Some(first) = self.rows.iter().find(|first| first.test == row.test) {
                    return Err(format!(
                        "a second row {:?} (the first is line {}): two outputs in one file? \
                         Import them separately",
                        row.test, first.line
                    ));
                }
                self.rows.push(row);
            }
            Shape::Title(_) | Shape::Extra => self.extras.push(text.trim().to_owned()),
        }
        Ok(())
    }

    fn finish(self, lines: usize) -> Result<Resp1Table, Refusal> {
        let Some(first) = self.rows.first() else {
            return Err(Refusal::whole(format!(
                "no resp1 rows in {lines} lines: a row is a test name and six numbers"
            )));
        };
        let noload = self.rows.iter().find(|row| row.test == NOLOAD);
        let noload_ms = noload.map(Row::average_ms).filter(|average_ms| *average_ms > 0.0);
        let noload_ms = noload_ms.ok_or_else(|| {
            let reason = "no row \"noload\" with an average above 0, which all ratios refer to";
            Refusal::line(noload.unwrap_or(first).line, reason)
        })?;
        let format = match self.format {
            Some(format) => format,
            None => self
                .rows
                .iter()
                .find_map(|row| raw_format(row, noload_ms))
                .ok_or_else(|| Refusal::line(first.line, UNKNOWN_FORMAT))?,
        };
        let finish = |row: &Row| match (raw_format(row, noload_ms), format) {
            (Some(Resp1Format::Second), Resp1Format::First) => {
                Err(mixed_formats("its 5th number, not its 6th, is the raw ratio"))
            }
            (Some(Resp1Format::First), Resp1Format::Second) => {
                Err(mixed_formats("its 6th number, not its 5th, is the raw ratio"))
            }
            _ => row.finish(format),
        };
        let finish = |row: &Row| finish(row).map_err(|reason| Refusal::line(row.line, reason));
        let rows = self.rows.iter().map(finish).collect::<Result<Vec<_>, _>>()?;
        let Title { cpus, memory_mb, minimum_points, interval_s } = self.title.unwrap_or_default();
        let extras = self.extras;
        Ok(Resp1Table { cpus, memory_mb, minimum_points, interval_s, format, rows, extras })
    }
}

/// The format of a row in which exactly one number is `average / noload_ms`.
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

impl Row {
    fn finish(&self, format: Resp1Format) -> Result<Resp1Row, String> {
        let [low_ms, high_ms, median_ms, average_ms] = self.delays_ms;
        let (raw, sd_s, ratio_sd) = match format {
            Resp1Format::First => (self.last[1], self.last[0], None),
            Resp1Format::Second => (self.last[0], None, self.last[1]),
        };
        let ratio_raw = raw.ok_or_else(|| line::not_a_number("the raw ratio", "-"))?;
        let test = self.test.clone();
        Ok(Resp1Row { test, low_ms, high_ms, median_ms, average_ms, sd_s, ratio_raw, ratio_sd })
    }
}
