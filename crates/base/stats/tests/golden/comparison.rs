//! The parts of `compare` against SciPy and brute force; `comparison.py` computed the numbers.

use serde_json::Value;
use stats::{
    Goal, LogRatio, Pairing, SampleSizes, fisher_exact_p, holm, log_ratio,
    minimum_detectable_ratio, permutation_p, sign_flip_p,
};

use crate::support::{assert_close, by_ranks, number, numbers};

fn cases(name: &str) -> Vec<Value> {
    crate::support::cases(include_str!("comparison.json"), Some(name))
}

#[test]
fn t_on_logarithms_agrees_with_scipy() {
    for case in cases("log_ratio") {
        let (first, second) = (numbers(&case, "first"), numbers(&case, "second"));
        let paired = case["paired"].as_bool().expect("a flag");
        let pairing = if paired { Pairing::Paired } else { Pairing::Unpaired };
        let found = log_ratio(&first, &second, pairing, number(&case, "confidence")).unwrap();
        let LogRatio { ratio, low, high, degrees_of_freedom, p, log_standard_error: _ } = found;
        assert_close(ratio, number(&case, "ratio"), 1e-13, &case);
        assert_close(degrees_of_freedom, number(&case, "df"), 1e-10, &case);
        assert_close(p, number(&case, "p"), 1e-9, &case);
        // Their logarithms agree to nine digits; the ends are their exponentials.
        assert_close(low.ln(), number(&case, "low").ln(), 1e-9, &case);
        assert_close(high.ln(), number(&case, "high").ln(), 1e-9, &case);
    }
}

#[test]
fn ratios_of_pairs_agree_with_enumeration() {
    let mut decided = 0;
    for case in cases("paired_hodges_lehmann") {
        let (first, second) = (numbers(&case, "first"), numbers(&case, "second"));
        let alpha = 1.0 - number(&case, "confidence");
        let Some(found) = by_ranks(&first, &second, Pairing::Paired, alpha) else { continue };
        assert_close(found.ratio, number(&case, "ratio"), 1e-13, &case);
        assert_close(found.low, number(&case, "low"), 1e-13, &case);
        assert_close(found.high, number(&case, "high"), 1e-13, &case);
        let attained = number(&case, "confidence_attained");
        assert!((found.confidence_attained - attained).abs() < 1e-12, "{found:?} {case}");
        decided += 1;
    }
    assert!(decided >= 18, "{decided} cases");
}

#[test]
fn permutations_agree_with_scipy() {
    for case in cases("permutation") {
        let p = permutation_p(&numbers(&case, "a"), &numbers(&case, "b")).unwrap();
        assert_close(p, number(&case, "p"), 1e-12, &case);
    }
    for case in cases("sign_flip") {
        let p = sign_flip_p(&numbers(&case, "differences")).unwrap();
        assert_close(p, number(&case, "p"), 1e-12, &case);
    }
}

#[test]
fn tables_of_two_by_two_agree_with_scipy() {
    for case in cases("fisher") {
        let pair = |key: &str| {
            let count = |index: usize| case[key][index].as_u64().expect("a count");
            (count(0), count(1))
        };
        let p = fisher_exact_p(pair("first"), pair("second")).unwrap();
        assert_close(p, number(&case, "p"), 1e-7, &case);
    }
}

#[test]
fn adjusted_p_values_agree_with_numpy() {
    for case in cases("multiple") {
        let p = numbers(&case, "p");
        let (found, expected) = (holm(&p), numbers(&case, "holm"));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert_close(*found, expected, 1e-12, &case);
        }
    }
}

#[test]
fn detectable_ratios_agree_with_noncentral_t() {
    for case in cases("detectable") {
        let sizes: Vec<u64> = numbers(&case, "sizes").into_iter().map(|size| size as u64).collect();
        let sizes = match sizes[..] {
            [pairs] => SampleSizes::Paired(pairs),
            [n, m] => SampleSizes::Unpaired(n, m),
            _ => panic!("one or two sizes: {case}"),
        };
        let (alpha, power) = (number(&case, "alpha"), number(&case, "power"));
        let goal = Goal { margin: 0.0, alpha, power };
        let found = minimum_detectable_ratio(number(&case, "spread"), sizes, goal).unwrap();
        assert_close(found.ln(), number(&case, "ratio").ln(), 1e-6, &case);
    }
}
