//! Text that looks like text: words by Zipf's law, sentences, and sources of the toy language.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

const SYLLABLES: [&str; 32] = [
    "page", "the", "ing", "mo", "ver", "no", "re", "sys", "tem", "ta", "ble", "pro", "cess", "com",
    "pi", "ler", "de", "lay", "me", "ry", "seg", "ment", "di", "rec", "to", "vir", "tu", "al",
    "fa", "ult", "in", "put",
];
const VOCABULARY: usize = 2000;
const LINE_WORDS: usize = 11;

pub(crate) struct Author {
    random: Pcg64Mcg,
    words: Vec<String>,
}

impl Author {
    pub(crate) fn new(mut random: Pcg64Mcg) -> Self {
        let words = (0..VOCABULARY)
            .map(|_| {
                let syllables = random.random_range(1..4);
                (0..syllables).map(|_| SYLLABLES[random.random_range(0..SYLLABLES.len())]).collect()
            })
            .collect();
        Self { random, words }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.random.random_range(0..limit)
    }

    /// A random word by Zipf's law: a uniform rank below a uniform limit.
    pub(crate) fn word(&mut self) -> &str {
        let limit = self.random.random_range(1..=VOCABULARY);
        let rank = self.random.random_range(0..limit);
        &self.words[rank]
    }

    pub(crate) fn prose(&mut self, size_bytes: usize) -> String {
        let mut text = String::with_capacity(size_bytes + 128);
        while text.len() < size_bytes {
            for place in 0..LINE_WORDS {
                let end = if place + 1 == LINE_WORDS { ".\n" } else { " " };
                text.push_str(self.word());
                text.push_str(end);
            }
        }
        text
    }

    pub(crate) fn list(&mut self, size_bytes: usize) -> String {
        let mut text = String::with_capacity(size_bytes + 64);
        while text.len() < size_bytes {
            let number = self.below(1000);
            text.push_str(&format!("{}{number}\n", self.word()));
        }
        text
    }

    /// The text with some lines changed, removed or added.
    pub(crate) fn revision(&mut self, text: &str) -> String {
        let mut revised = String::with_capacity(text.len() + 1024);
        for line in text.lines() {
            match self.below(40) {
                0 => {}
                1 => revised.push_str(&format!("{line} {}\n", self.word())),
                2 => revised.push_str(&format!("{line}\nand {}.\n", self.word())),
                _ => revised.push_str(&format!("{line}\n")),
            }
        }
        revised
    }

    /// Functions of the toy language, a subset of C with `int` only, with names from `prefix`.
    pub(crate) fn source(&mut self, prefix: &str, functions: usize) -> String {
        let mut text = String::new();
        for number in 0..functions {
            text.push_str(&format!("int {prefix}{number}(int a, int b) {{\n"));
            text.push_str("    int x = a;\n    int y = b;\n    int i = 0;\n");
            for _ in 0..8 + self.below(8) {
                let statement = self.statement(prefix, number);
                text.push_str(&statement);
            }
            text.push_str("    return x + y;\n}\n\n");
        }
        text
    }

    fn statement(&mut self, prefix: &str, number: usize) -> String {
        let (one, other) = (self.below(1000), 1 + self.below(99));
        let callee = self.below(number.max(1));
        match self.below(6) {
            0 => format!("    x = x * {other} + y;\n"),
            1 => format!("    if (x > {one}) {{ y = y - {other}; }}\n"),
            2 => format!("    while (i < {other}) {{ i = i + 1; x = x + i * {one}; }}\n"),
            3 if number > 0 => format!("    y = {prefix}{callee}(x, y + {one});\n"),
            4 => format!("    y = (x - {one}) * (y + {other});\n"),
            _ => format!("    x = y - x / {other};\n"),
        }
    }
}
