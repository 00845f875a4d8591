//! The table of all output formats.

use std::path::Path;

use crate::output_format::OutputFormat;
use crate::{html, json, markdown, text, vega};

/// All formats; the first one is what a terminal gets.
pub const FORMATS: &[OutputFormat] =
    &[text::FORMAT, markdown::FORMAT, html::FORMAT, json::FORMAT, vega::FORMAT];

/// The format of this name.
pub fn format_named(name: &str) -> Option<&'static OutputFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format that the name of a file asks for by its end.
pub fn format_of_file(path: &Path) -> Option<&'static OutputFormat> {
    let ending = path.extension()?.to_str()?;
    FORMATS.iter().find(|format| format.endings.contains(&ending))
}
