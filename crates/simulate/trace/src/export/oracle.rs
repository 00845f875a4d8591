//! libCacheSim's oracleGeneral, of pages.
//!
//! A request's next request is filled in later: in memory if that is recent, else in the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use super::{Omitted, Sink};
use crate::{Block, PAGE_SHIFT, TraceError};

/// Time, object, size, the object's next request.
const REQUEST_BYTES: usize = 24;
const KEPT: u64 = 1 << 20;
/// The time of a request, which has none, in requests per second.
const REQUESTS_PER_SECOND: u64 = 1_000_000;

pub(crate) struct OracleGeneral {
    file: File,
    kept: Vec<u8>,
    written: u64,
    count: u64,
    /// Each page's last request, from 0.
    last: BTreeMap<u64, u64>,
    omitted: Omitted,
}

impl OracleGeneral {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            kept: Vec::new(),
            written: 0,
            count: 0,
            last: BTreeMap::new(),
            omitted: Omitted::default(),
        }
    }

    fn push(&mut self, object: u64, next: i64) {
        let time_s = (self.count / REQUESTS_PER_SECOND) as u32;
        self.kept.extend(time_s.to_le_bytes());
        self.kept.extend(object.to_le_bytes());
        self.kept.extend((1_u32 << PAGE_SHIFT).to_le_bytes());
        self.kept.extend(next.to_le_bytes());
        self.count += 1;
    }

    /// Fills in an object's next request; both count from 0.
    fn connect(&mut self, request: u64, next: u64) -> Result<(), TraceError> {
        // The file counts from 1.
        let number = (next + 1).to_le_bytes();
        let field = REQUEST_BYTES as u64 - number.len() as u64;
        match request.checked_sub(self.written) {
            Some(behind) => {
                let at = (behind * REQUEST_BYTES as u64 + field) as usize;
                self.kept[at..at + number.len()].copy_from_slice(&number);
            }
            None => {
                self.file.seek(SeekFrom::Start(request * REQUEST_BYTES as u64 + field))?;
                self.file.write_all(&number)?;
            }
        }
        Ok(())
    }

    /// Writes all but the newest `left` requests.
    fn flush(&mut self, left: u64) -> Result<(), TraceError> {
        let length = ((self.count - self.written).saturating_sub(left)) as usize * REQUEST_BYTES;
        self.file.seek(SeekFrom::Start(self.written * REQUEST_BYTES as u64))?;
        self.file.write_all(&self.kept[..length])?;
        self.kept.drain(..length);
        self.written = self.count.saturating_sub(left).max(self.written);
        Ok(())
    }
}

impl Sink for OracleGeneral {
    fn add(&mut self, block: &Block) -> Result<(), TraceError> {
        self.omitted.count(block, false);
        for run in &block.runs {
            if let Some(before) = self.last.insert(run.page, self.count + u64::from(run.count) - 1)
            {
                self.connect(before, self.count)?;
            }
            for _ in 1..run.count {
                let next = (self.count + 2).cast_signed();
                self.push(run.page, next);
            }
            self.push(run.page, -1);
            if self.count - self.written > KEPT {
                self.flush(KEPT / 2)?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Omitted, TraceError> {
        self.flush(0)?;
        Ok(self.omitted)
    }
}
