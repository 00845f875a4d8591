//! Observations from whatever holds them: run files, published figures, results of other
//! programs.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use analysis::{Dataset, from_runs};
use model::Run;

use crate::import::{self, Format, Options, Refusal};
use crate::reference::{self, Kind, ReferenceError};
use crate::results::{ResultsError, SUFFIX, read_runs};

/// What names a published result.
const REFERENCE: &str = "reference:";
/// What every header of a run file begins with.
const RUN_LINE: &str = "{\"kind\":\"header\"";

/// Observations that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ObservationsError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// Runs that cannot be read.
    #[error(transparent)]
    Runs(#[from] ResultsError),
    /// No published result of this name.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A text that was refused.
    #[error("{name}: {refusal}")]
    Refused {
        /// Where it comes from.
        name: String,
        /// Where in it, and why.
        refusal: Refusal,
    },
}

/// The observations that `what` names: `reference:NAME`, a folder of run files, a run file, or a
/// result of another program, whose format is told by its content; `-` is standard input.
///
/// # Errors
/// When there is nothing of this name, or it is refused, with the place and the reason.
pub fn observations(what: &str) -> Result<Dataset, ObservationsError> {
    observations_as(what, None, &Options::default())
}

/// [`observations`] of a format that is known, or with what a reader cannot know.
///
/// # Errors
/// As for [`observations`].
pub fn observations_as(
    what: &str,
    format: Option<Format>,
    options: &Options,
) -> Result<Dataset, ObservationsError> {
    if let Some(name) = what.strip_prefix(REFERENCE) {
        let found = reference::find(name)?;
        let format = match found.kind {
            Kind::Resp1 => Format::Resp1,
            Kind::Csv => Format::Csv,
        };
        return text(what, found.text, Some(format), options);
    }
    let path = Path::new(what);
    if path.is_dir() {
        return Ok(folder(path)?);
    }
    let content = read(path)?;
    if what.ends_with(SUFFIX) || content.starts_with(RUN_LINE) {
        let run = Run::parse(content.as_bytes())
            .map_err(|source| ResultsError::Run { path: path.to_owned(), source })?;
        return Ok(from_runs(what, &[(what.to_owned(), run)]));
    }
    text(what, &content, format, options)
}

/// The runs of a folder, each named by its path in it.
fn folder(path: &Path) -> Result<Dataset, ResultsError> {
    let runs: Vec<(String, Run)> = read_runs(path)?
        .into_iter()
        .map(|(file, run)| {
            let name = file.strip_prefix(path).unwrap_or(&file).to_string_lossy().into_owned();
            (name.trim_end_matches(SUFFIX).to_owned(), run)
        })
        .collect();
    Ok(from_runs(&path.to_string_lossy(), &runs))
}

fn text(
    name: &str,
    content: &str,
    format: Option<Format>,
    options: &Options,
) -> Result<Dataset, ObservationsError> {
    import::dataset(name, content, format, options)
        .map_err(|refusal| ObservationsError::Refused { name: name.to_owned(), refusal })
}

fn read(path: &Path) -> Result<String, ObservationsError> {
    let failed = |source| ObservationsError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().read_to_end(&mut bytes).map_err(failed)?;
    } else {
        bytes = fs::read(path).map_err(failed)?;
    }
    String::from_utf8(bytes)
        .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))
}
