//! Quantiles of samples with lower bounds.

use model::Observation;

use crate::beyond::raised;
use crate::quantile;

/// Quantile at `probability` (0 to 1) as by [`quantile`], with each bound at its value.
///
/// It is a lower bound if larger values behind the bounds would raise it. A quantile never falls
/// when a value rises, so trying the largest ones suffices. `None` as in [`quantile`].
pub fn bounded_quantile(sample: &[Observation], probability: f64) -> Option<Observation> {
    let values: Vec<f64> = sample.iter().map(|one| one.value).collect();
    let value = quantile(&values, probability)?;
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    let beyond = largest + largest.abs().max(1.0);
    let raised = quantile(&raised(sample, Some(beyond)), probability);
    let is_lower_bound = raised.is_none_or(|raised| raised > value);
    Some(Observation { value, is_lower_bound })
}

/// The median of observations: see [`bounded_quantile`].
pub fn bounded_median(sample: &[Observation]) -> Option<Observation> {
    bounded_quantile(sample, 0.5)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_median_is_a_bound_where_bounds_decide_it() {
        let [fast, slow] = [Observation::exact(1.0), Observation::exact(9.0)];
        let [ten, eight, six] = [10.0, 8.0, 6.0].map(Observation::at_least);
        let median = |sample: &[Observation]| bounded_quantile(sample, 0.5);
        assert_eq!(median(&[fast, fast, ten, eight, six]), Some(six));
        assert_eq!(median(&[fast, fast, ten]), Some(fast));
        assert_eq!(median(&[fast, six, slow]), Some(six));
        assert_eq!(median(&[fast, slow, slow, six]), Some(Observation::at_least(7.5)));
        assert_eq!(median(&[]), None);
    }

    /// All ways in which the true values may lie, among the values of the sample and one beyond.
    fn every_truth(sample: &[Observation]) -> Vec<Vec<f64>> {
        let mut truths = vec![Vec::new()];
        for one in sample {
            let places: Vec<f64> = match one.is_lower_bound {
                false => vec![one.value],
                true => {
                    let others = sample.iter().map(|other| other.value);
                    others.chain([100.0]).filter(|place| *place >= one.value).collect()
                }
            };
            truths = truths
                .iter()
                .flat_map(|truth: &Vec<f64>| {
                    places.iter().map(move |place| [truth.as_slice(), &[*place]].concat())
                })
                .collect();
        }
        truths
    }

    proptest! {
        #[test]
        fn a_quantile_is_a_bound_if_and_only_if_some_truth_has_a_larger_one(
            sample in prop::collection::vec((0..6_u8, any::<bool>()), 1..6),
            probability in prop::sample::select(vec![0.0, 0.25, 0.5, 0.9, 1.0]),
        ) {
            let sample: Vec<Observation> = sample
                .into_iter()
                .map(|(value, is_lower_bound)| {
                    Observation { value: f64::from(value), is_lower_bound }
                })
                .collect();
            let found = bounded_quantile(&sample, probability).expect("finite values");
            let truths: Vec<f64> = every_truth(&sample)
                .iter()
                .map(|truth| quantile(truth, probability).expect("finite values"))
                .collect();
            prop_assert!(truths.iter().all(|truth| *truth >= found.value));
            prop_assert!(truths.contains(&found.value));
            prop_assert_eq!(
                found.is_lower_bound,
                truths.iter().any(|truth| *truth > found.value)
            );
        }
    }
}
