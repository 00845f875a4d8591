//! The order of Debian versions, which suits releases and package names too.

use std::cmp::Ordering;
use std::iter::{from_fn, once};

/// Compares versions (deb-version(7), no epochs): numbers by value, letters first, `~` even before.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    pieces(left).cmp(pieces(right))
}

/// Ranks of the marks before a number, and its digits without leading zeros; last the end.
fn pieces(mut rest: &str) -> impl Iterator<Item = (Vec<u16>, usize, &str)> {
    let pieces = from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let begin = rest.find(|mark: char| mark.is_ascii_digit()).unwrap_or(rest.len());
        let (marks, number) = rest.split_at(begin);
        let end = number.find(|mark: char| !mark.is_ascii_digit()).unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        rest = after;
        let number = number.trim_start_matches('0');
        Some((marks.bytes().map(rank).chain([END]).collect(), number.len(), number))
    });
    pieces.chain(once((vec![END], 0, "")))
}

/// The rank of a digit or the end.
const END: u16 = 1;

fn rank(mark: u8) -> u16 {
    match mark {
        b'~' => 0,
        letter if letter.is_ascii_alphabetic() => 2 + u16::from(letter),
        mark => 300 + u16::from(mark),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_ascend() {
        let ascending = [
            "1.0~rc1", "1.0", "1.0a", "1.0+b1", "1.2", "1.10", "6.1.0-9", "6.1.0-47", "6.12.9",
            "6.12.10",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare("1.01", "1.1"), Ordering::Equal);
    }

    proptest::proptest! {
        #[test]
        fn it_is_an_order(left in "[0-9a~.+-]{0,6}", right in "[0-9a~.+-]{0,6}", third in "[0-9a~.+-]{0,6}") {
            assert_eq!(compare(&left, &right), compare(&right, &left).reverse());
            assert_eq!(compare(&left, &left), Ordering::Equal);
            if compare(&left, &right).is_le() && compare(&right, &third).is_le() {
                assert!(compare(&left, &third).is_le());
            }
        }
    }
}
