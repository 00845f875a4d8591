//! Ratios seed by seed on deterministic machines: they repeat exactly, and form a distribution.

use std::collections::BTreeMap;

use model::Observation;
use serde::Serialize;
use stats::{bounded_median, quantile};

use super::arms::Seen;

/// The ratios of all seeds that two deterministic arms have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seeds {
    /// The ratio of each seed, above 1 = worse.
    pub ratios: BTreeMap<u64, f64>,
    /// Smallest ratio.
    pub lowest: f64,
    /// Quartiles.
    pub quartiles: [f64; 3],
    /// Largest ratio.
    pub highest: f64,
    /// Number of seeds with which the other arm is worse.
    pub worse: usize,
    /// Number of seeds with which it is better.
    pub better: usize,
}

pub(super) fn seeds(
    sides: [&[Seen]; 2],
    costs: impl Fn(&[Observation]) -> Vec<Observation>,
) -> Option<Seeds> {
    // The median cost, unless bounds decide it; trials of one seed count together.
    let by_seed = |side: &[Seen]| -> BTreeMap<u64, f64> {
        let mut samples: BTreeMap<u64, Vec<Observation>> = BTreeMap::new();
        for seen in side {
            let Some(seed) = seen.trial.seed else { continue };
            samples.entry(seed).or_default().extend(costs(seen.samples));
        }
        let known = |(seed, samples): (u64, Vec<Observation>)| {
            let median = bounded_median(&samples).filter(|median| !median.is_lower_bound)?;
            Some((seed, median.value))
        };
        samples.into_iter().filter_map(known).collect()
    };
    let [first, second] = sides.map(by_seed);
    let ratio = |(seed, cost): (&u64, &f64)| {
        let ratio = second.get(seed)? / cost;
        (ratio.is_finite() && ratio > 0.0).then_some((*seed, ratio))
    };
    let ratios: BTreeMap<u64, f64> = first.iter().filter_map(ratio).collect();
    let values: Vec<f64> = ratios.values().copied().collect();
    let at = |share| quantile(&values, share);
    Some(Seeds {
        lowest: at(0.0)?,
        quartiles: [at(0.25)?, at(0.5)?, at(0.75)?],
        highest: at(1.0)?,
        worse: values.iter().filter(|ratio| **ratio > 1.0).count(),
        better: values.iter().filter(|ratio| **ratio < 1.0).count(),
        ratios,
    })
}
