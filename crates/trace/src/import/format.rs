//! The formats of traces, and how a file's is told by its beginning.

use std::str::FromStr;

use model::named;

use super::{champsim, csv, din, lackey, oracle};
use crate::{Place, TraceError};

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
        /// ChampSim's for Cloudsuite, with 96 bytes an instruction; not told by content.
        ChampSimCloudsuite = "champsim-cloudsuite",
        /// libCacheSim's oracleGeneral.
        OracleGeneral = "oracleGeneral",
        /// Comma-separated columns.
        Csv = "csv",
    }
}

/// How many lines or records are looked at.
const LOOKED_AT: usize = 64;
/// How many bytes are.
pub(crate) const LOOKED_AT_BYTES: usize = 1 << 15;

impl Format {
    /// The format of a file that begins with these bytes, decompressed.
    ///
    /// # Errors
    /// When it is none of them, or could be several.
    pub fn of(begin: &[u8]) -> Result<Self, TraceError> {
        let unknown = |reason: String| Err(TraceError::bad(&Place::Byte(0), reason));
        if begin.is_empty() {
            return unknown("the file is empty; there is no trace in it".to_owned());
        }
        if begin.starts_with(crate::tlt::MAGIC) {
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
        match fit.as_slice() {
            [one] => Ok(*one),
            [] => unknown(format!(
                "this is none of the known formats, or its beginning is broken; name it with \
                 --from: {}",
                names(Self::ALL, ", ")
            )),
            several => unknown(format!(
                "this could be {}; name the format with --from",
                names(several, " or ")
            )),
        }
    }

    /// Whether a file that begins so can be of this format.
    fn fits(self, begin: &[u8]) -> bool {
        match self {
            Self::Tlt => begin.starts_with(crate::tlt::MAGIC),
            Self::Lackey => most(lines(begin).filter(|line| !lackey::is_noise(line)), |line| {
                lackey::parse(line).is_some()
            }),
            Self::Din => most(lines(begin), |line| din::parse(line).is_some()),
            Self::Csv => {
                lines(begin).next().is_some_and(|line| csv::header(line).is_some())
                    || most(lines(begin), |line| {
                        let mut fields = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                        let mut next = || fields.next().unwrap_or_default();
                        csv::reference(next(), next(), next()).is_ok()
                    })
            }
            Self::ChampSim => all(begin, champsim::INSTRUCTION_BYTES, |_, bytes| {
                champsim::is_plausible(bytes) && champsim::number(bytes) != 0
            }),
            Self::ChampSimCloudsuite => all(begin, champsim::CLOUDSUITE_BYTES, |_, bytes| {
                champsim::is_plausible(bytes) && champsim::number(bytes) != 0
            }),
            Self::OracleGeneral => all(begin, oracle::REQUEST_BYTES, |place, bytes| {
                bytes.first_chunk().map(oracle::Request::from_bytes).is_some_and(|request| {
                    request.is_plausible(place as u64 + 1) && request.next < 1 << 48
                        || request.next == i64::MAX
                })
            }),
        }
    }
}

/// The first lines, without one that may go on.
fn lines(begin: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match memchr::memrchr(b'\n', begin) {
        Some(end) => &begin[..end],
        None => begin,
    };
    whole
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.trim_ascii().is_empty())
        .take(LOOKED_AT)
}

/// Whether there are lines, and most of them are right.
fn most<'a>(lines: impl Iterator<Item = &'a [u8]>, is_right: impl Fn(&[u8]) -> bool) -> bool {
    let (mut right, mut all) = (0, 0);
    for line in lines {
        all += 1;
        right += usize::from(is_right(line));
    }
    2 * right > all
}

/// Whether there are records of this length, and all are right.
fn all(begin: &[u8], length: usize, is_right: impl Fn(usize, &[u8]) -> bool) -> bool {
    let mut records = begin.chunks_exact(length).take(LOOKED_AT).enumerate();
    begin.len() >= length && records.all(|(place, record)| is_right(place, record))
}

fn names(formats: &[Format], between: &str) -> String {
    formats.iter().map(|format| format.name()).collect::<Vec<_>>().join(between)
}

impl FromStr for Format {
    type Err = String;

    /// A format by its name, in capital letters or small ones.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let is_it = |format: &&Self| format.name().eq_ignore_ascii_case(name);
        Self::ALL.iter().find(is_it).map_or_else(|| Self::named(name), |format| Ok(*format))
    }
}
