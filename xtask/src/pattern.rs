//! Patterns in which `*` stands for any text.

/// Whether a whole text matches the pattern.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| matches(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text_and_all_else_for_itself() {
        assert!(matches("a*c", "abc") && matches("a*c", "ac") && matches("*", "ü"));
        assert!(matches("2.6.0-test11*.out", "2.6.0-test11-mm1.out"));
        assert!(!matches("a*c", "abcd") && !matches("abc", "ab") && !matches("*c", "ab"));
    }
}
