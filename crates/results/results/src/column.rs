//! A column of a table as plain vectors, which Arrow and Parquet use without a copy.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The cells of a column by type. Absent cells have an arbitrary value.
#[derive(Clone, Debug)]
pub enum Cells {
    /// Whole numbers below 2^32.
    Small(Vec<u32>),
    /// Whole numbers below 2^64.
    Count(Vec<u64>),
    /// Any numbers.
    Number(Vec<f64>),
    /// Yes or no.
    Flag(Vec<bool>),
    /// Timestamps in ns since 1970 UTC.
    Time(Vec<i64>),
    /// Texts.
    Text(Vec<String>),
    /// Repeated texts as numbers.
    Word(Vec<i32>, Arc<Words>),
}

macro_rules! of_any_type {
    ($cells:expr, $values:ident => $result:expr) => {
        match $cells {
            Cells::Small($values) => $result,
            Cells::Count($values) => $result,
            Cells::Number($values) => $result,
            Cells::Flag($values) => $result,
            Cells::Time($values) => $result,
            Cells::Text($values) => $result,
            Cells::Word($values, _) => $result,
        }
    };
}

/// The source of cells for a group of rows, their type, and whether they may be absent.
pub(crate) enum Source<R> {
    Small(fn(&R) -> u32),
    OptionalSmall(fn(&R) -> Option<u32>),
    Count(fn(&R) -> u64),
    OptionalCount(fn(&R) -> Option<u64>),
    Number(fn(&R) -> Option<f64>),
    Flag(fn(&R) -> Option<bool>),
    Time(fn(&R) -> Option<i64>),
    Text(fn(&R) -> Option<String>),
    /// Words; these have the first numbers.
    Word(&'static [&'static str], fn(&R) -> Option<&str>),
    /// A count per row of the group.
    EachCount(fn(&R, &mut Vec<u64>)),
    /// A word per row of the group, by its number in [`Words`], which is set at the end.
    EachWord(fn(&R, &mut Vec<i32>)),
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, with its unit last.
    pub name: Cow<'static, str>,
    /// Its cells.
    pub cells: Cells,
    /// Whether cells may be absent, in this batch or another.
    pub is_optional: bool,
    /// Which cells are present; empty if all are.
    pub present: Vec<bool>,
}

impl Column {
    fn new(name: impl Into<Cow<'static, str>>, cells: Cells, is_optional: bool) -> Self {
        Self { name: name.into(), cells, is_optional, present: Vec::new() }
    }

    /// A column without absent cells.
    pub fn whole(name: impl Into<Cow<'static, str>>, cells: Cells) -> Self {
        Self::new(name, cells, false)
    }

    /// A column with the same text, or none, in all rows.
    pub fn text(name: impl Into<Cow<'static, str>>, text: Option<&str>, rows: usize) -> Self {
        let mut column = Self::new(name, Cells::Text(Vec::new()), true);
        column.take(&Source::Text(|text: &Option<&str>| text.map(str::to_owned)), &text, rows);
        column
    }

    /// A column with the same count, or none, in all rows.
    pub fn count(name: impl Into<Cow<'static, str>>, count: Option<u64>, rows: usize) -> Self {
        let mut column = Self::new(name, Cells::Count(Vec::new()), true);
        column.take(&Source::OptionalCount(|count| *count), &count, rows);
        column
    }

    pub(crate) fn of<R>(name: &'static str, source: &Source<R>) -> Self {
        let (cells, is_optional) = match source {
            Source::Small(_) => (Cells::Small(Vec::new()), false),
            Source::OptionalSmall(_) => (Cells::Small(Vec::new()), true),
            Source::Count(_) | Source::EachCount(_) => (Cells::Count(Vec::new()), false),
            Source::OptionalCount(_) => (Cells::Count(Vec::new()), true),
            Source::Number(_) => (Cells::Number(Vec::new()), true),
            Source::Flag(_) => (Cells::Flag(Vec::new()), true),
            Source::Time(_) => (Cells::Time(Vec::new()), true),
            Source::Text(_) => (Cells::Text(Vec::new()), true),
            Source::EachWord(_) => (Cells::Word(Vec::new(), Arc::default()), true),
            Source::Word(known, _) => {
                let mut words = Words::default();
                for word in *known {
                    words.number(word);
                }
                (Cells::Word(Vec::new(), Arc::new(words)), true)
            }
        };
        Self::new(name, cells, is_optional)
    }

    pub(crate) fn take<R>(&mut self, source: &Source<R>, group: &R, rows: usize) {
        let old = self.rows();
        let len = old + rows;
        let is_present = match (&mut self.cells, source) {
            (Cells::Small(values), Source::Small(read)) => fill(values, len, Some(read(group))),
            (Cells::Small(values), Source::OptionalSmall(read)) => fill(values, len, read(group)),
            (Cells::Count(values), Source::Count(read)) => fill(values, len, Some(read(group))),
            (Cells::Count(values), Source::OptionalCount(read)) => fill(values, len, read(group)),
            (Cells::Number(values), Source::Number(read)) => fill(values, len, read(group)),
            (Cells::Flag(values), Source::Flag(read)) => fill(values, len, read(group)),
            (Cells::Time(values), Source::Time(read)) => fill(values, len, read(group)),
            (Cells::Text(values), Source::Text(read)) => fill(values, len, read(group)),
            (Cells::Word(values, words), Source::Word(_, read)) => {
                let number = read(group).map(|word| Arc::make_mut(words).number(word));
                fill(values, len, number)
            }
            (Cells::Count(values), Source::EachCount(read)) => {
                read(group, values);
                true
            }
            (Cells::Word(values, _), Source::EachWord(read)) => {
                read(group, values);
                true
            }
            // A column has its source's type.
            _ => false,
        };
        self.mark(old, len, is_present);
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        of_any_type!(&self.cells, values => values.len())
    }

    pub(crate) fn set_count(&mut self, row: usize, count: u64) {
        self.pad(row);
        self.take(&Source::Count(|count| *count), &count, 1);
    }

    pub(crate) fn reserve(&mut self, rows: usize) {
        of_any_type!(&mut self.cells, values => values.reserve(rows));
    }

    pub(crate) fn pad(&mut self, len: usize) {
        let old = self.rows();
        if old < len {
            of_any_type!(&mut self.cells, values => values.resize(len, Default::default()));
            self.mark(old, len, false);
        }
    }

    /// Appends a column with the same type and word numbers.
    pub(crate) fn append(&mut self, other: Self) {
        let old = self.rows();
        let all = old + other.rows();
        match (&mut self.cells, other.cells) {
            (Cells::Small(values), Cells::Small(others)) => values.extend(others),
            (Cells::Count(values), Cells::Count(others)) => values.extend(others),
            (Cells::Number(values), Cells::Number(others)) => values.extend(others),
            (Cells::Flag(values), Cells::Flag(others)) => values.extend(others),
            (Cells::Time(values), Cells::Time(others)) => values.extend(others),
            (Cells::Text(values), Cells::Text(others)) => values.extend(others),
            (Cells::Word(values, _), Cells::Word(others, _)) => values.extend(others),
            // Batches of one table have the same types.
            _ => {}
        }
        match other.present.is_empty() {
            true => self.mark(old, all, true),
            false => {
                self.present.resize(old, true);
                self.present.extend(other.present);
            }
        }
    }

    pub(crate) fn set_words(&mut self, found: Arc<Words>) {
        if let Cells::Word(_, words) = &mut self.cells {
            *words = found;
        }
    }

    /// Renumbers its words to those of `elsewhere`, which gets the new words.
    pub(crate) fn renumber(&mut self, elsewhere: &mut Words) {
        if let Cells::Word(values, words) = &mut self.cells {
            let numbers: Vec<i32> = words.all().iter().map(|it| elsewhere.number(it)).collect();
            for value in values {
                // An absent cell's number may have no word.
                *value = numbers.get(*value as usize).map_or(0, |number| *number);
            }
        }
    }

    fn mark(&mut self, from: usize, to: usize, is_present: bool) {
        if !is_present || !self.present.is_empty() {
            self.present.resize(from, true);
            self.present.resize(to, is_present);
        }
    }
}

/// Fills with the same value up to a length; returns whether there is a value.
fn fill<T: Clone + Default>(values: &mut Vec<T>, len: usize, value: Option<T>) -> bool {
    let is_present = value.is_some();
    values.resize(len, value.unwrap_or_default());
    is_present
}

/// Words in order of first appearance; indices are their numbers.
#[derive(Clone, Debug, Default)]
pub struct Words {
    words: Vec<Box<str>>,
    numbers: HashMap<Box<str>, i32>,
}

impl Words {
    /// The number of a word, added if new.
    pub(crate) fn number(&mut self, word: &str) -> i32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        // All words are in memory, so there are fewer than 2^31.
        let number = self.words.len() as i32;
        self.words.push(word.into());
        self.numbers.insert(word.into(), number);
        number
    }

    /// The word of a number.
    pub fn word(&self, number: i32) -> &str {
        self.words.get(number as usize).map_or("", AsRef::as_ref)
    }

    /// All words, in number order.
    pub fn all(&self) -> &[Box<str>] {
        &self.words
    }
}
