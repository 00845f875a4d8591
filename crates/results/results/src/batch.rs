//! A batch of rows of one table.

use std::collections::BTreeSet;

use crate::column::{Cells, Column, Source};

pub(crate) type Declared<R> = [(&'static str, Source<R>)];

/// Rows of one table: the run number, the declared columns, and columns from maps by name.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    columns: Vec<Column>,
    /// Columns from maps, possibly shorter.
    wide: Vec<Column>,
}

impl Batch {
    pub(crate) fn new<R>(declared: &Declared<R>) -> Self {
        let declared = declared.iter().map(|(name, source)| Column::of(name, source));
        let run = Column::whole("run", Cells::Small(Vec::new()));
        Self { columns: std::iter::once(run).chain(declared).collect(), wide: Vec::new() }
    }

    pub(crate) fn from_columns(columns: Vec<Column>) -> Self {
        Self { columns, wide: Vec::new() }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::rows)
    }

    /// The names in the maps.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.wide.iter().map(|column| &*column.name)
    }

    /// Its columns, including those of maps for all these names, prefixed.
    pub fn columns(mut self, names: &BTreeSet<String>, prefix: &str) -> Vec<Column> {
        let rows = self.rows();
        for (guess, name) in names.iter().enumerate() {
            let none = Column::count("", None, 0);
            let mut column = std::mem::replace(self.wide_column(guess, name), none);
            column.pad(rows);
            column.name = format!("{prefix}{name}").into();
            self.columns.push(column);
        }
        self.columns
    }

    pub(crate) fn reserve(&mut self, rows: usize) {
        self.columns.iter_mut().for_each(|column| column.reserve(rows));
    }

    pub(crate) fn push<R>(&mut self, run: u32, declared: &Declared<R>, group: &R, rows: usize) {
        let [number, columns @ ..] = &mut self.columns[..] else { return };
        number.take(&Source::Small(|run| *run), &run, rows);
        for (column, (_, source)) in columns.iter_mut().zip(declared) {
            column.take(source, group, rows);
        }
    }

    /// Sets the numbers of a map in the last row.
    pub(crate) fn set<'a>(&mut self, map: impl Iterator<Item = (&'a str, u64)>) {
        let row = self.rows().saturating_sub(1);
        // Names are usually in the same order.
        for (guess, (name, value)) in map.enumerate() {
            self.wide_column(guess, name).set_count(row, value);
        }
    }

    fn wide_column(&mut self, guess: usize, name: &str) -> &mut Column {
        let found = match self.wide.get(guess) {
            Some(guessed) if guessed.name == name => Some(guess),
            _ => self.wide.iter().position(|known| known.name == name),
        };
        let index = found.unwrap_or_else(|| {
            self.wide.push(Column::count(name.to_owned(), None, 0));
            self.wide.len() - 1
        });
        &mut self.wide[index]
    }

    pub(crate) fn append(&mut self, other: Self) {
        let rows = self.rows();
        for (column, others) in self.columns.iter_mut().zip(other.columns) {
            column.append(others);
        }
        for (guess, others) in other.wide.into_iter().enumerate() {
            let column = self.wide_column(guess, &others.name);
            column.pad(rows);
            column.append(others);
        }
    }

    pub(crate) fn declared(&mut self) -> &mut [Column] {
        &mut self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_row_lacks_is_absent() {
        let batch = |rows: &[&[(&str, u64)]]| {
            let mut batch = Batch::new::<()>(&[]);
            for row in rows {
                batch.push(0, &[], &(), 1);
                batch.set(row.iter().copied());
            }
            batch
        };
        let mut first = batch(&[&[], &[("a", 1)], &[("a", 0), ("b", 2)], &[]]);
        first.append(batch(&[&[("c", 3), ("a", 4)], &[]]));
        let names: BTreeSet<String> = first.names().map(str::to_owned).collect();
        let columns = first.columns(&names, "of_");
        let read = |column: &Column| -> Vec<Option<u64>> {
            let Cells::Count(counts) = &column.cells else { return Vec::new() };
            let count =
                |row: usize| (column.present.get(row) != Some(&false)).then_some(counts[row]);
            (0..column.rows()).map(count).collect()
        };
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["run", "of_a", "of_b", "of_c"]);
        assert_eq!(read(&columns[1]), [None, Some(1), Some(0), None, Some(4), None]);
        assert_eq!(read(&columns[2]), [None, None, Some(2), None, None, None]);
        assert_eq!(read(&columns[3]), [None, None, None, None, Some(3), None]);
    }
}
