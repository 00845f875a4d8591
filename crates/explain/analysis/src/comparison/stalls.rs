//! Stalls: long delays that a median hides. Frequency with Clopper and Pearson's exact interval
//! and Fisher's exact test, and size.

use model::Observation;
use serde::Serialize;
use stats::{bounded_median, bounded_quantile, clopper_pearson, fisher_exact_p};

use super::arms::{Seen, samples};
use crate::responsiveness::STALL_FACTOR;

/// The stalls of two arms in one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stalls {
    /// Longer delays are stalls, in ns: three times the first arm's median without load, or here.
    pub limit_ns: f64,
    /// Whether that is the median without load.
    pub of_noload: bool,
    /// The first arm's.
    pub first: Share,
    /// The other arm's.
    pub second: Share,
    /// Two-sided p-value of "equally often". Samples of one run are dependent, so it is too small
    /// where stalls come in bursts.
    pub p: f64,
    /// `p`, adjusted for all cells (Holm).
    pub p_adjusted: f64,
}

/// How often and how large.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Number of stalls.
    pub stalled: u64,
    /// Number of samples.
    pub samples: u64,
    /// Share of stalls.
    pub probability: f64,
    /// Lower end of its exact interval with confidence 1 - α.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The median stall in ns; `None` without any.
    pub median_ns: Option<Observation>,
    /// The largest stall in ns; `None` without any.
    pub largest_ns: Option<Observation>,
}

/// The stalls of a cell; `noload` are the first arm's trials without load, if any.
pub(super) fn stalls(sides: [&[Seen]; 2], noload: Option<&[Seen]>, alpha: f64) -> Option<Stalls> {
    let [first, second] = sides.map(samples);
    let noload = noload.and_then(|noload| bounded_median(&samples(noload)));
    // A multiple of a bound is not a limit: the true one may exceed every delay.
    let reference = noload.or_else(|| bounded_median(&first));
    let limit_ns = STALL_FACTOR * reference.filter(|it| !it.is_lower_bound)?.value;
    let (first, second) = (share(&first, limit_ns, alpha)?, share(&second, limit_ns, alpha)?);
    let p = fisher_exact_p((first.stalled, first.samples), (second.stalled, second.samples))?;
    Some(Stalls { limit_ns, of_noload: noload.is_some(), first, second, p, p_adjusted: p })
}

/// A censored delay below the limit may be a stall, and does not count.
fn share(delays_ns: &[Observation], limit_ns: f64, alpha: f64) -> Option<Share> {
    let (stalled, others): (Vec<_>, Vec<_>) =
        delays_ns.iter().copied().partition(|delay| delay.value > limit_ns);
    let known = others.iter().filter(|delay| !delay.is_lower_bound).count();
    let (count, all) = (stalled.len() as u64, (stalled.len() + known) as u64);
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
