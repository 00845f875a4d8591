//! Results as documents, and documents as text.
//!
//! A command fills a [`Document`] with sentences, tables, charts and data; each of the [`FORMATS`]
//! can show every document. Only [`mod@format`] formats numbers, and only the formats escape
//! control and special characters.
//!
//! **Invariant:** no files, output or clocks; the same input gives the same bytes.

pub mod charts;
mod document;
pub mod format;
mod html;
mod json;
mod markdown;
mod table;
mod text;

use std::path::Path;

pub use document::{Block, Chart, Document, OutputFormat, Section, Style, Verdict};
pub use html::{FORMAT as HTML, filled_page, fragment};
pub use table::{Cell, Table, Tone};
pub use text::plain_text;

/// All formats; the first is the terminal's.
pub const FORMATS: &[OutputFormat] =
    &[text::FORMAT, markdown::FORMAT, html::FORMAT, json::FORMAT, json::VEGA];

/// The format of this name.
pub fn format_named(name: &str) -> Option<&'static OutputFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The format of a file by its extension.
pub fn format_of_file(path: &Path) -> Option<&'static OutputFormat> {
    let ending = path.extension()?.to_str()?;
    FORMATS.iter().find(|format| format.endings.contains(&ending))
}
