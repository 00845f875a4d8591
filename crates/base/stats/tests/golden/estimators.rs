//! Summaries, intervals and rank tests against SciPy, brute force and R (`make.py`, `wilcox.R`).

use stats::{
    Pairing, clopper_pearson, hodges_lehmann_ratio, mean, median, one_sd_mean, quantile,
    standard_deviation,
};

use crate::support::{assert_close, by_ranks, cases, number, numbers};

const SCIPY: &str = include_str!("golden.json");
const R: &str = include_str!("wilcox.json");

#[test]
fn summaries_agree_with_numpy() {
    for case in cases(SCIPY, Some("describe")) {
        let values = numbers(&case, "values");
        assert_close(mean(&values).unwrap(), number(&case, "mean"), 1e-13, &case);
        assert_close(median(&values).unwrap(), number(&case, "median"), 1e-15, &case);
        assert_close(one_sd_mean(&values).unwrap(), number(&case, "one_sd_mean"), 1e-13, &case);
        match standard_deviation(&values) {
            Some(spread) => {
                assert_close(spread, number(&case, "standard_deviation"), 1e-12, &case);
            }
            None => assert!(case["standard_deviation"].is_null()),
        }
        for (p, expected) in
            numbers(&case, "probabilities").into_iter().zip(numbers(&case, "quantiles"))
        {
            assert_close(quantile(&values, p).unwrap(), expected, 1e-13, &case);
        }
    }
}

#[test]
fn ratios_and_intervals_agree_with_enumeration() {
    for case in cases(SCIPY, Some("hodges_lehmann")) {
        let (baseline, treated) = (numbers(&case, "baseline"), numbers(&case, "treated"));
        let found = hodges_lehmann_ratio(&baseline, &treated, number(&case, "confidence")).unwrap();
        assert_close(found.ratio, number(&case, "ratio"), 1e-13, &case);
        assert_eq!(found.low, number(&case, "low"), "{case}");
        assert_eq!(found.high, number(&case, "high"), "{case}");
        let attained = number(&case, "confidence_attained");
        assert!((found.confidence_attained - attained).abs() < 1e-12, "{found:?} {case}");
    }
}

#[test]
fn ratios_and_intervals_agree_with_r() {
    for case in cases(R, None) {
        let (baseline, treated) = (numbers(&case, "baseline"), numbers(&case, "treated"));
        let found = hodges_lehmann_ratio(&baseline, &treated, number(&case, "confidence")).unwrap();
        assert_close(found.ratio, number(&case, "ratio"), 1e-13, &case);
        assert_close(found.low, number(&case, "low"), 1e-13, &case);
        assert_close(found.high, number(&case, "high"), 1e-13, &case);
    }
}

/// `compare` decides by ranks where these can reach the level.
#[test]
fn rank_tests_agree_with_scipy() {
    let mut decided = 0;
    for case in cases(SCIPY, Some("mann_whitney")) {
        let (a, b) = (numbers(&case, "a"), numbers(&case, "b"));
        let found = by_ranks(&a, &b, Pairing::Unpaired, 0.2);
        // Midranks are not what the interval inverts: with ties its p-values are larger.
        let Some(found) = found.filter(|_| case["method"] == "mannwhitneyu, exact") else {
            continue;
        };
        assert_close(found.p, number(&case, "p"), 1e-9, &case);
        decided += 1;
    }
    assert!(decided >= 12, "{decided} cases");
}

#[test]
fn proportions_agree_with_scipy() {
    for case in cases(SCIPY, Some("clopper_pearson")) {
        let count = |key: &str| case[key].as_u64().expect("a count");
        let confidence = number(&case, "confidence");
        let found = clopper_pearson(count("successes"), count("trials"), confidence).unwrap();
        // The logarithms of gamma behind it lose digits as the trials grow.
        let tolerance = if count("trials") <= 1_000 { 1e-9 } else { 1e-7 };
        assert_close(found.low, number(&case, "low"), tolerance, &case);
        assert_close(found.high, number(&case, "high"), tolerance, &case);
    }
}
