//! Exact permutation tests of a difference of means, for small samples.

use itertools::Itertools;

const ARRANGEMENTS_LIMIT: u64 = 200_000;

/// Two-sided p-value of Fisher's (1935) and Pitman's (1937) permutation test that `a` and `b` come
/// from one population: the share of all C(n + m, n) assignments of the values to samples of these
/// sizes whose means differ, up or down, at least as much as observed.
///
/// `None` if a sample is empty, a value is not finite, or for more than 200,000 arrangements.
pub fn permutation_p(a: &[f64], b: &[f64]) -> Option<f64> {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    if a.is_empty() || b.is_empty() || !all.iter().all(|value| value.is_finite()) {
        return None;
    }
    let arrangements = crate::null_distribution::arrangements(a.len(), b.len());
    if arrangements > ARRANGEMENTS_LIMIT as f64 * (1.0 + 1e-9) {
        return None;
    }
    // The difference of means grows with the distance of one sample's sum from its expectation.
    let expected = all.iter().sum::<f64>() * a.len() as f64 / all.len() as f64;
    let observed = (a.iter().sum::<f64>() - expected).abs() - rounding(&all);
    let choices = all.iter().combinations(a.len());
    let sums: Vec<f64> = choices.map(|chosen| chosen.into_iter().sum()).collect();
    let extreme = sums.iter().filter(|sum| (**sum - expected).abs() >= observed).count();
    Some(extreme as f64 / sums.len() as f64)
}

/// How much sums of these values may differ by rounding.
fn rounding(values: &[f64]) -> f64 {
    1e-12 * values.iter().map(|value| value.abs()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunts_first_experiment_is_one_of_thirty_five() {
        let p = permutation_p(&[128.0, 137.0, 131.0, 137.0], &[212.0, 191.0, 194.0]);
        assert_eq!(p, Some(1.0 / 35.0));
    }

    #[test]
    fn equal_sizes_have_two_extremes() {
        assert_eq!(permutation_p(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), Some(2.0 / 20.0));
        assert_eq!(permutation_p(&[0.1 + 0.2], &[0.3]), Some(1.0));
    }

    #[test]
    fn too_many_or_nothing_is_none() {
        assert!(permutation_p(&[1.0; 10], &[2.0; 10]).is_some());
        assert_eq!(permutation_p(&[1.0; 11], &[2.0; 10]), None);
        assert_eq!(permutation_p(&[], &[2.0]), None);
        assert_eq!(permutation_p(&[f64::NAN], &[2.0]), None);
    }
}
