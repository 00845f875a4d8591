//! A table as CSV (RFC 4180, lines end in LF).

use std::fmt::Write as _;
use std::io::Write;

use csv::{Terminator, Writer, WriterBuilder};
use results::{Cells, Column};

use crate::sink::{ExportError, Sink};

/// An open CSV file. Absent cells and empty texts are empty.
pub struct CsvFile<W: Write> {
    writer: Writer<W>,
    text: String,
}

impl<W: Write> CsvFile<W> {
    /// Writes the heading row.
    pub fn new(columns: &[Column], out: W) -> Result<Self, ExportError> {
        let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
        writer.write_record(columns.iter().map(|column| &*column.name))?;
        Ok(Self { writer, text: String::new() })
    }
}

impl<W: Write> Sink for CsvFile<W> {
    fn rows(&mut self, columns: &[Column]) -> Result<(), ExportError> {
        for row in 0..columns.first().map_or(0, Column::rows) {
            for column in columns {
                self.text.clear();
                // Writing to a string cannot fail.
                let _ = match &column.cells {
                    _ if column.present.get(row) == Some(&false) => Ok(()),
                    Cells::Text(values) => self.text.write_str(&values[row]),
                    Cells::Word(values, words) => self.text.write_str(words.word(values[row])),
                    Cells::Small(values) => write!(self.text, "{}", values[row]),
                    Cells::Count(values) => write!(self.text, "{}", values[row]),
                    Cells::Number(values) => write!(self.text, "{}", values[row]),
                    Cells::Flag(values) => write!(self.text, "{}", values[row]),
                    Cells::Time(values) => {
                        // Every number of this size is a valid time.
                        let time = jiff::Timestamp::from_nanosecond(values[row].into());
                        write!(self.text, "{:.9}", time.unwrap_or_default())
                    }
                };
                self.writer.write_field(&self.text)?;
            }
            self.writer.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.writer.flush()?)
    }
}
