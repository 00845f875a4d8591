//! Curves from sweep folders and other experiments with a numeric factor, published tables, CSV.

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

/// The curves of `reference:NAME`, a folder with a manifest, or a CSV (`-` is standard input).
/// Fails with the place and the reason.
pub fn curves(what: &str, options: &CurveOptions) -> Result<Curves, StoreError> {
    if let Some(name) = what.strip_prefix(REFERENCE) {
        let found = reference::find(name)?;
        found.expect(Kind::Csv)?;
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

fn table(name: &str, text: &str, options: &CurveOptions) -> Result<Curves, StoreError> {
    table::curves(name, text, options).map_err(StoreError::refused(name))
}
