//! Laws that hold for every sample.

use proptest::collection::vec;
use proptest::prelude::*;
use stats::{
    Arms, Pairing, Settings, clopper_pearson, compare, hodges_lehmann_ratio, mean, median,
    minimum_two_sided_p, one_sd_mean, quantile, standard_deviation,
};

/// Delays from a nanosecond to a week, in ms; coarse ones give ties.
fn delay() -> impl Strategy<Value = f64> {
    prop_oneof![1e-6..6e8, 100.0..110.0, (1..6).prop_map(f64::from)]
}

fn delays() -> impl Strategy<Value = Vec<f64>> {
    vec(delay(), 1..24)
}

fn anything() -> impl Strategy<Value = Vec<f64>> {
    vec(prop_oneof![any::<f64>(), delay(), Just(0.0), Just(-0.0)], 0..9)
}

fn confidence() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.95), Just(0.9), 0.01..0.999]
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

proptest! {
    #[test]
    fn the_interval_contains_the_estimate(a in delays(), b in delays(), c in confidence()) {
        let found = hodges_lehmann_ratio(&a, &b, c).unwrap();
        prop_assert!(found.low <= found.ratio && found.ratio <= found.high, "{found:?}");
        let largest = 1.0 - minimum_two_sided_p(a.len(), b.len());
        prop_assert!(found.confidence_attained >= c.min(largest) - 1e-12, "{found:?}");
        prop_assert!(found.confidence_attained <= largest + 1e-12, "{found:?}");
    }

    #[test]
    fn a_sample_is_once_itself(a in delays(), c in confidence()) {
        prop_assert_eq!(hodges_lehmann_ratio(&a, &a, c).unwrap().ratio, 1.0);
    }

    #[test]
    fn scaling_the_treated_scales_the_ratio(a in delays(), b in delays(), scale in 0.01..100.0) {
        let plain = hodges_lehmann_ratio(&a, &b, 0.95).unwrap();
        let larger: Vec<f64> = b.iter().map(|value| value * scale).collect();
        let scaled = hodges_lehmann_ratio(&a, &larger, 0.95).unwrap();
        prop_assert!(close(scaled.ratio, plain.ratio * scale));
        prop_assert!(close(scaled.low, plain.low * scale));
        prop_assert!(close(scaled.high, plain.high * scale));
        prop_assert_eq!(scaled.confidence_attained, plain.confidence_attained);
    }

    #[test]
    fn exchanging_the_samples_gives_the_reciprocal(a in delays(), b in delays(), c in confidence()) {
        let there = hodges_lehmann_ratio(&a, &b, c).unwrap();
        let back = hodges_lehmann_ratio(&b, &a, c).unwrap();
        prop_assert!(close(back.ratio, 1.0 / there.ratio));
        prop_assert!(close(back.low, 1.0 / there.high));
        prop_assert!(close(back.high, 1.0 / there.low));
        prop_assert_eq!(back.confidence_attained, there.confidence_attained);
    }

    #[test]
    fn the_order_of_the_values_does_not_matter(
        (a, shuffled) in delays().prop_flat_map(|a| (Just(a.clone()), Just(a).prop_shuffle())),
        b in delays(),
    ) {
        prop_assert_eq!(hodges_lehmann_ratio(&a, &b, 0.95), hodges_lehmann_ratio(&shuffled, &b, 0.95));
        prop_assert_eq!(median(&a), median(&shuffled));
        prop_assert_eq!(quantile(&a, 0.9), quantile(&shuffled, 0.9));
    }

    #[test]
    fn an_interval_beside_one_and_a_small_p_say_the_same(
        a in vec(1.0..2.0, 5..12),
        b in vec(1.0..3.0, 5..12),
    ) {
        // The interval inverts the test; without ties they must agree.
        let found = hodges_lehmann_ratio(&a, &b, 0.95).unwrap();
        let arms = Arms::exact(&a, &b, Pairing::Unpaired);
        let p = compare(&[arms], &[], &Settings::default()).cells.remove(0).unwrap().p;
        prop_assert!(p <= 1.0 && p >= minimum_two_sided_p(a.len(), b.len()) * (1.0 - 1e-12), "{p}");
        prop_assert_eq!(found.low > 1.0 || found.high < 1.0, p <= 0.05, "{:?} {}", found, p);
    }

    #[test]
    fn a_summary_lies_within_its_sample(a in delays(), p in 0.0..=1.0) {
        let low = a.iter().copied().fold(f64::INFINITY, f64::min) * (1.0 - 1e-12);
        let high = a.iter().copied().fold(0.0, f64::max) * (1.0 + 1e-12);
        for summary in [mean(&a), median(&a), quantile(&a, p), one_sd_mean(&a)] {
            let summary = summary.unwrap();
            prop_assert!(low <= summary && summary <= high, "{summary} of {a:?}");
        }
        prop_assert_eq!(standard_deviation(&a).is_some(), a.len() > 1);
    }

    #[test]
    fn a_proportion_lies_within_its_interval(k in 0_u64..2_000, more in 1_u64..2_000, c in confidence()) {
        let found = clopper_pearson(k, k + more, c).unwrap();
        prop_assert!(0.0 <= found.low && found.low <= found.proportion, "{found:?}");
        prop_assert!(found.proportion <= found.high && found.high <= 1.0, "{found:?}");
    }

    #[test]
    fn nothing_panics_and_no_answer_is_not_finite(a in anything(), b in anything(), c in any::<f64>()) {
        let summaries = [mean(&a), median(&a), quantile(&a, c), standard_deviation(&a), one_sd_mean(&a)];
        prop_assert!(summaries.into_iter().flatten().all(f64::is_finite));
        let usable = |values: &[f64]| !values.is_empty() && values.iter().all(|v| v.is_finite());
        for level in [0.95, c] {
            let Some(found) = hodges_lehmann_ratio(&a, &b, level) else { continue };
            prop_assert!(usable(&a) && usable(&b) && a.iter().chain(&b).all(|v| *v > 0.0));
            prop_assert!(0.0 < found.low && found.low <= found.ratio);
            prop_assert!(found.ratio <= found.high && found.high.is_finite());
        }
    }
}
