//! Names that occur again and again, as numbers.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use model::Censored;

/// Dictionaries, by what their words are.
pub(crate) const SOURCE: usize = 0;
pub(crate) const COUNTER: usize = 1;
pub(crate) const ITEM: usize = 2;
pub(crate) const WHEN: usize = 3;
pub(crate) const CENSORED: usize = 4;
pub(crate) const EVENT: usize = 5;
/// How many dictionaries grow with what is read; they come first.
const GROWING: usize = 3;

/// When counters were read, by what stands in the run file around them.
pub(crate) const WHENS: [&str; 4] = ["before", "after", "between", "delivered"];
/// Why a sample has no completion, as run files spell it.
pub(crate) const CENSORS: [&str; 4] = [
    Censored::Timeout.name(),
    Censored::ProbeDied.name(),
    Censored::Failed.name(),
    Censored::RunEnded.name(),
];
/// What may happen in a run besides measurements.
pub(crate) const EVENTS: [&str; 5] = ["phase", "warning", "unreadable", "unknown", "death"];

/// Names in the order of their first appearance; the position is a name's number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Names {
    /// The number of a name, a new one if it was not there.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        // Each name is a key of some line in memory, so there are fewer than 2^32.
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// A name by its number.
    pub(crate) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", AsRef::as_ref)
    }

    fn adopt(&mut self, other: &Self) -> Vec<u32> {
        other.names.iter().map(|name| self.number(name)).collect()
    }

    fn array(&self) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(&self.names))
    }
}

/// The names in the maps of run files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    /// Where counters were read from.
    pub(crate) sources: Names,
    /// Names of counters, of whatever source.
    pub(crate) counters: Names,
    /// What pieces of work were.
    pub(crate) items: Names,
    /// Names of the parts of a sample; they become columns.
    pub(crate) parts: Names,
}

impl Vocabulary {
    /// Takes the names of another one in, and tells which numbers they have here.
    pub(crate) fn adopt(&mut self, other: &Self) -> Renumbering {
        Renumbering([
            self.sources.adopt(&other.sources),
            self.counters.adopt(&other.counters),
            self.items.adopt(&other.items),
        ])
    }
}

/// The numbers of names elsewhere, by dictionary.
#[derive(Debug)]
pub(crate) struct Renumbering([Vec<u32>; GROWING]);

impl Renumbering {
    /// Those of a dictionary; `None` if they are the same everywhere.
    pub(crate) fn of(&self, dictionary: usize) -> Option<&[u32]> {
        self.0.get(dictionary).map(Vec::as_slice)
    }
}

/// All dictionaries as arrays.
#[derive(Debug, Default)]
pub(crate) struct Dictionaries(Vec<ArrayRef>);

impl Dictionaries {
    pub(crate) fn new(words: &Vocabulary) -> Self {
        let fixed = [&WHENS[..], &CENSORS, &EVENTS];
        let growing = [&words.sources, &words.counters, &words.items];
        let arrays = growing.into_iter().map(Names::array).chain(
            fixed
                .into_iter()
                .map(|words| Arc::new(StringArray::from_iter_values(words)) as ArrayRef),
        );
        Self(arrays.collect())
    }

    /// The words of one.
    pub(crate) fn of(&self, dictionary: usize) -> ArrayRef {
        let empty = || Arc::new(StringArray::from_iter_values([""; 0])) as ArrayRef;
        self.0.get(dictionary).cloned().unwrap_or_else(empty)
    }
}
