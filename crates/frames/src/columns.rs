//! Columns in the making: plain vectors that become Arrow's buffers without a copy.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Int32Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{NullBufferBuilder, ScalarBuffer};
use arrow_schema::ArrowError;

use crate::names::{Dictionaries, Renumbering};

/// A column in the making.
pub(crate) trait Column: Default {
    /// Whether a value may be absent.
    const NULLABLE: bool;

    /// Makes room for so many rows.
    fn reserve(&mut self, rows: usize);

    /// Adds all rows of another one.
    fn absorb(&mut self, other: Self);

    /// Takes the numbers that names have elsewhere.
    fn renumber(&mut self, _: &Renumbering) {}

    /// The array.
    fn finish(self, dictionaries: &Dictionaries) -> Result<ArrayRef, ArrowError>;
}

impl Column for Vec<u32> {
    const NULLABLE: bool = false;

    fn reserve(&mut self, rows: usize) {
        Self::reserve(self, rows);
    }

    fn absorb(&mut self, other: Self) {
        self.extend_from_slice(&other);
    }

    fn finish(self, _: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(PrimitiveArray::<UInt32Type>::from(self)))
    }
}

impl Column for Vec<u64> {
    const NULLABLE: bool = false;

    fn reserve(&mut self, rows: usize) {
        Self::reserve(self, rows);
    }

    fn absorb(&mut self, other: Self) {
        self.extend_from_slice(&other);
    }

    fn finish(self, _: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(PrimitiveArray::<UInt64Type>::from(self)))
    }
}

/// Texts that may be absent.
impl Column for Vec<Option<String>> {
    const NULLABLE: bool = true;

    fn reserve(&mut self, rows: usize) {
        Self::reserve(self, rows);
    }

    fn absorb(&mut self, mut other: Self) {
        self.append(&mut other);
    }

    fn finish(self, _: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(StringArray::from(self)))
    }
}

/// Numbers that may be absent.
#[derive(Debug)]
pub(crate) struct Optional<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    present: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Default for Optional<T> {
    fn default() -> Self {
        Self { values: Vec::new(), present: NullBufferBuilder::new(0) }
    }
}

impl<T: ArrowPrimitiveType> Optional<T> {
    pub(crate) fn push(&mut self, value: Option<T::Native>) {
        self.values.push(value.unwrap_or_default());
        self.present.append(value.is_some());
    }

    /// The same value so many times.
    pub(crate) fn repeat(&mut self, value: Option<T::Native>, times: usize) {
        self.values.resize(self.values.len() + times, value.unwrap_or_default());
        match value {
            Some(_) => self.present.append_n_non_nulls(times),
            None => self.present.append_n_nulls(times),
        }
    }

    /// Absent values up to a length.
    fn pad(&mut self, len: usize) {
        if let Some(missing) = len.checked_sub(self.values.len()) {
            self.repeat(None, missing);
        }
    }
}

impl<T: ArrowPrimitiveType> Column for Optional<T> {
    const NULLABLE: bool = true;

    fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
    }

    fn absorb(&mut self, mut other: Self) {
        self.values.extend_from_slice(&other.values);
        match other.present.finish() {
            Some(present) => self.present.append_buffer(&present),
            None => self.present.append_n_non_nulls(other.values.len()),
        }
    }

    fn finish(mut self, _: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        let values = ScalarBuffer::from(self.values);
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values, self.present.finish())?))
    }
}

/// Words as their numbers in dictionary `D`.
#[derive(Debug, Default)]
pub(crate) struct Coded<const D: usize>(pub(crate) Optional<Int32Type>);

impl<const D: usize> Column for Coded<D> {
    const NULLABLE: bool = true;

    fn reserve(&mut self, rows: usize) {
        self.0.reserve(rows);
    }

    fn absorb(&mut self, other: Self) {
        self.0.absorb(other.0);
    }

    fn renumber(&mut self, renumbering: &Renumbering) {
        let Some(numbers) = renumbering.of(D) else { return };
        for value in &mut self.0.values {
            // Absent ones have a number too, of which there need not be a name.
            *value = numbers.get(*value as usize).map_or(0, |number| *number as i32);
        }
    }

    fn finish(mut self, dictionaries: &Dictionaries) -> Result<ArrayRef, ArrowError> {
        let values = ScalarBuffer::from(self.0.values);
        let keys = PrimitiveArray::<Int32Type>::try_new(values, self.0.present.finish())?;
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, dictionaries.of(D))?))
    }
}

/// A column for each name that occurs in a map of numbers; absent where a row lacks the name.
#[derive(Debug, Default)]
pub(crate) struct Wide {
    names: Vec<String>,
    columns: Vec<Optional<UInt64Type>>,
}

impl Wide {
    /// Sets a value in a row that is not before the last one of its column. `guess` is the column
    /// that is tried first: maps of one kind have their names in one order.
    pub(crate) fn set(&mut self, row: usize, guess: usize, name: &str, value: u64) {
        let column = self.column(guess, name);
        column.pad(row);
        column.push(Some(value));
    }

    fn column(&mut self, guess: usize, name: &str) -> &mut Optional<UInt64Type> {
        let found = match self.names.get(guess) {
            Some(guessed) if guessed == name => Some(guess),
            _ => self.names.iter().position(|known| known == name),
        };
        let index = found.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.columns.push(Optional::default());
            self.names.len() - 1
        });
        &mut self.columns[index]
    }

    /// Adds the rows of another one after the first `rows` here.
    pub(crate) fn absorb(&mut self, rows: usize, other: Self) {
        for (guess, (name, values)) in other.names.iter().zip(other.columns).enumerate() {
            let column = self.column(guess, name);
            column.pad(rows);
            column.absorb(values);
        }
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns of all these names, `rows` long.
    pub(crate) fn finish(
        mut self,
        rows: usize,
        all: &[String],
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        let mut finished = Vec::new();
        for (guess, name) in all.iter().enumerate() {
            let mut column = std::mem::take(self.column(guess, name));
            column.pad(rows);
            finished.push(column.finish(&Dictionaries::default())?);
        }
        Ok(finished)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    use super::*;

    #[test]
    fn what_a_row_lacks_is_absent() {
        let mut first = Wide::default();
        first.set(1, 0, "a", 1);
        first.set(2, 0, "a", 0);
        first.set(2, 1, "b", 2);
        let mut second = Wide::default();
        second.set(0, 0, "c", 3);
        second.set(0, 1, "a", 4);
        first.absorb(4, second);
        let all = first.names().to_vec();
        let columns = first.finish(6, &all).unwrap();
        let read = |column: &ArrayRef| -> Vec<Option<u64>> {
            column.as_primitive::<UInt64Type>().iter().collect()
        };
        assert_eq!(all, ["a", "b", "c"]);
        assert_eq!(read(&columns[0]), [None, Some(1), Some(0), None, Some(4), None]);
        assert_eq!(read(&columns[1]), [None, None, Some(2), None, None, None]);
        assert_eq!(read(&columns[2]), [None, None, None, None, Some(3), None]);
        assert!(columns.iter().all(|column| column.len() == 6));
    }
}
