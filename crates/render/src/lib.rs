//! Results as documents, and documents as text.
//!
//! A command fills a [`Document`] with sentences, tables of typed cells, charts and the data behind
//! them. It knows no output format: [`FORMATS`] has one entry for each, and every one of them can
//! show every document. Numbers become text in [`format`] alone; control characters and the
//! formats' special characters are handled where text is written, once.
//!
//! **Invariant:** strings out. Nothing here opens a file, prints, or knows a clock; the same input
//! gives the same bytes.

mod document;
pub mod format;
mod formats;
mod html;
mod json;
mod markdown;
mod output_format;
mod table;
mod text;
mod vega;
mod wrap;

pub use document::{Block, Chart, Document, Section, Verdict};
pub use formats::{FORMATS, format_named, format_of_file};
pub use html::FORMAT as HTML;
pub use output_format::{OutputFormat, Style};
pub use table::{Cell, Table, Tone};
pub use text::{aligned, plain_text};
