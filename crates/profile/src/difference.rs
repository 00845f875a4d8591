//! Which functions account for the difference between two profiles.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::FunctionCounts;

/// The share of a difference that counts as most of it; what is beyond is compensated elsewhere.
const MOST: RangeInclusive<f64> = 0.8..=1.25;

/// How a function differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionDifference {
    /// Its name.
    pub name: String,
    /// Instructions of its own in the first profile; `None` if it does not occur there.
    pub first: Option<u64>,
    /// The same in the second one.
    pub second: Option<u64>,
    /// How many more there are in the second one.
    pub more: i64,
    /// The part of the difference of all instructions; `None` if that is 0.
    pub share: Option<f64>,
}

/// How two profiles differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Instructions of the first one.
    pub first: u64,
    /// Of the second one.
    pub second: u64,
    /// The functions that differ, the largest differences first.
    pub functions: Vec<FunctionDifference>,
    /// Where most of it is, if that is one function.
    pub culprit: Option<Culprit>,
}

/// The function in which a difference is, with what it calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Culprit {
    /// Its name.
    pub name: String,
    /// Its instructions, callees included, and its entries in the first profile.
    pub first: (u64, u64),
    /// The same in the second one.
    pub second: (u64, u64),
    /// The part of the difference of all instructions.
    pub share: f64,
}

impl Difference {
    /// Of the functions of two profiles.
    pub fn between(first: &[FunctionCounts], second: &[FunctionCounts]) -> Self {
        let mut both: BTreeMap<&str, [Option<&FunctionCounts>; 2]> = BTreeMap::new();
        for (index, functions) in [first, second].into_iter().enumerate() {
            for function in functions {
                both.entry(&function.name).or_default()[index] = Some(function);
            }
        }
        let sum = |functions: &[FunctionCounts]| functions.iter().map(|it| it.own).sum::<u64>();
        let totals = (sum(first), sum(second));
        let all = totals.1 as i64 - totals.0 as i64;
        let difference = |(name, both): (&&str, &[Option<&FunctionCounts>; 2])| {
            let [first, second] = both.map(|found| found.map(|it| it.own));
            let more = second.unwrap_or(0) as i64 - first.unwrap_or(0) as i64;
            let share = (all != 0).then(|| more as f64 / all as f64);
            FunctionDifference { name: (*name).to_owned(), first, second, more, share }
        };
        let mut functions: Vec<_> = both.iter().map(difference).filter(|it| it.more != 0).collect();
        functions.sort_by_key(|it| std::cmp::Reverse(it.more.unsigned_abs()));
        Self { first: totals.0, second: totals.1, functions, culprit: culprit(&both, all) }
    }
}

/// The function of both profiles with the fewest instructions in which most of a difference is. One
/// that only one profile has may do under another name what was done before.
fn culprit(both: &BTreeMap<&str, [Option<&FunctionCounts>; 2]>, all: i64) -> Option<Culprit> {
    let found = both.iter().filter_map(|(name, both)| {
        let counts = |it: &FunctionCounts| (it.with_callees, it.entries);
        let [Some(first), Some(second)] = both.map(|found| found.map(counts)) else {
            return None;
        };
        let share = (second.0 as i64 - first.0 as i64) as f64 / all as f64;
        let is_most = MOST.contains(&share) && !name.starts_with('[');
        is_most.then(|| Culprit { name: (*name).to_owned(), first, second, share })
    });
    found.min_by_key(|it| it.first.0.max(it.second.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, own: u64) -> FunctionCounts {
        FunctionCounts { name: name.to_owned(), own, with_callees: own, entries: 1 }
    }

    #[test]
    fn shares_sum_to_the_whole_and_new_functions_are_marked() {
        let first = [function("same", 5), function("gone", 10), function("more", 7)];
        let second = [function("same", 5), function("new", 4), function("more", 57)];
        let difference = Difference::between(&first, &second);
        let names: Vec<&str> = difference.functions.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["more", "gone", "new"]);
        let gone = &difference.functions[1];
        assert_eq!((gone.first, gone.second, gone.more), (Some(10), None, -10));
        let sum: f64 = difference.functions.iter().filter_map(|it| it.share).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        assert_eq!((difference.first, difference.second), (22, 66));
    }

    #[test]
    fn equal_profiles_have_no_difference() {
        let same = [function("f", 5)];
        let difference = Difference::between(&same, &same);
        assert_eq!((difference.functions, difference.culprit), (vec![], None));
    }

    #[test]
    fn the_most_specific_function_with_most_of_the_difference_is_named() {
        let with = |name: &str, own, with_callees, entries| FunctionCounts {
            name: name.to_owned(),
            own,
            with_callees,
            entries,
        };
        let first =
            [with("[user]", 50, 200, 1), with("outer", 50, 150, 4), with("inner", 100, 100, 8)];
        let second = [
            with("[user]", 50, 300, 1),
            with("outer", 50, 250, 4),
            with("inner", 60, 195, 8),
            with("new", 140, 140, 8),
            with("split", 0, 95, 8),
        ];
        let culprit = Difference::between(&first, &second).culprit.unwrap();
        assert_eq!(
            (culprit.name.as_str(), culprit.first, culprit.second),
            ("inner", (100, 8), (195, 8))
        );
        assert!((culprit.share - 0.95).abs() < 1e-12);
    }
}
