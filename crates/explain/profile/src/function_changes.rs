//! Which functions changed between two commands, from blocks: one profile of each command by turns.
//!
//! The block is the unit. Samples of one run are not independent of each other, and runs differ by more
//! than their samples: with as little as a fifth of a point from run to run, a test over samples that
//! should be wrong in 5 % of all cases is wrong in 7 %. What is compared is a function's time in ns, callees
//! included, and not its share of the whole: if one function gets slower, the shares of all others fall.
//! All functions with a part of the time, on a CPU and waiting, are tested together
//! ([`stats::SignFlips`]), so that the chance of naming any function wrongly is the level.
//!
//! A function that changed takes its callers with it, so of nested ones the deepest is named. And a
//! function may change because work was moved: one that was inlined, split or called by another one. If
//! what calls it did not change by half as much, it is *moved*, and nothing is slower for it. Two thirds of
//! the wrong reports of Meta's detector were of this kind (FBDetect, SOSP 2024).

use std::collections::HashMap;
use std::ops::RangeInclusive;

use serde::Serialize;
use stats::{Pairing, SignFlips, mean_difference, share_interval};

use crate::call_stacks::CallStacks;
use crate::common_names::{RenamedFiles, source_name};
use crate::counted::Counted;
use crate::sampled::{SampledProfile, is_known};
use crate::{Area, Part};

/// The part of all time of its kind that a function has at least, to be tested.
const LEAST_SHARE: f64 = 0.002;
/// A function that has this part of another's time calls it, for what is compared.
const CALLS: f64 = 0.9;
/// What calls a function has at least this many times its time; what is below only passes it on.
const CALLERS_TIME: f64 = 1.5;
/// A function is moved if what calls it changes by less than this part of its change.
const FOLLOWS: f64 = 0.5;
/// The share of a function's change that counts as all of it, in functions that it calls.
const MOST: RangeInclusive<f64> = 0.8..=1.25;
/// The probability with which an interval has the mean.
const CONFIDENCE: f64 = 0.95;

/// A function, with what it calls, whose time differs for certain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionChange {
    /// Its name.
    pub function: String,
    /// Which time differs.
    pub counted: Counted,
    /// Its mean time in the first command in ns, callees included.
    pub first_ns: u64,
    /// Its mean time in the second command in ns, callees included.
    pub second_ns: u64,
    /// The interval of 95 % of the mean difference in ns (Student's t).
    pub interval_ns: Option<(f64, f64)>,
    /// The chance of a statistic as large as this in any function, if the commands are the same.
    pub p: f64,
    /// The part of the whole difference; `None` where the whole may not differ.
    pub share: Option<f64>,
    /// The interval of 95 % of the share (Fieller).
    pub share_interval: Option<(f64, f64)>,
    /// The function that calls it and did not change as it did: work was moved, and nothing is slower for
    /// it. `None` if what calls it changed, too.
    pub moved_within: Option<String>,
}

/// The smallest change that would have been found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SmallestSeen {
    /// The kind of time.
    pub counted: Counted,
    /// The mean difference in ns that is found in any function in nine of ten cases.
    pub ns: u64,
}

/// Which functions differ between two commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FunctionChanges {
    /// The chance that any function is named although it does not differ.
    pub level: f64,
    /// How many functions were tested.
    pub tested: usize,
    /// The functions that differ, each the deepest of nested ones, the largest difference first.
    pub changes: Vec<FunctionChange>,
    /// What would have been found, for each kind of time; empty if so few blocks show nothing.
    pub smallest_seen: Vec<SmallestSeen>,
}

impl FunctionChanges {
    /// Tests all functions of blocks, each a profile of the first and of the second command.
    pub fn of(blocks: &[[SampledProfile; 2]], level: f64) -> Self {
        let numbered = Numbered::of(blocks);
        let kinds = Counted::TIMES.map(|(counted, part)| Times::of(&numbered, counted, part));
        let differences: Vec<Vec<f64>> = kinds.iter().flat_map(Times::differences).collect();
        let Some(flips) = SignFlips::new(&differences) else {
            return Self { level, ..Self::default() };
        };
        let mut p_values = flips.p_values().into_iter();
        let mut seen = flips.smallest_seen(level).unwrap_or_default().into_iter();
        let mut found = Self { level, tested: differences.len(), ..Self::default() };
        for times in &kinds {
            let p: Vec<f64> = p_values.by_ref().take(times.functions.len()).collect();
            found.changes.extend(times.changes(&numbered, &p, level));
            let largest = seen.by_ref().take(times.functions.len()).reduce(f64::max);
            let smallest =
                largest.map(|ns| SmallestSeen { counted: times.counted, ns: ns.round() as u64 });
            found.smallest_seen.extend(smallest);
        }
        let size = |it: &FunctionChange| it.second_ns.abs_diff(it.first_ns);
        found.changes.sort_by_key(|it| std::cmp::Reverse(size(it)));
        found
    }

    /// The functions that account for a difference: those that were not only moved.
    pub fn named(&self) -> impl Iterator<Item = &FunctionChange> {
        self.changes.iter().filter(|it| it.moved_within.is_none())
    }
}

/// The functions of several profiles, each name with one number.
struct Numbered<'a> {
    names: Vec<String>,
    /// Both profiles of each block, with the number of the function of each call stack.
    profiles: Vec<[(&'a SampledProfile, Vec<u32>); 2]>,
}

impl<'a> Numbered<'a> {
    fn of(blocks: &'a [[SampledProfile; 2]]) -> Self {
        let all = |side: usize| {
            let profiles = blocks.iter().map(move |block| &block[side]);
            profiles.flat_map(|profile| profile.nodes().map(|node| profile.name(node)))
        };
        let renamed = RenamedFiles::of(all(0), all(1));
        let mut names = Vec::new();
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut number = |name: &str| {
            let name = source_name(&renamed.common_name(name));
            *known.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                names.len() as u32 - 1
            })
        };
        let mut numbers = |profile: &'a SampledProfile| {
            let of = profile.nodes().map(|node| number(profile.name(node))).collect();
            (profile, of)
        };
        let profiles = blocks.iter().map(|pair| pair.each_ref().map(&mut numbers)).collect();
        Self { names, profiles }
    }
}

/// A function's time, callees included, in both profiles of each block.
struct FunctionTimes {
    number: u32,
    times: [Vec<f64>; 2],
}

impl FunctionTimes {
    fn differences(&self) -> Vec<f64> {
        let [first, second] = &self.times;
        first.iter().zip(second).map(|(first, second)| second - first).collect()
    }

    /// The sum over all profiles, which does not depend on which of two is the first.
    fn pooled(&self) -> f64 {
        self.times.iter().flatten().sum()
    }

    /// The mean difference.
    fn change(&self) -> f64 {
        let differences = self.differences();
        differences.iter().sum::<f64>() / differences.len() as f64
    }
}

/// One kind of time of all functions that are tested.
struct Times {
    counted: Counted,
    part: Part,
    functions: Vec<FunctionTimes>,
    whole: FunctionTimes,
}

impl Times {
    fn of(numbered: &Numbered<'_>, counted: Counted, part: Part) -> Self {
        let zeros = || [0, 1].map(|_| vec![0.0; numbered.profiles.len()]);
        let mut all: HashMap<u32, [Vec<f64>; 2]> = HashMap::new();
        let mut whole = FunctionTimes { number: u32::MAX, times: zeros() };
        for (block, pair) in numbered.profiles.iter().enumerate() {
            for (side, (profile, numbers)) in pair.iter().enumerate() {
                whole.times[side][block] = profile.counts(part).total as f64;
                for (number, _, ns) in outermost(profile, numbers, part) {
                    all.entry(number).or_insert_with(zeros)[side][block] += ns;
                }
            }
        }
        let least = LEAST_SHARE * whole.pooled();
        let is_tested = |it: &FunctionTimes| {
            let name = &numbered.names[it.number as usize];
            it.pooled() > least && is_known(name)
        };
        let functions = all.into_iter().map(|(number, times)| FunctionTimes { number, times });
        let mut functions: Vec<FunctionTimes> = functions.filter(is_tested).collect();
        functions.sort_by_key(|it| it.number);
        Self { counted, part, functions, whole }
    }

    fn differences(&self) -> impl Iterator<Item = Vec<f64>> {
        self.functions.iter().map(FunctionTimes::differences)
    }

    /// The functions that differ at a level, the deepest of nested ones.
    fn changes(&self, numbered: &Numbered<'_>, p: &[f64], level: f64) -> Vec<FunctionChange> {
        let differ: Vec<usize> = (0..self.functions.len()).filter(|it| p[*it] <= level).collect();
        let callers = self.callers(numbered, &differ);
        let is_moved = |index: usize| self.is_moved(index, &callers[&index]);
        let (moved, changed): (Vec<usize>, Vec<usize>) =
            differ.iter().copied().partition(|index| is_moved(*index));
        let deepest = [self.deepest(changed, &callers), self.deepest(moved, &callers)];
        let of = |(list, index): (usize, usize)| {
            let within = (list == 1).then(|| self.caller(index, &callers[&index]));
            let name = |it: &FunctionTimes| match numbered.names.get(it.number as usize) {
                Some(name) => name.clone(),
                None => "the whole".to_owned(),
            };
            self.change(index, name(&self.functions[index]), p[index], within.map(name))
        };
        let lists = deepest.into_iter().enumerate();
        lists.flat_map(|(list, all)| all.into_iter().map(move |it| (list, it))).map(of).collect()
    }

    /// What part of its time each of these functions has below others, by their index.
    fn callers(
        &self,
        numbered: &Numbered<'_>,
        differ: &[usize],
    ) -> HashMap<usize, HashMap<usize, f64>> {
        let indices: HashMap<u32, usize> =
            self.functions.iter().enumerate().map(|(index, it)| (it.number, index)).collect();
        let mut found: HashMap<usize, HashMap<usize, f64>> =
            differ.iter().map(|index| (*index, HashMap::new())).collect();
        for (profile, numbers) in numbered.profiles.iter().flatten() {
            for (number, node, ns) in outermost(profile, numbers, self.part) {
                let Some(index) = indices.get(&number) else { continue };
                let Some(above) = found.get_mut(index) else { continue };
                let callers = profile.callers(node).map(|caller| numbers[caller as usize]);
                let mut callers: Vec<usize> =
                    callers.filter_map(|number| indices.get(&number).copied()).collect();
                callers.sort_unstable();
                callers.dedup();
                for caller in callers {
                    *above.entry(caller).or_default() += ns;
                }
            }
        }
        for (index, above) in &mut found {
            let whole = self.functions[*index].pooled();
            above.retain(|caller, ns| *ns >= CALLS * whole && caller != index);
        }
        found
    }

    /// The nearest function with nearly all calls of another one that has more to do than these, or else
    /// the whole.
    fn caller(&self, index: usize, callers: &HashMap<usize, f64>) -> &FunctionTimes {
        let least = CALLERS_TIME * self.functions[index].pooled();
        let all = callers.keys().map(|caller| &self.functions[*caller]);
        let callers = all.filter(|caller| caller.pooled() >= least);
        let nearest =
            |one: &&FunctionTimes, other: &&FunctionTimes| one.pooled().total_cmp(&other.pooled());
        callers.min_by(nearest).unwrap_or(&self.whole)
    }

    /// Whether what calls a function certainly changed by less than half as much.
    fn is_moved(&self, index: usize, callers: &HashMap<usize, f64>) -> bool {
        let function = &self.functions[index];
        let caller = self.caller(index, callers);
        let sign = function.change().signum();
        let differences = function.differences();
        let followed: Vec<f64> = differences.iter().map(|it| sign * FOLLOWS * it).collect();
        let of_caller: Vec<f64> = caller.differences().iter().map(|it| sign * it).collect();
        let excess = mean_difference(&followed, &of_caller, Pairing::Paired, CONFIDENCE);
        excess.is_some_and(|(_, high)| high < 0.0)
    }

    /// Leaves out functions whose change is that of functions which they call, and the parts of the change
    /// of a function that remains.
    fn deepest(
        &self,
        mut differ: Vec<usize>,
        callers: &HashMap<usize, HashMap<usize, f64>>,
    ) -> Vec<usize> {
        let time = |index: &usize| self.functions[*index].pooled();
        differ.sort_by(|one, other| time(one).total_cmp(&time(other)));
        let mut deepest: Vec<usize> = Vec::new();
        for index in differ {
            let is_inside = |inner: &usize| callers[inner].contains_key(&index);
            let inner = deepest.iter().filter(|inner| is_inside(inner));
            let inside: f64 = inner.map(|inner| self.functions[*inner].change()).sum();
            if !MOST.contains(&(inside / self.functions[index].change())) {
                deepest.retain(|inner| !is_inside(inner));
                deepest.push(index);
            }
        }
        deepest
    }

    fn change(
        &self,
        index: usize,
        function: String,
        p: f64,
        moved_within: Option<String>,
    ) -> FunctionChange {
        let times = &self.functions[index];
        let mean = |of: &[f64]| (of.iter().sum::<f64>() / of.len().max(1) as f64).round() as u64;
        let [first, second] = &times.times;
        let (own, whole) = (times.differences(), self.whole.differences());
        let share_interval = share_interval(&own, &whole, CONFIDENCE);
        FunctionChange {
            function,
            counted: self.counted,
            first_ns: mean(first),
            second_ns: mean(second),
            interval_ns: mean_difference(first, second, Pairing::Paired, CONFIDENCE),
            p,
            share: share_interval.map(|_| times.change() / self.whole.change()),
            share_interval,
            moved_within,
        }
    }
}

/// The call stacks at which functions are entered first, each with the function's number and its time with
/// all that it calls. Threads are not functions; the waits of a program are those of its own functions, as
/// the kernel's are always the same.
fn outermost<'a>(
    profile: &'a SampledProfile,
    numbers: &'a [u32],
    part: Part,
) -> impl Iterator<Item = (u32, u32, f64)> + 'a {
    let sums = profile.with_callees(profile.counts(part));
    let is_function = move |node: &u32| {
        profile.parent(*node).is_some()
            && (part != Part::Waits || profile.area(*node) == Area::User)
    };
    profile.nodes().filter(is_function).filter_map(move |node| {
        let number = numbers[node as usize];
        let is_first = || profile.callers(node).all(|caller| numbers[caller as usize] != number);
        let ns = sums[node as usize] as f64;
        (ns > 0.0 && is_first()).then_some((number, node, ns))
    })
}
