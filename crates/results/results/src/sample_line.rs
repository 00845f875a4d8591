//! A fast parser of usual `sample` lines.
//!
//! **Invariant:** a line is either parsed exactly as by [`model::Line::parse`], or not at all
//! ([`None`]). Not parsed is what writers do not write: escapes, non-ASCII characters, 20-digit
//! numbers, repeated or unknown fields or counters, and unsorted counters.

use model::{Censored, SampleRecord};

use crate::column::Words;

/// Any number of this many digits fits into 64 bits.
const DIGITS: usize = 19;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) source: i32,
    pub(crate) name: i32,
    pub(crate) value: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    pub(crate) sources: Words,
    pub(crate) counters: Words,
    /// Names of the parts of a sample, which become columns.
    pub(crate) parts: Words,
}

/// The last line, and what is expected of the next one.
#[derive(Debug, Default)]
pub(crate) struct SampleLine {
    pub(crate) record: SampleRecord,
    pub(crate) parts: Vec<(i32, u64)>,
    pub(crate) before: Vec<Counter>,
    pub(crate) after: Vec<Counter>,
    /// Sources and names of the counters, usually the same in the next line.
    expected: Vec<(i32, i32)>,
    expected_parts: Vec<i32>,
}

impl SampleLine {
    /// Parses a line without its newline; `words` may get new names even on failure.
    pub(crate) fn read(&mut self, line: &[u8], words: &mut Vocabulary) -> Option<()> {
        self.parts.clear();
        self.before.clear();
        self.after.clear();
        let mut at = Cursor { rest: line };
        let (mut record, mut seen) = (SampleRecord::default(), 0_u32);
        at.object(|at, index| {
            if index == 0 {
                return (at.key()? == b"kind" && at.string()? == b"sample").then_some(());
            }
            // Fields are in order; some may be absent.
            let field = at.field((u32::BITS - seen.leading_zeros()) as usize)?;
            let bit = 1 << field;
            (seen & bit == 0).then_some(())?;
            seen |= bit;
            self.field(field, at, &mut record, words)
        })?;
        self.record = record;
        (seen & REQUIRED == REQUIRED && at.rest.is_empty()).then_some(())
    }

    fn field(
        &mut self,
        field: usize,
        at: &mut Cursor<'_>,
        record: &mut SampleRecord,
        words: &mut Vocabulary,
    ) -> Option<()> {
        match field {
            0 => record.at_ns = at.number()?,
            1 => record.index = u32::try_from(at.number()?).ok()?,
            2 => record.intended_ns = at.number()?,
            3 => record.started_ns = Some(at.number()?),
            4 => record.completed_ns = Some(at.number()?),
            5 => {
                let word = at.string()?;
                let known = Censored::ALL.iter().find(|known| known.name().as_bytes() == word)?;
                record.censored = Some(*known);
            }
            6 => record.censored_at_ns = Some(at.number()?),
            7 => {
                let expected = |index: usize| self.expected_parts.get(index).copied();
                at.map(expected, &mut words.parts, |name, value| self.parts.push((name, value)))?;
                if self.parts.len() != self.expected_parts.len() {
                    self.expected_parts = self.parts.iter().map(|(name, _)| *name).collect();
                }
            }
            8 => at.counters(&mut self.before, &mut self.expected, words)?,
            9 => at.counters(&mut self.after, &mut self.expected, words)?,
            _ => return None,
        }
        Some(())
    }
}

const FIELDS: [&[u8]; 10] = [
    b"at_ns",
    b"index",
    b"intended_ns",
    b"started_ns",
    b"completed_ns",
    b"censored",
    b"censored_at_ns",
    b"parts",
    b"before",
    b"after",
];
/// The required fields, one bit each.
const REQUIRED: u32 = 0b11_0000_0111;

#[derive(Clone, Copy)]
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline]
    fn byte_if(&mut self, byte: u8) -> bool {
        let rest = self.rest.strip_prefix(&[byte]);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    #[inline]
    fn byte(&mut self, byte: u8) -> Option<()> {
        self.byte_if(byte).then_some(())
    }

    /// An object; `entry` parses the key, colon and value of each index.
    #[inline]
    fn object(&mut self, mut entry: impl FnMut(&mut Self, usize) -> Option<()>) -> Option<()> {
        self.byte(b'{')?;
        self.space();
        if self.byte_if(b'}') {
            return Some(());
        }
        for index in 0.. {
            entry(self, index)?;
            self.space();
            if !self.byte_if(b',') {
                break;
            }
            self.space();
        }
        self.byte(b'}')
    }

    #[inline]
    fn space(&mut self) {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// A string of printable ASCII without escapes.
    #[inline]
    fn string(&mut self) -> Option<&'a [u8]> {
        self.byte(b'"')?;
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        let len = self.rest.iter().position(|byte| !is_plain(byte))?;
        let (text, rest) = self.rest.split_at(len);
        self.rest = rest;
        self.byte(b'"')?;
        Some(text)
    }

    #[inline]
    fn key(&mut self) -> Option<&'a [u8]> {
        let key = self.string()?;
        self.colon()?;
        Some(key)
    }

    #[inline]
    fn colon(&mut self) -> Option<()> {
        self.space();
        self.byte(b':')?;
        self.space();
        Some(())
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        let mut len = 0;
        while let Some(digit @ b'0'..=b'9') = self.rest.get(len) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            len += 1;
        }
        // A fraction or exponent fails where a comma is expected.
        let is_plain = len > 0 && len <= DIGITS && (len == 1 || self.rest.first() != Some(&b'0'));
        self.rest = self.rest.get(len..)?;
        is_plain.then_some(value)
    }

    /// The field of a key with its colon, probably the `expected` one.
    #[inline]
    fn field(&mut self, expected: usize) -> Option<usize> {
        for (field, name) in FIELDS.iter().enumerate().skip(expected) {
            if let [b'"', rest @ ..] = self.rest
                && let Some([b'"', rest @ ..]) = rest.strip_prefix(*name)
            {
                self.rest = rest;
                self.colon()?;
                return Some(field);
            }
        }
        let key = self.key()?;
        FIELDS.iter().position(|field| *field == key)
    }

    /// The number of a key with its colon among the names, probably the `expected` one.
    #[inline]
    fn name(&mut self, expected: Option<i32>, names: &mut Words) -> Option<i32> {
        if let Some(number) = expected
            && let name = names.word(number).as_bytes()
            && let [b'"', rest @ ..] = self.rest
            && let Some(rest) = rest.strip_prefix(name)
            && let [b'"', rest @ ..] = rest
        {
            self.rest = rest;
            self.colon()?;
            return Some(number);
        }
        let name = std::str::from_utf8(self.key()?).ok()?;
        Some(names.number(name))
    }

    /// A map of numbers with ascending names.
    #[inline]
    fn map(
        &mut self,
        expected: impl Fn(usize) -> Option<i32>,
        names: &mut Words,
        mut found: impl FnMut(i32, u64),
    ) -> Option<()> {
        let mut last = None;
        self.object(|at, index| {
            let name = at.name(expected(index), names)?;
            ascends(&mut last, name, names)?;
            found(name, at.number()?);
            Some(())
        })
    }

    fn counters(
        &mut self,
        found: &mut Vec<Counter>,
        expected: &mut Vec<(i32, i32)>,
        words: &mut Vocabulary,
    ) -> Option<()> {
        let mut last = None;
        self.object(|at, _| {
            let first = found.len();
            let guess = expected.get(first).map(|(source, _)| *source);
            let source = at.name(guess, &mut words.sources)?;
            ascends(&mut last, source, &words.sources)?;
            let guess = |index: usize| expected.get(first + index).map(|(_, name)| *name);
            let counters = &mut words.counters;
            at.map(guess, counters, |name, value| found.push(Counter { source, name, value }))
        })?;
        let names = found.iter().map(|counter| (counter.source, counter.name));
        if !names.clone().eq(expected.iter().copied()) {
            *expected = names.collect();
        }
        Some(())
    }
}

#[inline]
fn ascends(last: &mut Option<i32>, name: i32, names: &Words) -> Option<()> {
    match last.replace(name) {
        Some(last) if names.word(last) >= names.word(name) => None,
        _ => Some(()),
    }
}
