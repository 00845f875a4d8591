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
    /// Writes a document.
    pub(crate) write: fn(&Document<'_>, &Style) -> Result<String, RenderError>,
}

/// What a terminal can show; other formats do not look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Its width in letters; without one no table is broken, and sentences have 80.
    pub width: Option<usize>,
    /// Whether it shows colours.
    pub has_colour: bool,
}

/// A document that a format cannot show.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Its data have no form in JSON.
    #[error("write the result as JSON: {0}")]
    Data(#[from] serde_json::Error),
}

impl OutputFormat {
    /// The document in this format, with a newline at its end.
    ///
    /// # Errors
    /// When the data of the document have no form in JSON and this format wants them.
    pub fn write(&self, document: &Document<'_>, style: &Style) -> Result<String, RenderError> {
        (self.write)(document, style)
    }
}
