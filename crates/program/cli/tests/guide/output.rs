//! Whether a command printed what a page shows.
//!
//! Figures differ from machine to machine, so numbers are masked, with their units, and lines may
//! be broken elsewhere: words are compared, not lines.

/// A line that stands for any lines.
const ANY: &str = "...";
/// Units that may follow a number, or follow it alone.
const UNITS: &[&str] = &[
    "ns", "µs", "us", "ms", "s", "min", "m", "h", "d", "B", "kB", "K", "M", "G", "T", "KiB", "MiB",
    "GiB", "TiB", "k", "MB", "GB", "%", "x",
];

/// The line of the page at which the output differs from it, if it does.
pub(crate) fn mismatch(expected: &[(usize, String)], printed: &str) -> Option<usize> {
    let printed = words(printed);
    let mut rest = &printed[..];
    let parts: Vec<&[(usize, String)]> = expected.split(|(_, line)| line.trim() == ANY).collect();
    let last = parts.len() - 1;
    for (index, part) in parts.into_iter().enumerate() {
        let part: Vec<(usize, String)> = part
            .iter()
            .flat_map(|(number, line)| words(line).into_iter().map(|word| (*number, word)))
            .collect();
        let starts = if index == 0 { 0..=0 } else { 0..=rest.len() };
        let is_end = |from: usize| index < last || from + part.len() == rest.len();
        let found = starts.clone().find(|from| agree(&part, &rest[*from..]) && is_end(*from));
        let Some(from) = found else {
            let equal = |from| part.iter().zip(&rest[from..]).take_while(|(a, b)| a.1 == **b);
            let most = starts.map(|from| equal(from).count()).max().unwrap_or(0);
            let at = part.get(most).or(part.last()).or(expected.last());
            return Some(at.map_or(0, |(line, _)| *line));
        };
        rest = &rest[from + part.len()..];
    }
    None
}

fn agree(part: &[(usize, String)], printed: &[String]) -> bool {
    part.len() <= printed.len()
        && part.iter().zip(printed).all(|((_, expected), word)| expected == word)
}

/// The words of a text, with numbers masked: their units too, joined to them or apart.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let after_number = words.last().is_some_and(|word| word.ends_with('#'));
        let unit = word.trim_end_matches([',', ';', '.', ':', ')', ']']);
        if after_number && UNITS.contains(&unit) {
            words.last_mut().into_iter().for_each(|last| last.push_str(&word[unit.len()..]));
        } else {
            words.push(masked(word));
        }
    }
    words
}

/// A word with `#` for each number in it and the unit behind that; lines of a table as one dash.
fn masked(word: &str) -> String {
    if word.chars().all(|c| matches!(c, '-' | '─' | '━' | '=')) && word.len() > 1 {
        return "--".to_owned();
    }
    let is_hash = |word: &str| {
        word.len() >= 7
            && word.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
            && word.contains(|c: char| c.is_ascii_digit())
    };
    if is_hash(word) {
        return "#".to_owned();
    }
    let mut result = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if number == 0 {
            result.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        rest = &rest[number..];
        // A fraction, or the further numbers of a version.
        while let Some(fraction) = rest.strip_prefix('.') {
            let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if after.len() == fraction.len() {
                break;
            }
            rest = after;
        }
        let letters =
            rest.len() - rest.trim_start_matches(|c: char| c.is_alphabetic() || c == '%').len();
        if UNITS.contains(&&rest[..letters]) {
            rest = &rest[letters..];
        }
        if !result.ends_with('#') {
            result.push('#');
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{masked, mismatch, words};

    fn differs(expected: &str, printed: &str) -> Option<usize> {
        let expected: Vec<(usize, String)> = expected
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.to_owned()))
            .collect();
        mismatch(&expected, printed)
    }

    #[test]
    fn numbers_are_masked_with_their_units() {
        for (word, mask) in [
            ("12.1ms", "#"),
            ("1m30s", "#"),
            ("×4.74", "×#"),
            ("[1.61,", "[#,"),
            ("100%", "#"),
            ("2ctx-mem", "#ctx-mem"),
            ("1.5.", "#."),
            ("6.12.117", "#"),
            ("3f2a9c1", "#"),
            ("defaced", "defaced"),
            ("2026-11-24", "#-#-#"),
            ("------", "--"),
            ("-", "-"),
        ] {
            assert_eq!(masked(word), mask, "{word}");
        }
        assert_eq!(words("in 1.2 s, 40 %  of 3 runs"), ["in", "#,", "#", "of", "#", "runs"]);
    }

    #[test]
    fn figures_and_line_breaks_may_differ() {
        assert_eq!(differs("load  n\nnoload 14 12.1ms", "load n noload\n9 1.2s\n"), None);
        assert_eq!(differs("", ""), None);
    }

    #[test]
    fn other_words_are_found_with_their_line() {
        assert_eq!(differs("a\nb 1\nc", "a\nb 2\nd\n"), Some(3));
        assert_eq!(differs("a\nb", "a\n"), Some(2));
        assert_eq!(differs("a\nb", "a\nb\nc\n"), Some(2));
        assert_eq!(differs("", "a\n"), Some(0));
    }

    #[test]
    fn three_dots_stand_for_any_lines() {
        for printed in ["a\nb\n", "a\nx\ny\nb\n", "a b\nb\n"] {
            assert_eq!(differs("a\n...\nb\n", printed), None, "{printed:?}");
        }
        assert_eq!(differs("...", ""), None);
        assert_eq!(differs("a\n...\nb\nc\n...", "a\nx\nb c\ny"), None);
        assert_eq!(differs("a\n...\nb\n", "a\nb\nc\n"), Some(3));
        assert_eq!(differs("a\n...\nb\nc\n...", "a\nb\nd\n"), Some(4));
    }
}
