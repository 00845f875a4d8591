//! Which functions account for the difference between two profiles, or between two levels with several
//! runs each.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Serialize;
use stats::{Pairing, mean_difference};

use crate::call_stacks::{CallStacks, FunctionCounts};
use crate::common_names::{RenamedFiles, source_name};
use crate::counted::Counted;
use crate::function_changes::{FunctionChange, FunctionChanges};
use crate::sampled::SampledProfile;

/// The share of a difference that counts as most of it; what is beyond is compensated elsewhere.
const MOST: RangeInclusive<f64> = 0.8..=1.25;
/// The probability with which an interval has the mean of all seeds.
const CONFIDENCE: f64 = 0.95;

/// How a function differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionDifference {
    /// Its name.
    pub name: String,
    /// Instructions of its own in the first profile; `None` if it does not occur there.
    pub first: Option<u64>,
    /// Instructions of its own in the second profile; `None` if it does not occur there.
    pub second: Option<u64>,
    /// How many more there are in the second one.
    pub more: i64,
    /// The part of the difference of all instructions; `None` if that is 0.
    pub share: Option<f64>,
    /// With several pairs, the interval of 95 % of how many more there are on average (Student's t).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// How two profiles differ, or the mean of several pairs of profiles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// What is counted.
    #[serde(skip_serializing_if = "Counted::is_usual")]
    pub counted: Counted,
    /// How many pairs there are.
    pub pairs: usize,
    /// Whether the counts are those of one command, the mean of all in a run.
    pub is_per_command: bool,
    /// Instructions of the first profile.
    pub first: u64,
    /// Instructions of the second profile.
    pub second: u64,
    /// With several pairs, the interval of 95 % of the mean difference (Student's t).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The functions that differ, the largest differences first.
    pub functions: Vec<FunctionDifference>,
    /// Where most of it is, if that is one function; of counts, which have no chance of their own.
    pub culprit: Option<Culprit>,
    /// The functions whose times differ for certain; of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<FunctionChanges>,
}

/// The function in which a difference is, with what it calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Culprit {
    /// Its name.
    pub name: String,
    /// Its instructions, callees included, and its entries in the first profile.
    pub first: (u64, u64),
    /// Its instructions, callees included, and its entries in the second profile.
    pub second: (u64, u64),
    /// The part of the difference of all instructions.
    pub share: f64,
}

/// The functions of two profiles.
pub type FunctionPair = [Vec<FunctionCounts>; 2];

/// A function in the first and second profiles of all pairs.
struct InBoth {
    sums: [Option<FunctionCounts>; 2],
    /// Its own instructions in each profile.
    own: [Vec<f64>; 2],
}

type Functions = BTreeMap<String, InBoth>;

impl Difference {
    /// The mean of the differences of pairs of profiles, such as of two kernels with the same seed.
    pub fn of(pairs: &[FunctionPair]) -> Self {
        let both = sums(pairs);
        let count = pairs.len().max(1) as u64;
        let mean = |sum: u64| (sum + count / 2) / count;
        let own = |it: &InBoth, side: usize| it.sums[side].as_ref().map(|sum| sum.own);
        let [first, second] =
            [0, 1].map(|side| both.values().filter_map(|it| own(it, side)).sum::<u64>());
        let all = second as i64 - first as i64;
        let difference = |(name, it): (&String, &InBoth)| {
            let [first, second] = [0, 1].map(|side| own(it, side));
            let more = second.unwrap_or(0) as i64 - first.unwrap_or(0) as i64;
            FunctionDifference {
                name: name.clone(),
                first: first.map(mean),
                second: second.map(mean),
                more: (more as f64 / count as f64).round() as i64,
                share: (all != 0).then(|| more as f64 / all as f64),
                interval: interval(&it.own),
            }
        };
        let mut functions: Vec<_> = both.iter().map(difference).filter(|it| it.more != 0).collect();
        functions.sort_by_key(|it| std::cmp::Reverse(it.more.unsigned_abs()));
        let totals = |side: usize| {
            let total = |pair: &FunctionPair| pair[side].iter().map(|it| it.own as f64).sum();
            pairs.iter().map(total).collect()
        };
        let interval = interval(&[0, 1].map(totals));
        let is_certain = interval.is_none_or(|(low, high)| low > 0.0 || high < 0.0);
        let culprit = culprit(&both, all).filter(|_| is_certain);
        let culprit = culprit.map(|it| Culprit {
            first: (mean(it.first.0), mean(it.first.1)),
            second: (mean(it.second.0), mean(it.second.1)),
            ..it
        });
        let (first, second, pairs) = (mean(first), mean(second), pairs.len());
        let (counted, is_per_command) = (Counted::default(), false);
        Self {
            counted,
            pairs,
            is_per_command,
            first,
            second,
            interval,
            functions,
            culprit,
            changes: None,
        }
    }

    /// The functions with at least this part of all that differs, more or less, each with its part; the
    /// largest first. A part that the compiler split off a function (`.cold`, `.isra.0`) counts as the
    /// function.
    pub fn parts(&self, least: f64) -> Vec<(String, f64)> {
        let size = |it: &FunctionDifference| it.more.unsigned_abs() as f64;
        let all: f64 = self.functions.iter().map(size).sum();
        let mut parts: BTreeMap<String, f64> = BTreeMap::new();
        for function in &self.functions {
            *parts.entry(source_name(&function.name)).or_default() += size(function) / all;
        }
        let mut large: Vec<_> = parts.into_iter().filter(|(_, part)| *part >= least).collect();
        large.sort_by(|one, other| other.1.total_cmp(&one.1));
        large
    }

    /// The mean of the differences of blocks, each a profile of the first and of the second command: of
    /// the time on a CPU or of the waits. It is the kind of time with the function that changed most, or
    /// else the one that differs more. The chance that a function is named wrongly is `level`.
    pub fn of_profiles(blocks: &[[SampledProfile; 2]], level: f64) -> Self {
        let changes = FunctionChanges::of(blocks, level);
        let mut kinds = Counted::TIMES.map(|(counted, part)| {
            let functions = |profile: &SampledProfile| {
                let mut functions = profile.functions(profile.counts(part));
                functions.iter_mut().for_each(|it| it.name = source_name(&it.name));
                functions
            };
            let pairs: Vec<FunctionPair> =
                blocks.iter().map(|pair| pair.each_ref().map(functions)).collect();
            Self { counted, culprit: None, ..Self::of(&pairs) }
        });
        let size = |it: &Self| it.second.abs_diff(it.first);
        let first = changes.named().next().map(|it: &FunctionChange| it.counted);
        kinds.sort_by_key(|it| std::cmp::Reverse((first == Some(it.counted), size(it))));
        let [shown, _] = kinds;
        Self { changes: Some(changes), ..shown }
    }
}

/// The sums over all pairs, by name.
fn sums(pairs: &[FunctionPair]) -> Functions {
    let names = |side: usize| {
        pairs.iter().flat_map(move |pair| pair[side].iter().map(|it| it.name.as_str()))
    };
    let renamed = RenamedFiles::of(names(0), names(1));
    let zeros = [0, 1].map(|_| vec![0.0; pairs.len()]);
    let mut functions = Functions::new();
    for (number, pair) in pairs.iter().enumerate() {
        for (side, found) in pair.iter().enumerate() {
            for more in found {
                let function = functions
                    .entry(renamed.common_name(&more.name))
                    .or_insert_with(|| InBoth { sums: [None, None], own: zeros.clone() });
                function.own[side][number] += more.own as f64;
                match &mut function.sums[side] {
                    place @ None => *place = Some(more.clone()),
                    Some(sum) => {
                        sum.own += more.own;
                        sum.with_callees += more.with_callees;
                        sum.entries += more.entries;
                    }
                }
            }
        }
    }
    functions
}

/// The interval of the mean difference; `None` for one pair.
fn interval([first, second]: &[Vec<f64>; 2]) -> Option<(f64, f64)> {
    mean_difference(first, second, Pairing::Paired, CONFIDENCE)
}

/// The function of both profiles with the fewest instructions in which most of a difference is. One
/// that only one profile has may do under another name what was done before.
fn culprit(both: &Functions, all: i64) -> Option<Culprit> {
    let found = both.iter().filter_map(|(name, both)| {
        let counts = |it: &FunctionCounts| (it.with_callees, it.entries);
        let [Some(first), Some(second)] = [0, 1].map(|side| both.sums[side].as_ref().map(counts))
        else {
            return None;
        };
        let share = (second.0 as i64 - first.0 as i64) as f64 / all as f64;
        let is_most = MOST.contains(&share) && !name.starts_with('[');
        is_most.then(|| Culprit { name: name.clone(), first, second, share })
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
        let first = vec![function("same", 5), function("gone", 10), function("more", 7)];
        let second = vec![function("same", 5), function("new", 4), function("more", 57)];
        let difference = Difference::of(&[[first, second]]);
        let names: Vec<&str> = difference.functions.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["more", "gone", "new"]);
        let gone = &difference.functions[1];
        assert_eq!((gone.first, gone.second, gone.more), (Some(10), None, -10));
        let sum: f64 = difference.functions.iter().filter_map(|it| it.share).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        assert_eq!((difference.first, difference.second), (22, 66));
    }

    #[test]
    fn parts_are_those_of_functions_as_the_source_has_them() {
        let first = vec![function("f", 10), function("f.cold", 0), function("g.isra.0", 50)];
        let second = vec![function("f", 60), function("f.cold", 20), function("g.isra.0", 20)];
        let difference = Difference::of(&[[first, second]]);
        let parts = difference.parts(0.05);
        assert_eq!(parts, [("f".to_owned(), 0.7), ("g".to_owned(), 0.3)]);
        assert_eq!(difference.parts(0.5).len(), 1);
    }

    #[test]
    fn equal_profiles_have_no_difference() {
        let same = vec![function("f", 5)];
        let difference = Difference::of(&[[same.clone(), same]]);
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
            vec![with("[user]", 50, 200, 1), with("outer", 50, 150, 4), with("inner", 100, 100, 8)];
        let second = vec![
            with("[user]", 50, 300, 1),
            with("outer", 50, 250, 4),
            with("inner", 60, 195, 8),
            with("new", 140, 140, 8),
            with("split", 0, 95, 8),
        ];
        let culprit = Difference::of(&[[first, second]]).culprit.unwrap();
        assert_eq!(
            (culprit.name.as_str(), culprit.first, culprit.second),
            ("inner", (100, 8), (195, 8))
        );
        assert!((culprit.share - 0.95).abs() < 1e-12);
    }

    #[test]
    fn several_pairs_have_means_and_intervals() {
        let pair = |more: u64, noise: u64| {
            let second = vec![function("f", 100 + more), function("other", 50 + noise)];
            [vec![function("f", 100), function("other", 50)], second]
        };
        let certain = Difference::of(&[pair(40, 1), pair(44, 0), pair(42, 1)]);
        assert_eq!((certain.pairs, certain.first, certain.second), (3, 150, 193));
        let f = &certain.functions[0];
        assert_eq!((f.name.as_str(), f.first, f.second, f.more), ("f", Some(100), Some(142), 42));
        // Student's t for 2 degrees of freedom: 4.303 times 2 / √3.
        let (low, high) = f.interval.unwrap();
        assert!((low - 37.03).abs() < 0.01 && (high - 46.97).abs() < 0.01, "{low} {high}");
        assert_eq!(certain.culprit.unwrap().name, "f");
        let by_chance = Difference::of(&[pair(40, 0), pair(0, 0), pair(2, 0)]);
        assert_eq!(by_chance.culprit, None);
        assert!(by_chance.interval.unwrap().0 < 0.0);
    }
}
