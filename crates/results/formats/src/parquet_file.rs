//! A table as Parquet: Snappy, dictionaries for texts, a row group every 2^18 rows.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter as GroupWriter};
use parquet::schema::types::Type;
use results::{Cells, Column};

use crate::sink::{ExportError, Sink};

const GROUP: usize = 1 << 18;

/// An open Parquet file.
pub struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Held>,
    rows: usize,
}

struct Held {
    /// 1 for each present cell, else 0.
    present: Vec<i16>,
    values: Values,
    /// Texts of this group, shared.
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
    /// Starts a file.
    pub fn new(columns: &[Column], out: W) -> Result<Self, ExportError> {
        let (fields, columns): (Vec<_>, Vec<_>) =
            columns.iter().map(held).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let schema = Type::group_type_builder("thrashlab").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("thrashlab version {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Self { writer, columns, rows: 0 })
    }

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

impl<W: Write + Send> Sink for ParquetFile<W> {
    fn rows(&mut self, columns: &[Column]) -> Result<(), ExportError> {
        let all = columns.first().map_or(0, Column::rows);
        let mut from = 0;
        while from < all {
            let to = all.min(from + GROUP - self.rows);
            for (held, column) in self.columns.iter_mut().zip(columns) {
                held.push(column, from..to);
            }
            self.rows += to - from;
            from = to;
            if self.rows == GROUP {
                self.write_group()?;
            }
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

fn held(column: &Column) -> Result<(Arc<Type>, Held), ExportError> {
    let whole = |bit_width| Some(LogicalType::integer(bit_width, false));
    let time = || Some(LogicalType::timestamp(true, TimeUnit::NANOS));
    let (physical, logical, values) = match column.cells {
        Cells::Text(_) | Cells::Word(..) => {
            (Physical::BYTE_ARRAY, Some(LogicalType::String), Values::Text(Vec::new()))
        }
        Cells::Small(_) => (Physical::INT32, whole(32), Values::Small(Vec::new())),
        Cells::Count(_) => (Physical::INT64, whole(64), Values::Count(Vec::new())),
        Cells::Number(_) => (Physical::DOUBLE, None, Values::Number(Vec::new())),
        Cells::Flag(_) => (Physical::BOOLEAN, None, Values::Flag(Vec::new())),
        Cells::Time(_) => (Physical::INT64, time(), Values::Count(Vec::new())),
    };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok((Arc::new(field), Held { present: Vec::new(), values, texts: HashMap::new() }))
}

impl Held {
    fn push(&mut self, column: &Column, rows: Range<usize>) {
        let is_present = |row: usize| column.present.get(row) != Some(&false);
        self.present.extend(rows.clone().map(|row| i16::from(is_present(row))));
        let there = rows.filter(|row| is_present(*row));
        match (&mut self.values, &column.cells) {
            (Values::Text(held), Cells::Text(texts)) => {
                held.extend(there.map(|row| bytes(&mut self.texts, &texts[row])));
            }
            (Values::Text(held), Cells::Word(numbers, words)) => {
                let words: Vec<ByteArray> =
                    words.all().iter().map(|word| bytes(&mut self.texts, word)).collect();
                held.extend(there.map(|row| words[numbers[row] as usize].clone()));
            }
            (Values::Small(held), Cells::Small(values)) => {
                held.extend(there.map(|row| values[row].cast_signed()));
            }
            (Values::Count(held), Cells::Count(values)) => {
                held.extend(there.map(|row| values[row].cast_signed()));
            }
            (Values::Count(held), Cells::Time(values)) => {
                held.extend(there.map(|row| values[row]));
            }
            (Values::Number(held), Cells::Number(values)) => {
                held.extend(there.map(|row| values[row]));
            }
            (Values::Flag(held), Cells::Flag(values)) => held.extend(there.map(|row| values[row])),
            // All batches of a table have the same types.
            _ => {}
        }
    }

    fn write<W: Write + Send>(&mut self, group: &mut GroupWriter<W>) -> Result<(), ExportError> {
        let present = std::mem::take(&mut self.present);
        self.texts.clear();
        match &mut self.values {
            Values::Text(values) => put::<ByteArrayType, W>(group, values, &present),
            Values::Small(values) => put::<Int32Type, W>(group, values, &present),
            Values::Count(values) => put::<Int64Type, W>(group, values, &present),
            Values::Number(values) => put::<DoubleType, W>(group, values, &present),
            Values::Flag(values) => put::<BoolType, W>(group, values, &present),
        }
    }
}

fn put<T: DataType, W: Write + Send>(
    group: &mut GroupWriter<W>,
    values: &mut Vec<T::T>,
    present: &[i16],
) -> Result<(), ExportError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, Some(present), None)?;
        column.close()?;
    }
    values.clear();
    Ok(())
}

fn bytes(texts: &mut HashMap<String, ByteArray>, text: &str) -> ByteArray {
    if let Some(known) = texts.get(text) {
        return known.clone();
    }
    let bytes = ByteArray::from(text);
    texts.insert(text.to_owned(), bytes.clone());
    bytes
}
