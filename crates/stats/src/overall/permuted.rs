//! The permutation test of an overall effect, turned into an interval.
//!
//! Under "the effect is θ in every cell" the second arm's values less θ could have been the first
//! arm's. So labels are exchanged: of trials within a cell, of trials that share several cells as a
//! whole, and in pairs within each pair. The statistic of an arrangement is T - θ k, where k is what
//! the statistic makes of the labels alone and is 1 for the observed ones. So an arrangement is at
//! least as extreme as what was observed for θ on one side of (T₀ - T) / (1 - k), and the interval
//! lies between two order statistics of these thresholds: no search is needed.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::mixed::{Logs, arms, components};
use super::{OverallCell, PermutationInterval};
use crate::rank_inversion::{Inversion, RatioInterval};

/// Up to so many arrangements all are tried, beyond it so many are drawn.
const MOST_ARRANGEMENTS: usize = 10_000;
/// Statistics and weights that differ by less are equal.
const ROUNDING: f64 = 1e-12;

pub(super) struct PermutationInversion {
    /// Thresholds on the logarithm of the ratio, ascending.
    thresholds: Vec<f64>,
    /// Arrangements that are as extreme as what was observed whatever the effect.
    always: usize,
    exact: bool,
    /// The logarithm of the cells' own estimate, at which the test is centred.
    log: f64,
    /// That less this test's own.
    shift: f64,
}

/// Trials whose labels may be exchanged with each other, by their contributions to the estimate.
enum Group {
    Arms(Arms),
    /// One pair's difference, and its share of the estimate.
    Pair(f64, f64),
}

/// The trials of both arms, the first arm's before the second's.
struct Arms {
    values: Vec<f64>,
    total: f64,
    /// How many are the first arm's.
    first: usize,
    /// The share of these cells among all.
    share: f64,
}

/// Statistic and weight of some labels.
type Arrangement = (f64, f64);

impl PermutationInversion {
    /// The test of these cells, centred at the estimate `log`; `None` where trials lack some of the
    /// cells that they share.
    pub(super) fn new(cells: &[OverallCell], log: f64) -> Option<Self> {
        let groups = groups(cells)?;
        let observed = groups.iter().map(|group| group.observed().0).sum::<f64>();
        let number = groups.iter().map(Group::number).product::<f64>();
        let exact = number <= MOST_ARRANGEMENTS as f64;
        let arrangements = if exact { all(&groups) } else { drawn(&groups) };
        let shift = log - observed;
        let mut found = Self { thresholds: Vec::new(), always: 0, exact, log, shift };
        for (statistic, weight) in arrangements {
            if 1.0 - weight > ROUNDING {
                found.thresholds.push((observed - statistic) / (1.0 - weight));
            } else {
                found.always += 1;
            }
        }
        found.thresholds.sort_by(f64::total_cmp);
        Some(found)
    }

    fn total(&self) -> f64 {
        (self.thresholds.len() + self.always) as f64
    }

    /// The smallest two-sided p-value that it could give.
    pub(super) fn smallest_p(&self) -> f64 {
        2.0 * self.always as f64 / self.total()
    }

    pub(super) fn summary(&self, confidence: f64) -> PermutationInterval {
        let (low, high) = self.ends(confidence);
        let arrangements = self.thresholds.len() + self.always;
        PermutationInterval { low, high, p: self.difference_p(), arrangements, exact: self.exact }
    }

    /// The ratios that are not rejected at this confidence.
    fn ends(&self, confidence: f64) -> (f64, f64) {
        let allowed = (1.0 - confidence) / 2.0 * self.total() * (1.0 + 1e-12);
        let end = |log: f64| (log + self.shift).exp().clamp(f64::MIN_POSITIVE, f64::MAX);
        // As many thresholds as this, with what is always extreme, are still rejected.
        let rejected = (allowed.floor() as usize).checked_sub(self.always);
        let ends = rejected.and_then(|rejected| {
            let low = self.thresholds.get(rejected)?;
            Some((end(*low), end(self.thresholds[self.thresholds.len() - 1 - rejected])))
        });
        ends.unwrap_or((f64::MIN_POSITIVE, f64::MAX))
    }
}

impl Inversion for PermutationInversion {
    fn p_at_most(&self, ratio: f64) -> f64 {
        let limit = ratio.ln() - self.shift + ROUNDING;
        let extreme = self.thresholds.partition_point(|threshold| *threshold <= limit);
        (extreme + self.always) as f64 / self.total()
    }

    fn p_at_least(&self, ratio: f64) -> f64 {
        let limit = ratio.ln() - self.shift - ROUNDING;
        let below = self.thresholds.partition_point(|threshold| *threshold < limit);
        (self.thresholds.len() - below + self.always) as f64 / self.total()
    }

    fn interval(&self, confidence: f64) -> Option<RatioInterval> {
        let (low, high) = self.ends(confidence);
        Some(RatioInterval { ratio: self.log.exp(), low, high, confidence_attained: confidence })
    }
}

fn groups(cells: &[OverallCell]) -> Option<Vec<Group>> {
    let arms = arms(cells);
    let count = cells.len() as f64;
    let shared = components(&arms[0]);
    if arms.iter().any(|arm| components(arm) != shared) {
        return None;
    }
    let mut groups = Vec::new();
    for component in shared {
        let sums: Vec<Vec<f64>> =
            arms.iter().map(|arm| sums(arm, &component, count)).collect::<Option<_>>()?;
        let share = component.len() as f64 / count;
        match sums.as_slice() {
            [pairs] => {
                let all = pairs.len() as f64;
                groups.extend(pairs.iter().map(|pair| Group::Pair(pair / all, share / all)));
            }
            [first, second] => groups.push(Group::Arms(Arms::new(first, second, share))),
            _ => return None,
        }
    }
    Some(groups)
}

/// Each trial's sum over cells that it shares with others, over the number of all cells; `None` if
/// one lacks some of them.
fn sums(arm: &[Logs], component: &[usize], count: f64) -> Option<Vec<f64>> {
    let trials: BTreeSet<usize> =
        component.iter().flat_map(|cell| &arm[*cell]).map(|(trial, _)| *trial).collect();
    let of_trial = |trial: usize| {
        let value = |cell: &usize| {
            let mut found = arm[*cell].iter().filter(|(other, _)| *other == trial);
            let only = found.next().map(|(_, log)| *log);
            only.filter(|_| found.next().is_none())
        };
        let values: Option<Vec<f64>> = component.iter().map(value).collect();
        values.map(|values| values.iter().sum::<f64>() / count)
    };
    trials.into_iter().map(of_trial).collect()
}

impl Arms {
    fn new(first: &[f64], second: &[f64], share: f64) -> Self {
        let values = [first, second].concat();
        Self { total: values.iter().sum(), first: first.len(), values, share }
    }

    fn second(&self) -> usize {
        self.values.len() - self.first
    }

    /// What it is to label values with this sum as the second arm's, of which `own` are its own.
    fn labelled(&self, sum: f64, own: usize) -> Arrangement {
        let (first, second) = (self.first as f64, self.second() as f64);
        let own = own as f64;
        let weight = own / second - (second - own) / first;
        (sum / second - (self.total - sum) / first, self.share * weight)
    }

    /// Every way to label as many of the values from `at` on as are `wanted`, beside those chosen.
    fn choices(
        &self,
        at: usize,
        wanted: usize,
        chosen: (f64, usize),
        found: &mut Vec<Arrangement>,
    ) {
        if wanted == 0 {
            return found.push(self.labelled(chosen.0, chosen.1));
        }
        for next in at..=self.values.len() - wanted {
            let own = chosen.1 + usize::from(next >= self.first);
            self.choices(next + 1, wanted - 1, (chosen.0 + self.values[next], own), found);
        }
    }

    /// One way, drawn: each value is taken with the share of those that are still wanted.
    fn draw(&self, random: &mut Pcg64Mcg) -> Arrangement {
        let (mut wanted, mut sum, mut own) = (self.second(), 0.0, 0);
        for (at, value) in self.values.iter().enumerate() {
            if random.random_range(0..self.values.len() - at) < wanted {
                wanted -= 1;
                sum += value;
                own += usize::from(at >= self.first);
            }
        }
        self.labelled(sum, own)
    }
}

impl Group {
    /// How many ways there are to exchange its labels.
    fn number(&self) -> f64 {
        match self {
            Self::Arms(arms) => crate::null_distribution::arrangements(arms.first, arms.second()),
            Self::Pair(..) => 2.0,
        }
    }

    /// The labels as they are.
    fn observed(&self) -> Arrangement {
        match self {
            Self::Arms(arms) => {
                arms.labelled(arms.values[arms.first..].iter().sum(), arms.second())
            }
            Self::Pair(value, share) => (*value, *share),
        }
    }

    fn all(&self) -> Vec<Arrangement> {
        match self {
            Self::Arms(arms) => {
                let mut found = Vec::new();
                arms.choices(0, arms.second(), (0.0, 0), &mut found);
                found
            }
            Self::Pair(value, share) => vec![(*value, *share), (-value, -share)],
        }
    }

    fn draw(&self, random: &mut Pcg64Mcg) -> Arrangement {
        match self {
            Self::Arms(arms) => arms.draw(random),
            Self::Pair(value, share) if random.random::<bool>() => (*value, *share),
            Self::Pair(value, share) => (-value, -share),
        }
    }
}

fn all(groups: &[Group]) -> Vec<Arrangement> {
    let mut found = vec![(0.0, 0.0)];
    for group in groups {
        let parts = group.all();
        found = found
            .iter()
            .flat_map(|(sum, weight)| parts.iter().map(move |part| (sum + part.0, weight + part.1)))
            .collect();
    }
    found
}

/// The observed arrangement, and as many drawn ones as are tried at most.
fn drawn(groups: &[Group]) -> Vec<Arrangement> {
    let mut random = Pcg64Mcg::seed_from_u64(1973);
    let mut arrangement = |draw: bool| {
        groups.iter().fold((0.0, 0.0), |(sum, weight), group| {
            let part = if draw { group.draw(&mut random) } else { group.observed() };
            (sum + part.0, weight + part.1)
        })
    };
    (0..MOST_ARRANGEMENTS).map(|number| arrangement(number > 0)).collect()
}
