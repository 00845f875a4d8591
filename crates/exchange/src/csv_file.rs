//! A table as comma-separated values (RFC 4180, lines end in LF).

use std::io::Write;

use csv::{Terminator, Writer, WriterBuilder};

use crate::table::{Cell, Column, ExportError, RowSink};

/// A CSV file under way. An absent cell is empty, as is a text without characters.
pub struct CsvFile<W: Write> {
    writer: Writer<W>,
    text: String,
}

impl<W: Write> CsvFile<W> {
    /// Writes the heading row.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(columns: &[Column], out: W) -> Result<Self, ExportError> {
        let mut writer = WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out);
        writer.write_record(columns.iter().map(|column| column.name.as_str()))?;
        Ok(Self { writer, text: String::new() })
    }
}

impl<W: Write> RowSink for CsvFile<W> {
    fn row(&mut self, cells: &[Cell]) -> Result<(), ExportError> {
        for cell in cells {
            let text = match cell {
                Cell::Absent => "",
                Cell::Text(text) => text,
                other => {
                    self.text.clear();
                    plain(&mut self.text, other);
                    &self.text
                }
            };
            self.writer.write_field(text)?;
        }
        self.writer.write_record(None::<&[u8]>)?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.writer.flush()?;
        Ok(())
    }
}

/// A cell that needs no quotes.
fn plain(text: &mut String, cell: &Cell) {
    use std::fmt::Write;
    // Writing to a string cannot fail.
    let _ = match cell {
        Cell::Absent | Cell::Text(_) => Ok(()),
        Cell::Small(value) => write!(text, "{value}"),
        Cell::Count(value) => write!(text, "{value}"),
        Cell::Number(value) => write!(text, "{value}"),
        Cell::Flag(value) => write!(text, "{value}"),
        Cell::Time(unix_ns) => match jiff::Timestamp::from_nanosecond(i128::from(*unix_ns)) {
            Ok(time) => write!(text, "{time:.9}"),
            Err(_) => write!(text, "{unix_ns}"),
        },
    };
}
