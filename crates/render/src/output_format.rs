//! What an output format is.

use crate::document::Document;

/// A format that documents are printed in.
#[derive(Clone, Copy, Debug)]
pub struct OutputFormat {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for, in a line.
    pub about: &'static str,
    /// How the names of its files end.
    pub endings: &'static [&'static str],
    pub(crate) write: fn(&Document<'_>, &Style) -> serde_json::Result<String>,
}

/// What a terminal can show; other formats do not look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Its width in letters; without one no table is broken, and sentences have 80.
    pub width: Option<usize>,
    /// Whether it shows colours.
    pub has_colour: bool,
}

impl OutputFormat {
    /// The document in this format, with a newline at its end. Fails when the data of the document
    /// have no form in JSON and this format wants them.
    pub fn write(&self, document: &Document<'_>, style: &Style) -> serde_json::Result<String> {
        (self.write)(document, style)
    }
}
