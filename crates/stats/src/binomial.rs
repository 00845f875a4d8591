//! How often something happens: a proportion with its exact interval.

use statrs::function::beta::checked_beta_reg;

use crate::is_confidence;
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

/// Clopper and Pearson's (1934) interval for `successes` of `trials`, with coverage of at least
/// `confidence` (0.95, say) whatever the true proportion.
///
/// With α = 1 - confidence, the ends are the quantile α/2 of Beta(k, n - k + 1) and the quantile
/// 1 - α/2 of Beta(k + 1, n - k); 0 when k = 0 and 1 when k = n. They agree with SciPy's to nine
/// digits up to a thousand trials and to seven up to a million. `None` when there are no trials, more
/// successes than trials, or `confidence` is not strictly between 0 and 1.
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> Option<ProportionInterval> {
    if trials == 0 || successes > trials || !is_confidence(confidence) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let failures = trials - successes;
    let low = if successes == 0 { 0.0 } else { lower_end(successes, failures, tail) };
    // The upper end is the lower end of the failures, counted from 1.
    let high = if failures == 0 { 1.0 } else { 1.0 - lower_end(failures, successes, tail) };
    Some(ProportionInterval { proportion: successes as f64 / trials as f64, low, high })
}

/// The quantile `tail` of Beta(hits, misses + 1): the inverse of `statrs` has six digits where hits
/// are rare.
fn lower_end(hits: u64, misses: u64, tail: f64) -> f64 {
    let (a, b) = (hits as f64, misses as f64 + 1.0);
    first_float_where(0.0, 1.0, |x| checked_beta_reg(a, b, x).is_ok_and(|below| below >= tail))
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
}
