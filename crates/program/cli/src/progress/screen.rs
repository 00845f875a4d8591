//! The last lines of a terminal, redrawn; each fits its width.

use std::io::{IsTerminal, Write};
use std::time::Instant;

/// Most draws that may follow each other without a pause.
const MOST_AT_ONCE: f64 = 10.0;
/// How many draws a second there may be for longer.
const DRAWS_PER_SECOND: f64 = 5.0;
/// A terminal that does not report its size.
const USUAL: Size = Size { columns: 80, rows: 24 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

pub(super) struct Screen {
    lines: Vec<String>,
    /// Draws that may follow each other without a pause.
    draws: f64,
    drawn: Instant,
}

impl Screen {
    /// A screen without lines; `None` if standard error is not a terminal that can draw lines
    /// again.
    pub(super) fn new() -> Option<Self> {
        let is_terminal = std::io::stderr().is_terminal();
        let kind = std::env::var_os("TERM").unwrap_or_default();
        let can_draw = !kind.is_empty() && kind != "dumb";
        let screen = Self { lines: Vec::new(), draws: MOST_AT_ONCE, drawn: Instant::now() };
        (is_terminal && can_draw).then_some(screen)
    }

    /// The size of the terminal if it is time to draw, which is a few times a second.
    pub(super) fn size_if_due(&mut self) -> Option<Size> {
        let passed_s = self.drawn.elapsed().as_secs_f64();
        self.drawn = Instant::now();
        self.draws = (self.draws + passed_s * DRAWS_PER_SECOND).min(MOST_AT_ONCE);
        let is_due = self.draws >= 1.0;
        self.draws -= f64::from(u8::from(is_due));
        is_due.then(|| self.size())
    }

    fn size(&self) -> Size {
        match rustix::termios::tcgetwinsize(std::io::stderr()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            _ => USUAL,
        }
    }

    /// Replaces the lines drawn last; without `lines` it only clears them.
    pub(super) fn show(&mut self, lines: Vec<String>) {
        if lines.is_empty() && self.lines.is_empty() {
            return;
        }
        let size = self.size();
        let lines = fitted(lines, size);
        write(&frame(&self.lines, size, None, &lines));
        self.lines = lines;
    }

    /// Says a sentence that stays, above the lines.
    pub(super) fn say(&self, text: &str) {
        write(&frame(&self.lines, self.size(), Some(text), &self.lines));
    }
}

/// A terminal that is gone is no reason to fail.
fn write(text: &str) {
    let mut terminal = std::io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

/// A text in lines of at most `columns` characters, broken between words; all but the first begin
/// with the text's own indent and two blanks more.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let letters = |text: &str| text.chars().count();
    let indent = text.len() - text.trim_start().len();
    let (mut lines, mut line) = (Vec::new(), " ".repeat(indent));
    for word in text.split_whitespace() {
        let is_begun = line.len() > indent;
        if is_begun && letters(&line) + 1 + letters(word) > columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent + 2)));
        } else if is_begun {
            line.push(' ');
        }
        line += word;
    }
    lines.push(line);
    lines
}

/// As many lines as there is room for above the cursor's own, each shorter than the terminal is
/// wide, so that none wraps into the next row.
fn fitted(mut lines: Vec<String>, size: Size) -> Vec<String> {
    lines.truncate(size.rows.saturating_sub(1));
    let most = size.columns.saturating_sub(1);
    let shown = |letter: char| if letter.is_control() { ' ' } else { letter };
    lines.iter().map(|line| line.chars().map(shown).take(most).collect()).collect()
}

/// What a terminal has to be sent, with the cursor below the lines that it shows, before and after.
///
/// A terminal that has become narrower has rewrapped the lines, so rows are counted at its present
/// width. A character is taken to be one column wide.
fn frame(shown: &[String], size: Size, message: Option<&str>, lines: &[String]) -> String {
    let rows = |line: &String| line.chars().count().div_ceil(size.columns).max(1);
    let mut text = match shown.iter().map(rows).sum::<usize>() {
        // Whatever was typed meanwhile goes too, such as the ^C.
        0 => "\r".to_owned(),
        up => format!("\r\x1b[{up}A"),
    };
    if let Some(message) = message {
        text += &format!("\x1b[J{}\n", model::shown::shown(message));
    }
    for line in lines {
        text += &format!("{line}\x1b[K\n");
    }
    text + "\x1b[J"
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Size = Size { columns: 10, rows: 4 };

    fn owned(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn words_are_not_broken() {
        let text = "  slowest so far: 81ms";
        assert_eq!(wrapped(text, 40), [text]);
        assert_eq!(wrapped(text, 13), ["  slowest so", "    far: 81ms"]);
        assert_eq!(wrapped("extraordinarily", 5), ["extraordinarily"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn no_line_goes_on_in_the_next_row_and_the_cursor_has_its_own() {
        let lines = owned(&["a line of many words", "two\nlines", "3", "4", "5"]);
        assert_eq!(fitted(lines, NARROW), ["a line of", "two lines", "3"]);
        assert_eq!(fitted(owned(&["1"]), Size { columns: 0, rows: 0 }), [""; 0]);
    }

    #[test]
    fn what_was_drawn_is_drawn_over_and_nothing_is_left() {
        let shown = owned(&["1", "2"]);
        let drawn = frame(&shown, NARROW, None, &owned(&["3"]));
        assert_eq!(drawn, "\r\x1b[2A3\x1b[K\n\x1b[J");
        assert_eq!(frame(&shown, NARROW, None, &[]), "\r\x1b[2A\x1b[J");
        assert_eq!(frame(&[], NARROW, None, &shown), "\r1\x1b[K\n2\x1b[K\n\x1b[J");
    }

    #[test]
    fn a_sentence_stays_above_the_lines() {
        let shown = owned(&["1"]);
        let text = frame(&shown, NARROW, Some("a long sentence"), &shown);
        assert_eq!(text, "\r\x1b[1A\x1b[Ja long sentence\n1\x1b[K\n\x1b[J");
    }

    #[test]
    fn lines_that_a_narrower_terminal_has_broken_are_all_taken_away() {
        let shown = owned(&["as wide as twenty-five is", "1234567890", ""]);
        assert!(frame(&shown, NARROW, None, &[]).starts_with("\r\x1b[5A"));
    }
}
