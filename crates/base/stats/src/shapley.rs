//! The share of each of several factors in a change, by Shapley's value.
//!
//! It is the average of what switching a factor to "after" adds, over all orders of switching
//! (Shapley 1953; for decomposing a change, Shorrocks 2013). The extreme orders bound it.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::design::below;
use crate::factorial::{Factorial, Scale};
use crate::{Refused, alpha, distributions, refused, standard_deviation};

/// Most factors; a table for them has 256 means.
const MOST_FACTORS: usize = 8;

/// A factor's contribution: a ratio on the log scale, a difference on the additive one. Shares are
/// absent without a change, and negative or above 1 when factors oppose each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// Effect by Shapley's value; all effects combine to the whole.
    pub effect: f64,
    /// Part of the whole.
    pub share: Option<f64>,
    /// Smallest part over all orders of switching.
    pub lowest_share: Option<f64>,
    /// Largest part over all orders of switching.
    pub highest_share: Option<f64>,
}

/// The contribution of each factor, from a table of 2^k `means`; bit f of the index is set when
/// factor f is "after". On the log scale, use geometric means.
///
/// # Errors
/// A table of another size, and means that are not finite or, on the log scale, not positive.
pub fn shapley(means: &[f64], scale: Scale) -> Result<Vec<Contribution>, Refused> {
    let factors = means.len().trailing_zeros() as usize;
    if !means.len().is_power_of_two() || !(1..=MOST_FACTORS).contains(&factors) {
        return table_size(means.len());
    }
    let unfit = |value: &f64| !value.is_finite() || (scale == Scale::Log && *value <= 0.0);
    if let Some(cell) = means.iter().position(unfit) {
        let value = means[cell];
        return refused(format!(
            "the mean of cell {cell} is {value}: the log scale needs positive means"
        ));
    }
    let worth: Vec<f64> = means.iter().map(|mean| scale.forward(*mean)).collect();
    let all = means.len() - 1;
    let total = worth[all] - worth[0];
    let share_of = |part: f64| (total != 0.0).then(|| part / total);
    let contribution = |factor: usize| {
        let bit = 1 << factor;
        let (mut value, mut least, mut most) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for before in (0..=all).filter(|set| set & bit == 0) {
            let added = worth[before | bit] - worth[before];
            value += added * weight(before.count_ones() as usize, factors);
            (least, most) = (added.min(least), added.max(most));
        }
        let (lowest, highest) = if total < 0.0 { (most, least) } else { (least, most) };
        Contribution {
            effect: scale.back(value),
            share: share_of(value),
            lowest_share: share_of(lowest),
            highest_share: share_of(highest),
        }
    };
    Ok((0..factors).map(contribution).collect())
}

/// Shares of the change from the levels `before` to the levels `after` (one index a factor), from
/// the means (geometric on the log scale) of the 2^k cells between them.
///
/// # Errors
/// Levels that are not two for each factor, a combination without an observation; [`shapley`]'s.
pub fn shapley_of(
    data: &Factorial,
    before: &[usize],
    after: &[usize],
    scale: Scale,
) -> Result<Vec<Contribution>, Refused> {
    let corners = Corners::new(data, before, after, scale)?;
    shapley(&corners.means(|clusters| (0..clusters).collect()), scale)
}

/// Interval of each factor's share; all absent with one observation in a cell, or only one block.
///
/// The share ± Student's t times the standard deviation of the shares of bootstrap samples: of
/// whole blocks if each holds all cells, else of observations within cells. One less is drawn than
/// there are (Rao and Wu 1988; docs/attribution.md).
///
/// Fails as [`shapley_of`], and for a confidence or number of samples out of range.
pub fn shapley_intervals(
    data: &Factorial,
    (before, after): (&[usize], &[usize]),
    scale: Scale,
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Result<Vec<Option<(f64, f64)>>, Refused> {
    let Some(alpha) = alpha(confidence).filter(|_| resamples >= 2) else {
        return refused("confidence must be strictly between 0 and 1, and resamples at least 2");
    };
    let corners = Corners::new(data, before, after, scale)?;
    let mut shares = vec![Vec::with_capacity(resamples); before.len()];
    if corners.clusters.iter().any(|cell| cell.len() < 2) {
        return Ok(vec![None; before.len()]);
    }
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for _ in 0..resamples {
        let means = corners.resampled(&mut random);
        for (share, contribution) in shares.iter_mut().zip(shapley(&means, scale)?) {
            share.extend(contribution.share);
        }
    }
    let df = corners.residual_df() as f64;
    let t = (df > 0.0).then(|| distributions::t_critical(alpha, df));
    let point = shapley(&corners.means(|clusters| (0..clusters).collect()), scale)?;
    let interval = |(found, shares): (&Contribution, &Vec<f64>)| {
        let half = t? * standard_deviation(shares)?;
        found.share.map(|share| (share - half, share + half))
    };
    Ok(point.iter().zip(&shares).map(interval).collect())
}

/// The observations of 2^k cells, on the scale, in clusters that are resampled as a whole.
struct Corners {
    scale: Scale,
    /// By cell and cluster.
    clusters: Vec<Vec<Vec<f64>>>,
    /// Whether cluster i of one cell belongs to cluster i of the others: a block.
    joint: bool,
}

impl Corners {
    fn new(
        data: &Factorial,
        before: &[usize],
        after: &[usize],
        scale: Scale,
    ) -> Result<Corners, Refused> {
        let factors = data.factors.len();
        let differ = before.iter().zip(after).all(|(before, after)| before != after);
        let counts = data.factors.iter().map(|factor| factor.levels.len());
        let known = counts.zip(before.iter().zip(after)).all(|(count, (b, a))| *b.max(a) < count);
        if before.len() != factors || after.len() != factors || !differ || !known {
            return refused(format!(
                "before {before:?} and after {after:?} are not two different levels of each factor"
            ));
        }
        if !(1..=MOST_FACTORS).contains(&factors) {
            return table_size(1 << factors.min(63));
        }
        let mut cells = Vec::new();
        for cell in 0..1 << factors {
            let level = |f: usize| if cell >> f & 1 == 1 { after[f] } else { before[f] };
            let levels: Vec<usize> = (0..factors).map(level).collect();
            let (mut blocks, mut singles) = (BTreeMap::<_, Vec<f64>>::new(), Vec::new());
            for each in data.observations.iter().filter(|each| each.levels == levels) {
                let value = scale.forward(each.value);
                blocks.entry(each.block).or_default().push(value);
                singles.push(vec![value]);
            }
            if singles.is_empty() {
                let levels = data.combination(levels.into_iter().enumerate());
                return refused(format!("no observation of {levels}: measure it"));
            }
            cells.push((blocks, singles));
        }
        let first = &cells[0].0;
        let joint = !first.contains_key(&None)
            && cells.iter().all(|(blocks, _)| blocks.keys().eq(first.keys()));
        let clusters = cells
            .into_iter()
            .map(|(blocks, singles)| if joint { blocks.into_values().collect() } else { singles });
        Ok(Corners { scale, clusters: clusters.collect(), joint })
    }

    fn residual_df(&self) -> usize {
        let cells = if self.joint { &self.clusters[..1] } else { &self.clusters[..] };
        cells.iter().map(|cell| cell.len() - 1).sum()
    }

    fn resampled(&self, random: &mut Pcg64Mcg) -> Vec<f64> {
        let mut draw = |clusters: usize| -> Vec<usize> {
            (1..clusters).map(|_| below(random, clusters)).collect()
        };
        if self.joint {
            let blocks = draw(self.clusters[0].len());
            self.means(|_| blocks.clone())
        } else {
            self.means(draw)
        }
    }

    fn means(&self, mut choose: impl FnMut(usize) -> Vec<usize>) -> Vec<f64> {
        let mean = |cell: &Vec<Vec<f64>>| {
            let chosen = choose(cell.len());
            let values = || chosen.iter().flat_map(|cluster| &cell[*cluster]);
            self.scale.back(values().sum::<f64>() / values().count() as f64)
        };
        self.clusters.iter().map(mean).collect()
    }
}

fn table_size<T>(means: usize) -> Result<T, Refused> {
    refused(format!("{means} means: shares of k factors need 2^k, for k from 1 to 8"))
}

/// Part of the orders with a set right before a factor: size! (factors - size - 1)! / factors!.
fn weight(size: usize, factors: usize) -> f64 {
    // 1 / (factors × C(factors - 1, size))
    let choices = (0..size).fold(1.0, |c, i| c * (factors - 1 - i) as f64 / (i + 1) as f64);
    1.0 / (factors as f64 * choices)
}
