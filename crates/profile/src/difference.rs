//! Which functions account for the difference between two profiles.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::FunctionCounts;

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
}

impl Difference {
    /// Of the functions of two profiles.
    pub fn between(first: &[FunctionCounts], second: &[FunctionCounts]) -> Self {
        let mut both: BTreeMap<&str, [Option<u64>; 2]> = BTreeMap::new();
        for (index, functions) in [first, second].into_iter().enumerate() {
            for function in functions {
                both.entry(&function.name).or_default()[index] = Some(function.own);
            }
        }
        let sum = |functions: &[FunctionCounts]| functions.iter().map(|it| it.own).sum::<u64>();
        let totals = (sum(first), sum(second));
        let all = totals.1 as i64 - totals.0 as i64;
        let difference = |(name, [first, second]): (&&str, &[Option<u64>; 2])| {
            let more = second.unwrap_or(0) as i64 - first.unwrap_or(0) as i64;
            let share = (all != 0).then(|| more as f64 / all as f64);
            FunctionDifference {
                name: (*name).to_owned(),
                first: *first,
                second: *second,
                more,
                share,
            }
        };
        let mut functions: Vec<_> = both.iter().map(difference).filter(|it| it.more != 0).collect();
        functions.sort_by_key(|it| std::cmp::Reverse(it.more.unsigned_abs()));
        Self { first: totals.0, second: totals.1, functions }
    }
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
        assert_eq!(Difference::between(&same, &same).functions, []);
    }
}
