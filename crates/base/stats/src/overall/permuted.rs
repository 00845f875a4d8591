//! The permutation test of an overall effect, turned into an interval.
//!
//! Labels are exchanged: of trials within a cell, of trials that share several cells as a whole,
//! and within each pair. The interval lies between two order statistics of the effects at which an
//! arrangement becomes as extreme as the observed one (docs/comparing.md).

use std::collections::BTreeSet;

use itertools::Itertools;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::mixed::{Logs, arms, components};
use super::{OverallCell, PermutationInterval};
use crate::rank_inversion::{Inversion, RatioInterval};

/// Up to this many arrangements are all tried; beyond, this many are drawn.
const MOST_ARRANGEMENTS: usize = 10_000;
/// Statistics and weights that differ by less are equal.
const ROUNDING: f64 = 1e-12;

pub(super) struct PermutationInversion {
    /// Thresholds on the logarithm of the ratio, ascending.
    thresholds: Vec<f64>,
    /// Arrangements as extreme as the observed one for every effect.
    always: usize,
    exact: bool,
    /// The logarithm of the cells' estimate, at which the test is centred.
    log: f64,
    /// The difference to this test's own estimate.
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
    /// Number of the first arm's.
    first: usize,
    /// The share of these cells among all.
    share: f64,
}

/// Statistic and weight of some labels.
type Arrangement = (f64, f64);

impl PermutationInversion {
    /// The test, centred at the estimate `log`; `None` where trials lack shared cells.
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

    /// The smallest two-sided p-value of the test.
    pub(super) fn smallest_p(&self) -> f64 {
        2.0 * self.always as f64 / self.total()
    }

    pub(super) fn summary(&self, confidence: f64) -> PermutationInterval {
        let (low, high) = self.ends(confidence);
        let arrangements = self.thresholds.len() + self.always;
        PermutationInterval { low, high, p: self.difference_p(), arrangements, exact: self.exact }
    }

    /// Ratios not rejected at this confidence.
    fn ends(&self, confidence: f64) -> (f64, f64) {
        let allowed = (1.0 - confidence) / 2.0 * self.total() * (1.0 + 1e-12);
        let end = |log: f64| (log + self.shift).exp().clamp(f64::MIN_POSITIVE, f64::MAX);
        // Rejected thresholds, besides what is always extreme.
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

/// Each trial's sum over its shared cells, over all cells; `None` if one lacks a cell.
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

    /// The arrangement whose second arm has this sum, with `own` values of its own.
    fn labelled(&self, sum: f64, own: usize) -> Arrangement {
        let (first, second) = (self.first as f64, self.second() as f64);
        let own = own as f64;
        let weight = own / second - (second - own) / first;
        (sum / second - (self.total - sum) / first, self.share * weight)
    }

    fn all(&self) -> Vec<Arrangement> {
        let labelled = |chosen: Vec<(usize, &f64)>| {
            let own = chosen.iter().filter(|(at, _)| *at >= self.first).count();
            self.labelled(chosen.iter().map(|(_, value)| **value).sum(), own)
        };
        self.values.iter().enumerate().combinations(self.second()).map(labelled).collect()
    }

    /// A random arrangement: each value is taken with the share of those still needed.
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
    fn number(&self) -> f64 {
        match self {
            Self::Arms(arms) => crate::null_distribution::arrangements(arms.first, arms.second()),
            Self::Pair(..) => 2.0,
        }
    }

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
            Self::Arms(arms) => arms.all(),
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
    let parts = groups.iter().map(|group| group.all().into_iter());
    parts.multi_cartesian_product().map(|parts| total(parts.into_iter())).collect()
}

/// The observed arrangement, and drawn ones up to the limit.
fn drawn(groups: &[Group]) -> Vec<Arrangement> {
    let mut random = Pcg64Mcg::seed_from_u64(1973);
    let mut drawn = |_| total(groups.iter().map(|group| group.draw(&mut random)));
    let observed = total(groups.iter().map(Group::observed));
    std::iter::once(observed).chain((1..MOST_ARRANGEMENTS).map(&mut drawn)).collect()
}

fn total(parts: impl Iterator<Item = Arrangement>) -> Arrangement {
    parts.fold((0.0, 0.0), |total, part| (total.0 + part.0, total.1 + part.1))
}
