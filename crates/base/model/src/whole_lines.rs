//! Chunks of bytes, cut into whole lines.

/// The lines of bytes, each with its newline except maybe the last.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let (line, behind) = rest.split_at(length);
        rest = behind;
        (!line.is_empty()).then_some(line)
    })
}

/// Length of the whole lines, newlines included.
pub fn length(bytes: &[u8]) -> usize {
    memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1)
}

/// Takes the whole lines received so far; an incomplete line stays.
pub fn take(from: &mut Vec<u8>) -> Vec<u8> {
    match length(from) {
        0 => Vec::new(),
        whole => {
            let rest = from.split_off(whole);
            std::mem::replace(from, rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whole_lines_and_the_rest_are_all_there_is(bytes in "[ab\n]{0,20}") {
            let bytes = bytes.as_bytes();
            let mut rest = bytes.to_vec();
            let whole = take(&mut rest);
            prop_assert_eq!([whole.clone(), rest.clone()].concat(), bytes);
            prop_assert!(!rest.contains(&b'\n'));
            let expected: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
            prop_assert_eq!(lines(&whole).collect::<Vec<_>>(), expected);
        }
    }
}
