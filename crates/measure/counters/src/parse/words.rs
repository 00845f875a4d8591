//! Words of a line with their columns, so that every error names its position.

const QUOTED_CHARS_MAX: usize = 40;

/// The kernel separates with spaces and tabs only.
const BLANKS: [u8; 2] = *b" \t";

/// A counter file that is not in its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {place}: {reason}")]
pub struct ParseError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Where in the line: `column` and its number in bytes from 1, or `field` and what is missing.
    pub place: String,
    /// What is wrong there.
    pub reason: String,
}

impl ParseError {
    pub(super) fn missing(line: usize, field: &str) -> Self {
        Self { line, place: format!("field {field}"), reason: "missing".to_owned() }
    }

    pub(super) fn empty() -> Self {
        Self { line: 1, place: "column 1".to_owned(), reason: "the file is empty".to_owned() }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl<'a> Word<'a> {
    /// The word as a counter value: only digits (`str::parse` would also take a leading `+`).
    pub(super) fn number(self) -> Result<u64, ParseError> {
        let value = self.text.parse().ok().filter(|_| !self.text.starts_with('+'));
        value.ok_or_else(|| self.unfit("a counter value"))
    }

    pub(super) fn name(self) -> Result<&'a str, ParseError> {
        if is_name(self.text) { Ok(self.text) } else { Err(self.unfit("the name of a counter")) }
    }

    pub(super) fn unfit(self, wanted: &str) -> ParseError {
        self.error("is not", wanted)
    }

    pub(super) fn surplus(self) -> ParseError {
        self.error("is more than", "the format has room for")
    }

    fn error(self, is: &str, what: &str) -> ParseError {
        let quoted: String = self.text.chars().take(QUOTED_CHARS_MAX).collect();
        let place = format!("column {}", self.column);
        ParseError { line: self.line, place, reason: format!("{quoted:?} {is} {what}") }
    }
}

/// Whether the kernel could have written this as the name of a counter.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

pub(super) struct Words<'a> {
    text: &'a str,
    line: usize,
    /// Bytes of the line before the text, and bytes of the text read so far.
    before: usize,
    read: usize,
}

impl<'a> Words<'a> {
    /// The words of a line after `before` bytes; `line` counts from 1.
    pub(super) fn new(text: &'a str, line: usize, before: usize) -> Self {
        Self { text, line, before, read: 0 }
    }

    pub(super) fn field(&mut self, field: &str) -> Result<Word<'a>, ParseError> {
        self.next().ok_or_else(|| ParseError::missing(self.line, field))
    }

    pub(super) fn number(&mut self, field: &str) -> Result<u64, ParseError> {
        self.field(field)?.number()
    }

    pub(super) fn end(mut self) -> Result<(), ParseError> {
        self.next().map_or(Ok(()), |word| Err(word.surplus()))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.text.as_bytes();
        let begin = self.read + bytes[self.read..].iter().position(|it| !BLANKS.contains(it))?;
        let length = memchr::memchr2(BLANKS[0], BLANKS[1], &bytes[begin..]);
        self.read = length.map_or(bytes.len(), |length| begin + length);
        let text = &self.text[begin..self.read];
        Some(Word { text, line: self.line, column: self.before + begin + 1 })
    }
}

/// The numbered lines of a text, from 1, without their newlines.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut rest, mut number) = (text, 0);
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
