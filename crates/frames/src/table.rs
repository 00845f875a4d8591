//! Tables: rows in the making, and finished ones.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use crate::columns::Wide;
use crate::names::{Dictionaries, Renumbering};

/// Fewer rows than this are copied together into one batch.
const FEW_ROWS: usize = 1 << 14;

/// A table of Arrow: a schema, and batches of rows.
#[derive(Clone, Debug)]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// A table of columns of one length.
    ///
    /// # Errors
    /// When they are not of one length, or not of the types of their fields.
    pub fn of_columns(columns: Vec<(Field, ArrayRef)>) -> Result<Self, ArrowError> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
        Ok(Self { schema, batches: vec![batch] })
    }

    /// Names and types of the columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The rows, in order.
    #[must_use]
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// The rows as a stream; they are shared, not copied.
    #[must_use]
    pub fn reader(&self) -> Box<dyn RecordBatchReader + Send> {
        let batches = self.batches.clone().into_iter().map(Ok);
        Box::new(RecordBatchIterator::new(batches, Arc::clone(&self.schema)))
    }
}

/// Rows of one kind in the making; `rows!` makes them.
pub(crate) trait Rows: Default {
    fn len(&self) -> usize;

    /// Makes room for so many rows.
    fn reserve(&mut self, rows: usize);

    fn absorb(&mut self, other: Self);

    fn renumber(&mut self, renumbering: &Renumbering);

    /// The names of the columns that come from maps.
    fn names(&self) -> &[String];

    /// All columns, with those of maps of all these names.
    fn finish(
        self,
        dictionaries: &Dictionaries,
        names: &[String],
    ) -> Result<Vec<(Field, ArrayRef)>, ArrowError>;
}

/// Rows that come piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Gathered<R> {
    pieces: Vec<R>,
}

impl<R: Rows> Gathered<R> {
    /// Adds a piece; small ones are put together, for a folder may have many small runs.
    pub(crate) fn push(&mut self, mut piece: R, renumbering: &Renumbering) {
        piece.renumber(renumbering);
        match self.pieces.last_mut() {
            Some(last) if last.len() < FEW_ROWS || piece.len() < FEW_ROWS / 16 => {
                last.absorb(piece);
            }
            _ => self.pieces.push(piece),
        }
    }

    /// The table; without rows it has its columns all the same.
    pub(crate) fn finish(mut self, dictionaries: &Dictionaries) -> Result<Table, ArrowError> {
        if self.pieces.is_empty() {
            self.pieces.push(R::default());
        }
        let mut names: Vec<String> = Vec::new();
        for name in self.pieces.iter().flat_map(|piece| piece.names()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names.sort();
        let mut tables = self
            .pieces
            .into_iter()
            .map(|piece| Table::of_columns(piece.finish(dictionaries, &names)?));
        // There is one at least.
        let mut whole = tables.next().unwrap_or_else(|| Table::of_columns(Vec::new()))?;
        for table in tables {
            whole.batches.extend(table?.batches);
        }
        Ok(whole)
    }
}

/// The columns that come from maps, each with its field.
pub(crate) fn wide_columns(
    wide: Wide,
    rows: usize,
    prefix: &str,
    names: &[String],
) -> Result<Vec<(Field, ArrayRef)>, ArrowError> {
    let arrays = wide.finish(rows, names)?;
    let field = |name: &String, array: &ArrayRef| {
        Field::new(format!("{prefix}{name}"), array.data_type().clone(), true)
    };
    Ok(names.iter().zip(arrays).map(|(name, array)| (field(name, &array), array)).collect())
}

/// A struct of columns that are [`Rows`]; the first column says how many there are, and the literal
/// stands before the names of the columns that come from maps.
macro_rules! rows {
    ($(#[$about:meta])* $name:ident, $prefix:literal, $first:ident: $of:ty, $($field:ident: $type:ty),*) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        pub(crate) struct $name {
            pub(crate) $first: $of,
            $(pub(crate) $field: $type,)*
            pub(crate) wide: Wide,
        }

        impl Rows for $name {
            fn len(&self) -> usize {
                self.$first.len()
            }

            fn reserve(&mut self, rows: usize) {
                Column::reserve(&mut self.$first, rows);
                $(Column::reserve(&mut self.$field, rows);)*
            }

            fn absorb(&mut self, other: Self) {
                self.wide.absorb(self.len(), other.wide);
                Column::absorb(&mut self.$first, other.$first);
                $(Column::absorb(&mut self.$field, other.$field);)*
            }

            fn renumber(&mut self, renumbering: &Renumbering) {
                $(Column::renumber(&mut self.$field, renumbering);)*
            }

            fn names(&self) -> &[String] {
                self.wide.names()
            }

            fn finish(
                self,
                dictionaries: &Dictionaries,
                names: &[String],
            ) -> Result<Vec<(Field, ArrayRef)>, ArrowError> {
                let rows = self.len();
                let field = |name: &str, array: &ArrayRef, nullable| {
                    Field::new(name, array.data_type().clone(), nullable)
                };
                let array = Column::finish(self.$first, dictionaries)?;
                let mut columns = vec![(field(stringify!($first), &array, false), array)];
                $(
                    let array = Column::finish(self.$field, dictionaries)?;
                    let nullable = <$type as Column>::NULLABLE;
                    columns.push((field(stringify!($field), &array, nullable), array));
                )*
                columns.extend(wide_columns(self.wide, rows, $prefix, names)?);
                Ok(columns)
            }
        }
    };
}

pub(crate) use rows;
