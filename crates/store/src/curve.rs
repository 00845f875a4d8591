//! Curves from whatever holds them: the folder of a sweep or of another experiment with a numeric
//! factor, published tables, CSV.

mod folder;
mod table;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use analysis::sweep::Curve;

pub use folder::curves_of_manifest;

use crate::import::Refusal;
use crate::manifest::ManifestError;
use crate::reference::{self, Kind, ReferenceError};
use crate::results::ResultsError;

/// What names a published result.
const REFERENCE: &str = "reference:";

/// Curves that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// What their rows are levels of, if there are several.
    pub by: Option<String>,
    /// The curves, each with its level of `by`, which is empty if there is one alone.
    pub rows: Vec<(String, Curve)>,
    /// Where they were measured: facts that all measurements have in common.
    pub place: String,
    /// The plan of the sweep (TOML), if a folder has it.
    pub plan: Option<String>,
}

/// What a reader cannot know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurveOptions {
    /// The factor or column that was swept.
    pub over: Option<String>,
    /// What stands for the cost: of runs a response, of a table a column.
    pub cost: Option<String>,
    /// The column that says how much work a row is: its cost is for one unit of that.
    pub work: Option<String>,
}

/// Curves that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CurveError {
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
    /// An experiment whose manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// No published result of this name.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A folder that is no sweep.
    #[error("{path}: {why}")]
    NoSweep {
        /// The folder.
        path: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// A table that was refused.
    #[error("{name}: {refusal}")]
    Refused {
        /// Where it comes from.
        name: String,
        /// Where in it, and why.
        refusal: Refusal,
    },
}

/// The curves that `what` names: `reference:NAME`, a folder with a manifest, or a CSV; `-` is
/// standard input.
///
/// # Errors
/// When there is nothing of this name, or it is refused, with the place and the reason.
pub fn curves(what: &str, options: &CurveOptions) -> Result<Curves, CurveError> {
    if let Some(name) = what.strip_prefix(REFERENCE) {
        let found = reference::find(name)?;
        if found.kind != Kind::Csv {
            let refused = ReferenceError::Kind { name: found.name, expected: "a CSV table" };
            return Err(refused.into());
        }
        let mut made = table(what, found.text, options)?;
        made.place = format!("{}\nFrom: {}", found.title, found.source);
        return Ok(made);
    }
    let path = Path::new(what);
    if path.is_dir() {
        return folder::curves(path, options);
    }
    table(what, &read(path)?, options)
}

fn table(name: &str, text: &str, options: &CurveOptions) -> Result<Curves, CurveError> {
    table::curves(name, text, options)
        .map_err(|refusal| CurveError::Refused { name: name.to_owned(), refusal })
}

fn read(path: &Path) -> Result<String, CurveError> {
    let failed = |source| CurveError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().read_to_end(&mut bytes).map_err(failed)?;
    } else {
        bytes = fs::read(path).map_err(failed)?;
    }
    String::from_utf8(bytes)
        .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))
}
