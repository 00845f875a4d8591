//! Words of a line with their columns, so that every error can say where it is.

use super::{ParseError, Reason};

/// Longest piece of a bad text that is repeated in an error, in characters.
const QUOTED_CHARS_MAX: usize = 40;

/// The kernel separates with spaces and tabs only.
const BLANKS: [u8; 2] = *b" \t";

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    /// The word itself.
    pub(super) text: &'a str,
    /// Number of its line, from 1.
    pub(super) line: usize,
    /// Column of its first byte, from 1.
    pub(super) column: usize,
}

impl Word<'_> {
    /// The word as a counter value.
    pub(super) fn number(self) -> Result<u64, ParseError> {
        decimal(self.text).ok_or_else(|| self.error(Reason::NotANumber(quoted(self.text))))
    }

    /// The word, short enough for an error message.
    pub(super) fn quoted(self) -> String {
        quoted(self.text)
    }

    /// An error at this word.
    pub(super) fn error(self, reason: Reason) -> ParseError {
        ParseError::at(self.line, self.column, reason)
    }

    /// An error that says that this is no counter's name.
    pub(super) fn not_a_name(self) -> ParseError {
        self.error(Reason::NotAName(quoted(self.text)))
    }

    /// An error that says that this word is too much.
    pub(super) fn surplus(self) -> ParseError {
        self.error(Reason::Surplus(quoted(self.text)))
    }
}

/// The words of one line; `number` counts from 1, `start` is the column before the text, from 0.
pub(super) fn words(text: &str, line: usize, start: usize) -> impl Iterator<Item = Word<'_>> {
    let bytes = text.as_bytes();
    let mut rest = 0;
    std::iter::from_fn(move || {
        let begin = rest + bytes[rest..].iter().position(|byte| !BLANKS.contains(byte))?;
        let length = memchr::memchr2(BLANKS[0], BLANKS[1], &bytes[begin..]);
        let end = length.map_or(text.len(), |length| begin + length);
        rest = end;
        Some(Word { text: &text[begin..end], line, column: start + begin + 1 })
    })
}

/// The numbered lines of a text, from 1, without their newlines.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    let mut number = 0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest.as_bytes());
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or("", |end| &rest[end + 1..]);
        number += 1;
        Some((number, line.strip_suffix('\r').unwrap_or(line)))
    })
}

/// Whether the kernel could have written this as the name of a counter.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Decimal digits and nothing else (`str::parse` would take a leading `+`, the kernel writes none).
fn decimal(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.bytes().try_fold(0_u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// The beginning of a text, short enough for an error message.
fn quoted(text: &str) -> String {
    text.chars().take(QUOTED_CHARS_MAX).collect()
}
