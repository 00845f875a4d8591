//! Comma-separated values: [`read`] scans them for observations, [`write`] writes a table.

mod read;
mod write;

pub(crate) use read::{looks_right, read};
pub use write::CsvFile;
