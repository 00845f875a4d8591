//! Proportions: an exact interval of one, and an exact test of two.

use statrs::function::beta::checked_beta_reg;

use crate::alpha;
use crate::search::first_float_where;

/// A proportion with its interval, all 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProportionInterval {
    /// k / n.
    pub proportion: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Clopper and Pearson's (1934) interval for `successes` of `trials`: coverage of at least
/// `confidence`, whatever the true proportion.
///
/// With α = 1 - confidence, the ends are the quantile α/2 of Beta(k, n - k + 1) and the quantile
/// 1 - α/2 of Beta(k + 1, n - k); 0 for k = 0 and 1 for k = n. They agree with SciPy's to nine
/// digits up to a thousand trials and to seven up to a million. `None` without trials, for more
/// successes than trials, or for a `confidence` not strictly between 0 and 1.
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> Option<ProportionInterval> {
    let tail = alpha(confidence)? / 2.0;
    let failures = trials.checked_sub(successes).filter(|_| trials > 0)?;
    let low = if successes == 0 { 0.0 } else { lower_end(successes, failures, tail) };
    // The upper end is the lower end of the failures, counted from 1.
    let high = if failures == 0 { 1.0 } else { 1.0 - lower_end(failures, successes, tail) };
    Some(ProportionInterval { proportion: successes as f64 / trials as f64, low, high })
}

/// The quantile `tail` of Beta(hits, misses + 1). That of `statrs` has six digits for rare hits.
fn lower_end(hits: u64, misses: u64, tail: f64) -> f64 {
    let (a, b) = (hits as f64, misses as f64 + 1.0);
    first_float_where(0.0, 1.0, |x| checked_beta_reg(a, b, x).is_ok_and(|below| below >= tail))
}

/// Two-sided p-value of Fisher's (1934) exact test of two proportions, each as (hits, trials).
///
/// It is the probability, given the total of hits, of all tables that are no more likely than the
/// one observed; as in R's `fisher.test` and SciPy, with a tolerance of 1e-7 for rounding.
///
/// `None` when a group has no trials or more hits than trials, or both have more than 2^53 trials.
pub fn fisher_exact_p(first: (u64, u64), second: (u64, u64)) -> Option<f64> {
    let ((hits, trials), (other_hits, other_trials)) = (first, second);
    let all = trials.checked_add(other_trials).filter(|all| *all <= 1 << 53)?;
    if trials == 0 || other_trials == 0 || hits > trials || other_hits > other_trials {
        return None;
    }
    let total_hits = hits + other_hits;
    let least = total_hits.saturating_sub(other_trials);
    let most = total_hits.min(trials);
    // Weight of k + 1 hits in the first group over that of k hits (hypergeometric).
    let step = |k: u64| {
        let up = (total_hits - k) as f64 * (trials - k) as f64;
        up / ((k + 1) as f64 * (other_trials + k + 1 - total_hits) as f64)
    };
    let mode = (total_hits as f64 + 1.0) * (trials as f64 + 1.0) / (all as f64 + 2.0);
    let mode = (mode as u64).clamp(least, most);
    // Weights relative to about the likeliest, against overflow.
    let upwards = (mode..most).scan(1.0, |weight, k| {
        *weight *= step(k);
        Some((k + 1, *weight))
    });
    let downwards = (least..mode).rev().scan(1.0, |weight, k| {
        *weight /= step(k);
        Some((k, *weight))
    });
    let weights: Vec<(u64, f64)> = upwards.chain(downwards).chain([(mode, 1.0)]).collect();
    let observed = weights.iter().find(|(k, _)| *k == hits)?.1;
    let sum = |limit: f64| -> f64 {
        weights.iter().map(|(_, weight)| *weight).filter(|weight| *weight <= limit).sum()
    };
    Some((sum(observed * (1.0 + 1e-7)) / sum(f64::INFINITY)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_of_n_is_the_rule_of_three_and_mirrors_all_of_n() {
        let none = clopper_pearson(0, 20, 0.95).unwrap();
        assert_eq!((none.proportion, none.low), (0.0, 0.0));
        assert!((none.high - (1.0 - 0.025_f64.powf(1.0 / 20.0))).abs() < 1e-12);
        let all = clopper_pearson(20, 20, 0.95).unwrap();
        assert_eq!((all.proportion, all.high), (1.0, 1.0));
        assert!((all.low - (1.0 - none.high)).abs() < 1e-15);
    }

    #[test]
    fn what_has_no_interval_is_none() {
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
        assert_eq!(clopper_pearson(3, 2, 0.95), None);
        for confidence in [0.0, 1.0, f64::NAN] {
            assert_eq!(clopper_pearson(1, 2, confidence), None);
        }
    }

    #[test]
    fn the_lady_tasting_tea() {
        // Fisher 1935: three of four cups named right: 17/70 in the tail, both tails 34/70.
        let p = fisher_exact_p((3, 4), (1, 4)).unwrap();
        assert!((p - 34.0 / 70.0).abs() < 1e-15);
        let p = fisher_exact_p((4, 4), (0, 4)).unwrap();
        assert!((p - 2.0 / 70.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_or_all_is_no_evidence() {
        assert_eq!(fisher_exact_p((0, 9), (0, 5)), Some(1.0));
        assert_eq!(fisher_exact_p((9, 9), (5, 5)), Some(1.0));
    }

    #[test]
    fn what_is_no_table_is_none() {
        assert_eq!(fisher_exact_p((0, 0), (1, 2)), None);
        assert_eq!(fisher_exact_p((3, 2), (1, 2)), None);
        assert_eq!(fisher_exact_p((3, u64::MAX), (1, 2)), None);
    }
}
