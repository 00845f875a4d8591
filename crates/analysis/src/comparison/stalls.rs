//! Stalls: delays that stand out so far that a median does not show them.
//!
//! How often, with Clopper and Pearson's exact interval and Fisher's exact test; and how large.

use std::collections::BTreeMap;

use model::{BASELINE, Observation};
use serde::Serialize;
use stats::{bounded_median, bounded_quantile, clopper_pearson, fisher_exact_p};

use super::Cell;
use super::arms::{ArmTrials, Arms};
use super::cells::DELAY;
use crate::responsiveness::STALL_FACTOR;
use crate::{Standing, Trial};

/// The factor of runs.
const LOAD: &str = "load";

/// The stalls of two arms in one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stalls {
    /// A longer delay is a stall, in ns: three times the first arm's median without load, or, if
    /// it has none, in this cell.
    pub limit_ns: f64,
    /// Whether that is the median without load.
    pub of_noload: bool,
    /// The first arm's.
    pub first: Share,
    /// The other arm's.
    pub second: Share,
    /// Two-sided p-value of "equally often". Samples of one run are not independent of each other,
    /// so it is too small where stalls come in bursts.
    pub p: f64,
    /// The same adjusted for all cells (Holm).
    pub p_adjusted: f64,
}

/// How often and how large.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// How many samples are stalls.
    pub stalled: u64,
    /// Of how many.
    pub samples: u64,
    /// The share.
    pub probability: f64,
    /// Lower end of its exact interval with confidence 1 - α.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// The median stall in ns; `None` without any.
    pub median_ns: Option<Observation>,
    /// The largest stall in ns; `None` without any.
    pub largest_ns: Option<Observation>,
}

/// Adds the stalls to all cells of delays.
pub(super) fn add(arms: &Arms, cells: &mut [Cell], alpha: f64) {
    let mut p_values = Vec::new();
    for cell in &mut *cells {
        if cell.response == DELAY {
            cell.stalls = stalls(arms, cell, alpha);
            p_values.extend(cell.stalls.as_ref().map(|stalls| stalls.p));
        }
    }
    let adjusted = stats::holm(&p_values);
    let found = cells.iter_mut().filter_map(|cell| cell.stalls.as_mut());
    for (stalls, p_adjusted) in found.zip(adjusted) {
        stalls.p_adjusted = p_adjusted;
    }
}

fn stalls(arms: &Arms, cell: &Cell, alpha: f64) -> Option<Stalls> {
    let of_arm = |arm: &ArmTrials, levels: &BTreeMap<String, String>| -> Vec<Observation> {
        let counts =
            |trial: &&&Trial| trial.standing() == Standing::Counts && arms.place(trial) == *levels;
        let trials = arm.trials.iter().filter(counts);
        trials
            .filter_map(|trial| trial.samples(cell.part.as_deref(), DELAY))
            .flatten()
            .copied()
            .collect()
    };
    let mut without_load = cell.levels.clone();
    if let Some(load) = without_load.get_mut(LOAD) {
        BASELINE.clone_into(load);
    }
    let first = of_arm(&arms.all[0], &cell.levels);
    let second = of_arm(&arms.all[cell.arm], &cell.levels);
    let noload = bounded_median(&of_arm(&arms.all[0], &without_load))
        .filter(|_| cell.levels.contains_key(LOAD));
    // Three times a bound is no limit: the true one may be above every delay.
    let reference = noload.or_else(|| bounded_median(&first));
    let limit_ns = STALL_FACTOR * reference.filter(|it| !it.is_lower_bound)?.value;
    let (first, second) = (share(&first, limit_ns, alpha)?, share(&second, limit_ns, alpha)?);
    let p = fisher_exact_p((first.stalled, first.samples), (second.stalled, second.samples))?;
    Some(Stalls { limit_ns, of_noload: noload.is_some(), first, second, p, p_adjusted: p })
}

/// A delay that was cut off below the limit may be a stall or none, and does not count.
fn share(delays_ns: &[Observation], limit_ns: f64, alpha: f64) -> Option<Share> {
    let is_known = |delay: &&Observation| !delay.is_lower_bound || delay.value > limit_ns;
    let known: Vec<Observation> = delays_ns.iter().filter(is_known).copied().collect();
    let is_stall = |delay: &Observation| delay.value > limit_ns;
    let stalled: Vec<Observation> = known.iter().copied().filter(is_stall).collect();
    let (count, all) = (stalled.len() as u64, known.len() as u64);
    let interval = clopper_pearson(count, all, 1.0 - alpha)?;
    Some(Share {
        stalled: count,
        samples: all,
        probability: interval.proportion,
        low: interval.low,
        high: interval.high,
        median_ns: bounded_median(&stalled),
        largest_ns: bounded_quantile(&stalled, 1.0),
    })
}
