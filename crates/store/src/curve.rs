//! Curves from sweeps, experiments with a numeric factor, published tables and CSV files.

mod folder;
mod table;

use std::path::Path;

use analysis::sweep::Curve;

pub use folder::curves_of_manifest;

use crate::error::StoreError;
use crate::observations::{REFERENCE, read};
use crate::reference::{self, Kind};

/// Curves that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// The parameter of their rows, if there are several.
    pub by: Option<String>,
    /// Each curve with its level of `by`, empty if there is only one.
    pub rows: Vec<(String, Curve)>,
    /// Where they were measured: facts that all measurements share.
    pub place: String,
    /// The plan of the sweep (TOML), if a folder has it.
    pub plan: Option<String>,
}

/// Choices that a reader cannot infer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurveOptions {
    /// The factor or column that was swept.
    pub over: Option<String>,
    /// The cost: a response of runs, or a column of a table.
    pub cost: Option<String>,
    /// The column with the amount of work of a row; the cost is per unit of it.
    pub work: Option<String>,
}

/// The curves of `reference:NAME`, a folder with a manifest, or a CSV (`-` is standard input).
/// Fails with the place and the reason.
pub fn curves(what: &str, options: &CurveOptions) -> Result<Curves, StoreError> {
    if let Some(name) = what.strip_prefix(REFERENCE) {
        let found = reference::find(name)?;
        found.expect(Kind::Csv)?;
        let place = format!("{}\nFrom: {}", found.title, found.source);
        let curves = table::curves(what, found.text, options).map_err(StoreError::refused(what))?;
        return Ok(Curves { place, ..curves });
    }
    let path = Path::new(what);
    if path.is_dir() {
        return folder::curves(path, options);
    }
    table::curves(what, &read(path)?, options).map_err(StoreError::refused(what))
}
