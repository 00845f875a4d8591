//! Curves from sweeps, experiments with a numeric factor, published tables and CSV files.

mod folder;

use std::path::Path;

use curves::{CurveOptions, Curves, curves_of_table};
pub use folder::curves_of_manifest;
use results::ResultsError;

use crate::error::refused;
use crate::observations::{REFERENCE, read};
use crate::reference::{self, Kind};

/// The curves of `reference:NAME`, a folder with a manifest, or a CSV (`-` is standard input).
/// Fails with the place and the reason.
pub fn curves(what: &str, options: &CurveOptions) -> Result<Curves, ResultsError> {
    if let Some(name) = what.strip_prefix(REFERENCE) {
        let found = reference::find(name)?;
        found.expect(Kind::Csv)?;
        let place = format!("{}\nFrom: {}", found.title, found.source);
        let curves = curves_of_table(what, found.text, options).map_err(refused(what))?;
        return Ok(Curves { place, ..curves });
    }
    let path = Path::new(what);
    if path.is_dir() {
        return folder::curves(path, options);
    }
    curves_of_table(what, &read(path)?, options).map_err(refused(what))
}
