//! The formats of traces and their detection.

use std::str::FromStr;

use model::named;

use super::importer::{Item, Queue, Records, Take};
use super::{binary, csv, text};
use crate::{TraceError, tlt};

named! {
    /// A format of traces.
    pub enum Format {
        /// Thrashlab's own.
        Tlt = "tlt",
        /// Valgrind's lackey.
        Lackey = "lackey",
        /// Dinero's.
        Din = "din",
        /// ChampSim's, with 64 bytes an instruction.
        ChampSim = "champsim",
        /// ChampSim's for Cloudsuite, with 96 bytes an instruction; not detected by content.
        ChampSimCloudsuite = "champsim-cloudsuite",
        /// libCacheSim's oracleGeneral.
        OracleGeneral = "oracleGeneral",
        /// Comma-separated columns.
        Csv = "csv",
    }
}

const LOOKED_AT: usize = 64;
pub(crate) const LOOKED_AT_BYTES: u64 = 1 << 15;

impl Format {
    /// How records are read; `None` for the own format.
    pub(crate) fn records(self) -> Option<Records> {
        let (bytes, take): (Option<usize>, Take) = match self {
            Self::Tlt => return None,
            Self::Lackey => (None, Box::new(text::lackey)),
            Self::Din => (None, Box::new(text::din)),
            Self::ChampSim => (Some(64), Box::new(binary::champsim)),
            Self::ChampSimCloudsuite => (Some(96), Box::new(binary::champsim)),
            Self::OracleGeneral => (Some(24), Box::new(binary::oracle)),
            Self::Csv => {
                let mut csv = csv::Csv::default();
                (None, Box::new(move |line, number, queue| csv.read(line, number, queue)))
            }
        };
        Some(Records { bytes, take })
    }

    /// Detects the format by the first bytes, decompressed.
    pub(crate) fn detect(begin: &[u8]) -> Result<Self, TraceError> {
        let unknown = |reason: String| Err(TraceError::bad("byte 0", reason));
        if begin.is_empty() {
            return unknown("the file is empty; there is no trace in it".to_owned());
        }
        if begin.starts_with(tlt::MAGIC) {
            return Ok(Self::Tlt);
        }
        let is_text =
            begin.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace());
        let candidates: &[Self] = match is_text {
            true => &[Self::Lackey, Self::Din, Self::Csv],
            false => &[Self::ChampSim, Self::OracleGeneral],
        };
        let fit: Vec<Self> =
            candidates.iter().copied().filter(|format| format.fits(begin)).collect();
        let names = |formats: &[Self], between: &str| {
            formats.iter().map(|format| format.name()).collect::<Vec<_>>().join(between)
        };
        match fit.as_slice() {
            [one] => Ok(*one),
            [] => unknown(format!(
                "this is not a known format, or its beginning is corrupt; name it with \
                 --input-format: {}",
                names(Self::ALL, ", ")
            )),
            several => unknown(format!(
                "this could be {}; name the format with --input-format",
                names(several, " or ")
            )),
        }
    }

    /// Whether a file may be of this format: most lines, or all records, are valid.
    fn fits(self, begin: &[u8]) -> bool {
        let Some(mut records) = self.records() else { return false };
        let mut queue = Queue::new();
        let mut is_right = |number: usize, record: &[u8]| {
            queue.clear();
            let outcome = (records.take)(record, number as u64, &mut queue);
            let has_reference =
                queue.iter().any(|record| matches!(record.item, Item::Reference(_)));
            (has_reference || outcome.is_err()).then_some(has_reference)
        };
        if let Some(length) = records.bytes {
            let mut records = (1..).zip(begin.chunks_exact(length)).take(LOOKED_AT);
            return begin.len() >= length
                && records.all(|(number, record)| {
                    is_right(number, record) == Some(true) && self.is_likely(record)
                });
        }
        // Without an incomplete line.
        let whole = &begin[..memchr::memrchr(b'\n', begin).unwrap_or(begin.len())];
        let lines =
            whole.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let lines = lines.filter(|line| !line.trim_ascii().is_empty()).take(LOOKED_AT);
        let mut lines = (1..).zip(lines).peekable();
        let has_header = |(_, line): &(usize, &[u8])| csv::header(line).is_some();
        if self == Self::Csv && lines.peek().is_some_and(has_header) {
            return true;
        }
        let valid: Vec<bool> = lines.filter_map(|(number, line)| is_right(number, line)).collect();
        2 * valid.iter().filter(|is_right| **is_right).count() > valid.len()
    }

    /// Whether a valid record is more than a coincidence.
    fn is_likely(self, record: &[u8]) -> bool {
        match self {
            Self::OracleGeneral => {
                let next = binary::first_number(&record[16..]).cast_signed();
                next < 1 << 48 || next == i64::MAX
            }
            _ => binary::first_number(record) != 0,
        }
    }
}

impl FromStr for Format {
    type Err = String;

    /// Case-insensitive.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let is_it = |format: &&Self| format.name().eq_ignore_ascii_case(name);
        Self::ALL.iter().find(is_it).map_or_else(|| Self::named(name), |format| Ok(*format))
    }
}
