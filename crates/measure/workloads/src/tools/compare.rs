//! `compare`: the differing lines of two files.

use std::collections::BTreeMap;

use super::{Done, read_text, write};

pub(super) fn compare(one: &str, other: &str, to: &str) -> Done {
    let (one, other) = (read_text(one)?, read_text(other)?);
    let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    write(to, differences(&one, &other))
}

/// The differences of two texts, `<` before lines of the first and `>` before lines of the second,
/// around lines that occur once in both, in the same order (patience diff, B. Cohen).
fn differences(one: &[&str], other: &[&str]) -> String {
    let mut text = String::new();
    let (mut left, mut right) = (0, 0);
    let anchors = anchors(one, other);
    for (at, partner) in anchors.into_iter().chain([(one.len(), other.len())]) {
        while left < at && right < partner && one[left] == other[right] {
            left += 1;
            right += 1;
        }
        for line in &one[left..at] {
            text.push_str(&format!("< {line}\n"));
        }
        for line in &other[right..partner] {
            text.push_str(&format!("> {line}\n"));
        }
        (left, right) = (at, partner);
    }
    text
}

/// The common lines of both texts: the longest rising sequence of pairs.
fn anchors(one: &[&str], other: &[&str]) -> Vec<(usize, usize)> {
    let mut places: BTreeMap<&str, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (at, line) in one.iter().enumerate() {
        places.entry(line).or_default().0.push(at);
    }
    for (at, line) in other.iter().enumerate() {
        places.entry(line).or_default().1.push(at);
    }
    let mut pairs: Vec<(usize, usize)> = places
        .values()
        .filter_map(|(left, right)| match (left.as_slice(), right.as_slice()) {
            ([at], [partner]) => Some((*at, *partner)),
            _ => None,
        })
        .collect();
    pairs.sort_unstable();
    // Piles: the smallest last partner of a sequence of each length, and the pair before it.
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, (_, partner)) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|top| pairs[*top].1 < *partner);
        before.push(pile.checked_sub(1).map(|below| piles[below]));
        match piles.get_mut(pile) {
            Some(top) => *top = index,
            None => piles.push(index),
        }
    }
    let mut found = Vec::new();
    let mut last = piles.last().copied();
    while let Some(index) = last {
        found.push(pairs[index]);
        last = before[index];
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_came_and_went_are_told() {
        assert_eq!(differences(&["a", "b", "c"], &["a", "c", "d"]), "< b\n> d\n");
        assert_eq!(differences(&["a", "b"], &["a", "b"]), "");
        assert_eq!(differences(&[], &["x"]), "> x\n");
        assert_eq!(differences(&["x", "x", "q"], &["x", "q"]), "< x\n");
    }

    proptest::proptest! {
        #[test]
        fn the_other_text_follows_from_the_first(
            one in "[abcde]{0,30}", other in "[abcde]{0,30}",
        ) {
            let first: Vec<&str> = one.split("").filter(|line| !line.is_empty()).collect();
            let second: Vec<&str> = other.split("").filter(|line| !line.is_empty()).collect();
            let printed = differences(&first, &second);
            let count = |sign: &str| printed.lines().filter(|line| line.starts_with(sign)).count();
            // What is not printed is the same in both.
            proptest::prop_assert_eq!(first.len() - count("<"), second.len() - count(">"));
            let is_same = first == second;
            proptest::prop_assert_eq!(printed.is_empty(), is_same);
        }
    }
}
