//! Breaks sentences into lines.

/// Columns of a terminal of unknown width.
pub(crate) const COLUMNS: usize = 80;

/// A text in lines of at most `width` letters; the first line begins with `first`, the others with
/// `others`. Ends in a newline.
pub(crate) fn wrapped_to(width: usize, text: &str, first: &str, others: &str) -> String {
    let (mut lines, mut line, mut is_begun) = (String::new(), first.to_owned(), false);
    for word in words(text) {
        if is_begun && letters(&line) + 1 + letters(&word) > width {
            lines += &format!("{line}\n");
            (line, is_begun) = (others.to_owned(), false);
        }
        if is_begun {
            line.push(' ');
        }
        line += &word;
        is_begun = true;
    }
    lines + &format!("{line}\n")
}

/// Words, and intervals such as `[0.22, 6.39]`, which stay in one line.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = text.split_whitespace().peekable();
    std::iter::from_fn(move || {
        let mut word = words.next()?.to_owned();
        if word.contains('[') && word.ends_with(',') {
            let end = words.next_if(|next| next.contains(']')).map(|end| format!(" {end}"));
            word.extend(end);
        }
        Some(word)
    })
}

pub(crate) fn letters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_stays_in_one_line() {
        let text = "it rose to 3.5 times [3.4, 3.6], as [listed, or more, said]";
        let lines = "it rose to 3.5 times\n  [3.4, 3.6], as\n  [listed, or more,\n  said]\n";
        assert_eq!(wrapped_to(20, text, "", "  "), lines);
    }
}
