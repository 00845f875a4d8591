//! A table as Parquet: Snappy, dictionaries for texts, a row group every 2^18 rows.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::table::{Cell, Column, ExportError, Kind, RowSink};

/// Rows that are held before they are written.
const GROUP: usize = 1 << 18;

/// A Parquet file under way.
pub struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Held>,
    rows: usize,
}

/// The cells of a column that are held: those that are there, and of each row whether it has one.
struct Held {
    present: Vec<i16>,
    values: Values,
    /// Texts of this group, so that an equal one is held once.
    texts: HashMap<String, ByteArray>,
}

enum Values {
    Text(Vec<ByteArray>),
    Small(Vec<i32>),
    Count(Vec<i64>),
    Number(Vec<f64>),
    Flag(Vec<bool>),
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(columns: &[Column], out: W) -> Result<Self, ExportError> {
        let fields: Result<Vec<_>, _> = columns.iter().map(field).collect();
        let schema = Type::group_type_builder("thrashlab").with_fields(fields?).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("thrashlab version {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        let columns = columns.iter().map(|column| Held::new(column.kind)).collect();
        Ok(Self { writer, columns, rows: 0 })
    }

    /// Writes the rows that are held.
    fn write_group(&mut self) -> Result<(), ExportError> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl<W: Write + Send> RowSink for ParquetFile<W> {
    fn row(&mut self, cells: &[Cell]) -> Result<(), ExportError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows == GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }
}

/// A column as Parquet describes it.
fn field(column: &Column) -> Result<Arc<Type>, ExportError> {
    let whole = |bit_width| LogicalType::integer(bit_width, false);
    let time = LogicalType::timestamp(true, TimeUnit::NANOS);
    let (physical, logical) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Small => (Physical::INT32, Some(whole(32))),
        Kind::Count => (Physical::INT64, Some(whole(64))),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
        Kind::Time => (Physical::INT64, Some(time)),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(field))
}

impl Held {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Text => Values::Text(Vec::new()),
            Kind::Small => Values::Small(Vec::new()),
            Kind::Count | Kind::Time => Values::Count(Vec::new()),
            Kind::Number => Values::Number(Vec::new()),
            Kind::Flag => Values::Flag(Vec::new()),
        };
        Self { present: Vec::new(), values, texts: HashMap::new() }
    }

    /// Adds a cell; one of another kind than the column's is absent.
    fn push(&mut self, cell: &Cell) {
        let fits = match (&mut self.values, cell) {
            (Values::Text(values), Cell::Text(text)) => {
                let known = self.texts.get(*text).cloned();
                values.push(known.unwrap_or_else(|| {
                    let bytes = ByteArray::from(*text);
                    self.texts.insert((*text).to_owned(), bytes.clone());
                    bytes
                }));
                true
            }
            (Values::Small(values), Cell::Small(value)) => {
                values.push(value.cast_signed());
                true
            }
            (Values::Count(values), Cell::Count(value) | Cell::Time(value)) => {
                values.push(value.cast_signed());
                true
            }
            (Values::Number(values), Cell::Number(value)) => {
                values.push(*value);
                true
            }
            (Values::Flag(values), Cell::Flag(value)) => {
                values.push(*value);
                true
            }
            _ => false,
        };
        self.present.push(i16::from(fits));
    }

    /// Writes the cells as the next column of a row group, and holds none.
    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<W>,
    ) -> Result<(), ExportError> {
        let present = std::mem::take(&mut self.present);
        self.texts.clear();
        match &mut self.values {
            Values::Text(values) => {
                put::<ByteArrayType, W>(group, &std::mem::take(values), &present)
            }
            Values::Small(values) => put::<Int32Type, W>(group, &std::mem::take(values), &present),
            Values::Count(values) => put::<Int64Type, W>(group, &std::mem::take(values), &present),
            Values::Number(values) => {
                put::<DoubleType, W>(group, &std::mem::take(values), &present)
            }
            Values::Flag(values) => put::<BoolType, W>(group, &std::mem::take(values), &present),
        }
    }
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<W>,
    values: &[T::T],
    present: &[i16],
) -> Result<(), ExportError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, Some(present), None)?;
        column.close()?;
    }
    Ok(())
}
