//! The last lines of a terminal, drawn again and again, and gone when they are not needed.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::complain;

/// How many draws a second there are at most.
const DRAWS_PER_SECOND: u8 = 5;
/// A terminal that does not say how large it is: columns and rows.
const USUAL: (usize, usize) = (80, 24);

/// The lines that are drawn on standard error.
#[derive(Default)]
pub(super) struct Screen {
    lines: Option<ProgressBar>,
}

impl Screen {
    /// A screen without lines; `None` if standard error is no terminal that can draw lines again.
    pub(super) fn new() -> Option<Self> {
        let is_terminal = std::io::stderr().is_terminal();
        let kind = std::env::var_os("TERM").unwrap_or_default();
        let can_draw = !kind.is_empty() && kind != "dumb";
        (is_terminal && can_draw).then(Self::default)
    }

    /// Columns and rows of the terminal now.
    pub(super) fn size(&self) -> (usize, usize) {
        match rustix::termios::tcgetwinsize(std::io::stderr()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                (size.ws_col.into(), size.ws_row.into())
            }
            _ => USUAL,
        }
    }

    /// Draws other lines in place of the last ones: as many as there is room for, each shorter than
    /// the terminal is wide.
    pub(super) fn show(&mut self, lines: &[String]) {
        let (columns, rows) = self.size();
        let shown = |letter: char| if letter.is_control() { ' ' } else { letter };
        let fitted = lines.iter().take(rows.saturating_sub(1)).map(|line| {
            line.chars().map(shown).take(columns.saturating_sub(1)).collect::<String>()
        });
        // The cursor has a row of its own, so that the ^C of a terminal shifts no line.
        let text: String = fitted.map(|line| line + "\n").collect();
        let drawn = self.lines.get_or_insert_with(|| {
            let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
            let style = ProgressStyle::with_template("{msg}");
            let bar = ProgressBar::with_draw_target(None, target);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        });
        drawn.set_message(text);
    }

    /// Takes the lines away.
    pub(super) fn clear(&mut self) {
        if let Some(lines) = self.lines.take() {
            lines.finish_and_clear();
        }
    }

    /// Prints a sentence that stays, above the lines.
    pub(super) fn say(&self, text: &str) {
        match &self.lines {
            Some(lines) => lines.println(model::shown::shown(text)),
            None => complain(text),
        }
    }
}

/// A text in lines of at most `columns` letters, broken between words; all but the first begin with
/// the text's own indent and two blanks more.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_broken() {
        let text = "  slowest so far: 81ms";
        assert_eq!(wrapped(text, 40), [text]);
        assert_eq!(wrapped(text, 13), ["  slowest so", "    far: 81ms"]);
        assert_eq!(wrapped("extraordinarily", 5), ["extraordinarily"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
