//! The order of Debian versions, which is good for releases and names of packages too.

use std::cmp::Ordering;

/// Compares two versions without epochs: runs of digits as numbers, letters before other marks,
/// and `~` before all, even before the end (deb-version(7)).
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.as_bytes(), right.as_bytes());
    while !left.is_empty() || !right.is_empty() {
        let by_text = texts(&mut left, &mut right);
        if by_text != Ordering::Equal {
            return by_text;
        }
        let (left_number, right_number) = (number(&mut left), number(&mut right));
        let by_number = left_number.len().cmp(&right_number.len());
        let by_number = by_number.then_with(|| left_number.cmp(right_number));
        if by_number != Ordering::Equal {
            return by_number;
        }
    }
    Ordering::Equal
}

/// Compares and takes away what stands before the next digits.
fn texts(left: &mut &[u8], right: &mut &[u8]) -> Ordering {
    loop {
        let (left_rank, right_rank) = (rank(left.first()), rank(right.first()));
        if left_rank != right_rank {
            return left_rank.cmp(&right_rank);
        }
        if left_rank == END {
            return Ordering::Equal;
        }
        *left = left.get(1..).unwrap_or_default();
        *right = right.get(1..).unwrap_or_default();
    }
}

/// The rank of a digit or of the end.
const END: u16 = 1;

fn rank(mark: Option<&u8>) -> u16 {
    match mark {
        Some(b'~') => 0,
        None | Some(b'0'..=b'9') => END,
        Some(letter) if letter.is_ascii_alphabetic() => 2 + u16::from(*letter),
        Some(mark) => 300 + u16::from(*mark),
    }
}

/// Takes away the digits in front; without leading zeros, so that the longer number is greater.
fn number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|mark| !mark.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.split_at(zeros).1
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
