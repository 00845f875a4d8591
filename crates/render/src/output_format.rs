//! What an output format is.

use crate::document::Document;

/// An output format of documents.
#[derive(Clone, Copy, Debug)]
pub struct OutputFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// The extensions of its files.
    pub endings: &'static [&'static str],
    pub(crate) write: fn(&Document<'_>, &Style) -> serde_json::Result<String>,
}

/// What the terminal can show; other formats ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Its width in columns; without one, tables are never broken and sentences are 80 wide.
    pub width: Option<usize>,
    /// Whether it shows colours.
    pub has_colour: bool,
}

impl OutputFormat {
    /// The document in this format, with a final newline. Fails when this format needs the
    /// document's data and they cannot be written as JSON.
    pub fn write(&self, document: &Document<'_>, style: &Style) -> serde_json::Result<String> {
        (self.write)(document, style)
    }
}
