//! What a reader notices besides references.

use serde::Serialize;

use crate::{Header, TraceError};

/// Bad records kept with place and reason.
const KEPT: usize = 8;
/// Fewer bad records are never too many.
const TOLERATED: u64 = 100;
/// A larger share of bad records means another format.
const ONE_IN: u64 = 10;

/// What a reader has noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Its header; only in thrashlab's own format.
    pub header: Option<Header>,
    /// Records that could not be understood and were left out.
    pub bad: BadRecords,
    /// Where the file ends too early; the trace has everything before that.
    pub cut_off: Option<String>,
    /// What the columns take in the file; only thrashlab's own.
    pub packed: Option<PackedBytes>,
}

impl Notes {
    /// What the trace lacks, in sentences.
    pub fn problems(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some((place, reason)) = self.bad.first.first() {
            let count = self.bad.count;
            sentences
                .push(format!("{count} bad records were skipped, the first at {place}: {reason}"));
        }
        if let Some(place) = &self.cut_off {
            sentences
                .push(format!("the trace is truncated at {place}; everything before that counts"));
        }
        sentences
    }
}

/// How many bytes the parts of a trace file take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PackedBytes {
    /// Columns of pages.
    pub pages: u64,
    /// Columns of references.
    pub references: u64,
    /// Columns of events.
    pub events: u64,
    /// All else: heads of blocks.
    pub heads: u64,
}

/// Records that could not be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadRecords {
    /// How many.
    pub count: u64,
    /// The first of them, each with its place and the reason.
    pub first: Vec<(String, &'static str)>,
}

impl BadRecords {
    /// Counts a bad record of `records` so far. Fails if there are too many.
    pub(crate) fn add(
        &mut self,
        place: String,
        reason: &'static str,
        records: u64,
    ) -> Result<(), TraceError> {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push((place, reason));
        }
        if self.count < TOLERATED || self.count.saturating_mul(ONE_IN) < records {
            return Ok(());
        }
        let (count, (place, reason)) = (self.count, &self.first[0]);
        let most = format!("{count} of {records} records are bad");
        let next = "so this is probably another format: name it with --input-format";
        Err(TraceError::bad(place, format!("{reason}; {most}, {next}")))
    }
}
