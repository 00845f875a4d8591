//! Words that occur again and again, as numbers.

use std::collections::HashMap;

/// Words in the order of their first appearance; the position is a word's number.
#[derive(Clone, Debug, Default)]
pub struct Words {
    words: Vec<Box<str>>,
    numbers: HashMap<Box<str>, i32>,
}

impl Words {
    /// The number of a word, a new one if it was not there.
    pub(crate) fn number(&mut self, word: &str) -> i32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        // Each word stands in some line in memory, so there are fewer than 2^31.
        let number = self.words.len() as i32;
        self.words.push(word.into());
        self.numbers.insert(word.into(), number);
        number
    }

    /// A word by its number.
    pub fn word(&self, number: i32) -> &str {
        self.words.get(number as usize).map_or("", AsRef::as_ref)
    }

    /// All of them, in the order of their numbers.
    pub fn all(&self) -> &[Box<str>] {
        &self.words
    }
}
