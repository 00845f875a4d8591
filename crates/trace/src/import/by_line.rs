//! Formats whose records are lines.

use super::importer::{Record, Records, Tally};
use super::supply::{Line, Supply};
use crate::{Place, TraceError};

/// What is particular to such a format.
pub(crate) trait Lines {
    /// The record of a line; `None` if it is a line without one.
    fn record(&mut self, line: &[u8]) -> Result<Option<Record>, &'static str>;

    /// Whether a line need not have a record.
    fn is_noise(line: &[u8]) -> bool {
        line.trim_ascii().is_empty()
    }
}

/// The records of a format, line by line.
#[derive(Default)]
pub(crate) struct ByLine<F> {
    format: F,
    line: Vec<u8>,
    number: u64,
}

impl<F: Lines> Records for ByLine<F> {
    fn next(
        &mut self,
        supply: &mut Supply,
        tally: &mut Tally,
    ) -> Result<Option<Record>, TraceError> {
        while let Some(kind) = supply.line(&mut self.line)? {
            self.number += 1;
            let record = match kind {
                Line::Whole => self.format.record(&self.line),
                Line::TooLong => Err("a line of more than 4096 bytes"),
            };
            match record {
                Ok(Some(record)) => {
                    tally.good();
                    return Ok(Some(record));
                }
                Ok(None) => {}
                Err(_) if F::is_noise(&self.line) => {}
                Err(reason) => tally.bad(Place::Line(self.number), reason)?,
            }
        }
        Ok(None)
    }
}
