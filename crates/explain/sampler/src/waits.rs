//! The waits of a thread by call stack. Where it waits so often that not each call stack is recorded,
//! the rest is divided by those that are.

use std::collections::HashMap;

/// Durations of less than 2, 4, 8, … ns.
const LENGTHS: usize = 64;

/// The waits of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    with_stack: HashMap<u32, Seen>,
    without: [Sum; LENGTHS],
    /// The longest one that stands for others.
    longest_ns: u64,
}

/// Durations in ns, and how many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) ns: u64,
    pub(crate) times: u64,
}

/// What was recorded of a call stack.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    sum: Sum,
    /// Durations and their number, each as often as it stands for waits besides itself.
    stands_for: (u128, u128),
}

impl Default for Waits {
    fn default() -> Self {
        Self { with_stack: HashMap::new(), without: [Sum::default(); LENGTHS], longest_ns: 0 }
    }
}

impl Waits {
    /// Adds a wait, and the call stack at which it began with the number of waits that it stands for, itself
    /// included.
    pub(crate) fn add(&mut self, ns: u64, stack: Option<(u32, u64)>) {
        let sum = match stack {
            Some((stack, period)) => {
                let others = u128::from(period.saturating_sub(1));
                let seen = self.with_stack.entry(stack).or_default();
                seen.stands_for.0 += others * u128::from(ns);
                seen.stands_for.1 += others;
                if others > 0 {
                    self.longest_ns = self.longest_ns.max(ns);
                }
                &mut seen.sum
            }
            None => &mut self.without[length(ns)],
        };
        sum.ns += ns;
        sum.times += 1;
    }

    /// All waits by call stack, and those of which nothing is known: of such a length none was recorded that
    /// stands for others.
    pub(crate) fn by_stack(&self) -> (Vec<(u32, Sum)>, Sum) {
        let mut known: Vec<(u32, Seen)> = self.with_stack.iter().map(|it| (*it.0, *it.1)).collect();
        known.sort_unstable_by_key(|it| it.0);
        let lengths = if self.longest_ns > 0 { length(self.longest_ns) + 1 } else { 0 };
        let (alike, others) = self.without.split_at(lengths);
        let sum = |all: &[Sum]| Sum {
            ns: all.iter().map(|it| it.ns).sum(),
            times: all.iter().map(|it| it.times).sum(),
        };
        let (alike, others) = (sum(alike), sum(others));
        let ns = divided(alike.ns, known.iter().map(|it| it.1.stands_for.0));
        let times = divided(alike.times, known.iter().map(|it| it.1.stands_for.1));
        let all =
            known.iter().zip(ns.into_iter().zip(times)).map(|((stack, seen), (ns, times))| {
                (*stack, Sum { ns: seen.sum.ns + ns, times: seen.sum.times + times })
            });
        (all.collect(), others)
    }
}

fn length(ns: u64) -> usize {
    (u64::BITS - ns.leading_zeros()).min(LENGTHS as u32 - 1) as usize
}

/// A whole number divided in proportion to weights; the parts sum to it. Without any weight the first
/// one gets it.
pub(crate) fn divided(whole: u64, weights: impl Iterator<Item = u128> + Clone) -> Vec<u64> {
    let all: u128 = weights.clone().sum();
    let mut before = 0;
    let mut given = 0;
    weights
        .map(|weight| {
            before += weight;
            let until = match all {
                0 => whole,
                _ => (whole as f64 * (before as f64 / all as f64)).round() as u64,
            };
            let part = until.saturating_sub(given);
            given += part;
            part
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_wait_has_its_own_call_stack_where_all_are_recorded() {
        let mut waits = Waits::default();
        waits.add(1_000_000, Some((1, 1)));
        waits.add(10, Some((2, 1)));
        waits.add(30, Some((2, 1)));
        let sum = |ns, times| Sum { ns, times };
        let expected = vec![(1, sum(1_000_000, 1)), (2, sum(40, 2))];
        assert_eq!(waits.by_stack(), (expected, sum(0, 0)));
    }

    #[test]
    fn what_was_not_recorded_is_divided_unless_nothing_like_it_was() {
        let mut waits = Waits::default();
        waits.add(100, Some((1, 4)));
        waits.add(100, Some((2, 2)));
        waits.add(100, Some((3, 1)));
        (0..4).for_each(|_| waits.add(100, None));
        waits.add(1_000_000, None);
        let sum = |ns, times| Sum { ns, times };
        // The third one stands for no other.
        let expected = vec![(1, sum(400, 4)), (2, sum(200, 2)), (3, sum(100, 1))];
        assert_eq!(waits.by_stack(), (expected, sum(1_000_000, 1)));
        let mut each = Waits::default();
        each.add(100, Some((1, 1)));
        each.add(100, None);
        assert_eq!(each.by_stack(), (vec![(1, sum(100, 1))], sum(100, 1)));
        let mut nothing = Waits::default();
        nothing.add(5, None);
        assert_eq!(nothing.by_stack(), (Vec::new(), sum(5, 1)));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            all in proptest::collection::vec((any::<u32>(), any::<Option<(u8, u8)>>()), 0..50),
        ) {
            let mut waits = Waits::default();
            for (ns, stack) in &all {
                let stack = stack.map(|(stack, period)| (stack.into(), u64::from(period) + 1));
                waits.add((*ns).into(), stack);
            }
            let (known, rest) = waits.by_stack();
            let ns: u64 = known.iter().map(|it| it.1.ns).sum();
            let times: u64 = known.iter().map(|it| it.1.times).sum();
            prop_assert_eq!(ns + rest.ns, all.iter().map(|it| u64::from(it.0)).sum::<u64>());
            prop_assert_eq!(times + rest.times, all.len() as u64);
        }
    }
}
