//! Opens traces of any known format.

mod by_line;
mod champsim;
mod csv;
mod din;
mod format;
mod importer;
mod lackey;
mod number;
mod oracle;
mod supply;

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

pub use format::Format;
pub(crate) use oracle::{REQUEST_BYTES, Request};

use crate::{Columns, Reader, Source, TraceError};
use by_line::ByLine;
use importer::{Importer, Records};
use supply::Supply;

/// Opens a trace, whose format is told by its content; `-` is standard input. It may be compressed
/// as a whole by gzip, xz or zstd.
///
/// # Errors
/// When it cannot be opened or is of no known format.
pub fn open(path: &Path, columns: Columns) -> Result<Box<dyn Source + Send>, TraceError> {
    Ok(open_as(path, columns, None)?.1)
}

/// Opens a trace of a given format, or of the one that its content tells, and says which that is.
///
/// # Errors
/// When it cannot be opened, or no format was given and it is of none that is known.
pub fn open_as(
    path: &Path,
    columns: Columns,
    format: Option<Format>,
) -> Result<(Format, Box<dyn Source + Send>), TraceError> {
    if path.as_os_str() == "-" {
        return open_stream(Box::new(std::io::stdin()), columns, format);
    }
    let mut file = File::open(path)?;
    // In an own file that is not compressed as a whole one can seek, and pass over columns.
    if file.metadata()?.is_file() {
        let mut begin = Vec::new();
        (&mut file).take(crate::tlt::MAGIC.len() as u64).read_to_end(&mut begin)?;
        file.rewind()?;
        if begin == crate::tlt::MAGIC && format.is_none_or(|format| format == Format::Tlt) {
            return Ok((Format::Tlt, Box::new(Reader::from_file(file, columns)?)));
        }
    }
    open_stream(Box::new(file), columns, format)
}

/// Reads a trace from any stream; of this format, or of the one that its content tells.
///
/// # Errors
/// When it cannot be read, or no format was given and it is of none that is known.
pub fn open_stream(
    stream: Box<dyn Read + Send>,
    columns: Columns,
    format: Option<Format>,
) -> Result<(Format, Box<dyn Source + Send>), TraceError> {
    let mut supply = Supply::new(stream)?;
    let begin = supply.peek(format::LOOKED_AT_BYTES)?;
    let format = format.map_or_else(|| Format::of(begin), Ok)?;
    Ok((format, source(format, supply, columns)?))
}

fn source(
    format: Format,
    supply: Supply,
    columns: Columns,
) -> Result<Box<dyn Source + Send>, TraceError> {
    fn importer<R: Records + Send + 'static>(
        records: R,
        supply: Supply,
        columns: Columns,
    ) -> Box<dyn Source + Send> {
        Box::new(Importer::new(records, supply, columns))
    }
    Ok(match format {
        Format::Tlt => Box::new(Reader::from_stream(Box::new(supply), columns)?),
        Format::Lackey => importer(ByLine::<lackey::Lackey>::default(), supply, columns),
        Format::Din => importer(ByLine::<din::Din>::default(), supply, columns),
        Format::ChampSim => importer(champsim::ChampSim::new(false), supply, columns),
        Format::ChampSimCloudsuite => importer(champsim::ChampSim::new(true), supply, columns),
        Format::OracleGeneral => importer(oracle::OracleGeneral::default(), supply, columns),
        Format::Csv => importer(ByLine::<csv::Csv>::default(), supply, columns),
    })
}
