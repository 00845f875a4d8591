//! Sentences in lines.

/// Columns of a terminal that does not say how many it has.
pub(crate) const COLUMNS: usize = 80;

/// A text in lines of at most `width` letters, broken between words; the first line begins with
/// `first`, the others with `others`. Ends in a newline.
pub(crate) fn wrapped_to(width: usize, text: &str, first: &str, others: &str) -> String {
    let (mut lines, mut line, mut is_begun) = (String::new(), first.to_owned(), false);
    for word in text.split_whitespace() {
        if is_begun && letters(&line) + 1 + letters(word) > width {
            lines += &format!("{line}\n");
            (line, is_begun) = (others.to_owned(), false);
        }
        if is_begun {
            line.push(' ');
        }
        line += word;
        is_begun = true;
    }
    lines + &format!("{line}\n")
}

pub(crate) fn letters(text: &str) -> usize {
    text.chars().count()
}
