//! Opens traces of any known format.

mod binary;
mod csv;
mod decompressed;
mod format;
mod importer;
mod text;

use std::fs::File;
use std::io::{Cursor, Read, Seek, stdin};
use std::path::Path;

pub use format::Format;

use crate::{Granularity, Reader, Source, TraceError, tlt};
use decompressed::Decompressed;
use importer::Importer;

/// Opens a trace (`-`: standard input), perhaps compressed by gzip, xz or zstd. Fails when
/// it cannot be opened or has no known format.
pub fn open(path: &Path, columns: Granularity) -> Result<Box<dyn Source + Send>, TraceError> {
    Ok(open_as(path, columns, None)?.1)
}

/// Opens a trace of a given or detected format, which is returned. Fails when it cannot
/// be opened, or no format was given and none is detected.
pub fn open_as(
    path: &Path,
    columns: Granularity,
    format: Option<Format>,
) -> Result<(Format, Box<dyn Source + Send>), TraceError> {
    if path.as_os_str() == "-" {
        return open_stream(Box::new(stdin()), columns, format);
    }
    let mut file = File::open(path)?;
    // An uncompressed own file can be seeked.
    if file.metadata()?.is_file() {
        let mut begin = Vec::new();
        (&mut file).take(tlt::MAGIC.len() as u64).read_to_end(&mut begin)?;
        file.rewind()?;
        if begin == tlt::MAGIC && format.is_none_or(|format| format == Format::Tlt) {
            return Ok((Format::Tlt, Box::new(Reader::from_file(file, columns)?)));
        }
    }
    open_stream(Box::new(file), columns, format)
}

/// Reads a trace of a given or detected format from a stream. Fails when it cannot be read,
/// or no format was given and none is detected.
pub fn open_stream(
    stream: Box<dyn Read + Send>,
    columns: Granularity,
    format: Option<Format>,
) -> Result<(Format, Box<dyn Source + Send>), TraceError> {
    let mut stream = Decompressed::new(stream)?;
    let mut begin = Vec::new();
    if format.is_none() {
        (&mut stream).take(format::LOOKED_AT_BYTES).read_to_end(&mut begin)?;
    }
    let format = format.map_or_else(|| Format::detect(&begin), Ok)?;
    let stream = Cursor::new(begin).chain(stream);
    Ok(match format.records() {
        Some(records) => (format, Box::new(Importer::new(records, stream, columns))),
        None => (format, Box::new(Reader::from_stream(Box::new(stream), columns)?)),
    })
}
