//! The rules, one by one, on numbers small enough to check by hand.

use super::*;

const OLDER_S: [f64; 4] = [128.0, 137.0, 131.0, 137.0];
const NEWER_S: [f64; 3] = [212.0, 191.0, 194.0];

fn unpaired(first: &[f64], second: &[f64]) -> Arms {
    Arms::exact(first, second, Pairing::Unpaired)
}

fn paired(first: &[f64], second: &[f64]) -> Arms {
    Arms { pairing: Pairing::Paired, ..unpaired(first, second) }
}

fn alone(arms: Arms) -> CellResult {
    compare(&[arms], &[], &Settings::default()).cells.remove(0).unwrap()
}

fn assert_near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
}

#[test]
fn hunts_first_experiment_is_a_regression_that_ranks_could_not_see() {
    let found = alone(unpaired(&OLDER_S, &NEWER_S));
    assert_eq!((found.verdict, found.method), (Verdict::Regression, Method::WelchLog));
    assert_near(found.ratio, 1.4925, 5e-5);
    assert_near(found.low, 1.3306, 5e-5);
    assert_near(found.high, 1.6741, 5e-5);
    assert_near(found.p, 0.00145, 5e-6);
    assert_near(found.log_ratio.unwrap().degrees_of_freedom, 3.08, 5e-3);
    assert_near(found.smallest_p, 2.0 / 35.0, 1e-15);
    assert!(!found.rank_can_fire);
    assert_eq!(found.rank_needs, 4);
    assert_eq!(found.permutation_p, Some(1.0 / 35.0));
    assert_eq!((found.adjusted_low, found.adjusted_high), (found.low, found.high));
    assert_eq!((found.why, found.more_blocks), (None, None));
}

#[test]
fn ranks_decide_as_soon_as_they_can() {
    let arms = unpaired(&OLDER_S, &[212.0, 191.0, 194.0, 200.0]);
    assert_eq!(alone(arms.clone()).method, Method::HodgesLehmann);
    // Two comparisons need 0.025, and four values a side give 0.0286.
    let two = compare(&[arms.clone(), arms], &[], &Settings::default()).cells;
    let found = two[0].as_ref().unwrap();
    assert_eq!((found.method, found.rank_needs), (Method::WelchLog, 5));
    assert_eq!(found.verdict, Verdict::Regression);
}

#[test]
fn pairs_of_one_ratio_are_a_regression_once_there_are_six() {
    let first = [100.0, 137.0, 12.5, 3.1, 88.0, 41.0];
    let second = first.map(|value| value * 1.2);
    let found = alone(paired(&first, &second));
    assert_eq!((found.verdict, found.method), (Verdict::Regression, Method::SignedRank));
    assert_near(found.adjusted_low, 1.2, 1e-14);
    assert_near(found.adjusted_high, 1.2, 1e-14);
    assert_eq!(found.p, 2.0 / 64.0);
    // Without spread whatever is beyond the margin.
    assert_near(found.minimum_detectable.unwrap(), 1.1, 1e-9);
    assert_eq!(alone(paired(&second, &first)).verdict, Verdict::Improvement);

    let found = alone(paired(&first[..5], &second[..5]));
    assert_eq!(found.verdict, Verdict::CannotTell);
    assert_eq!((found.why, found.more_blocks), (Some(NotDecided::TooFewValues), Some(1)));
    assert_near(found.ratio, 1.2, 1e-14);
    assert_eq!(found.p, 2.0 / 32.0);
}

#[test]
fn two_pairs_that_disagree_say_nothing_and_how_many_would() {
    let found = alone(paired(&[10.0, 12.0], &[9.0, 40.0]));
    assert!(found.low < 0.001 && found.high > 1000.0, "{found:?}");
    assert!(says_nothing(found.low, found.high));
    assert!((4..200).contains(&found.interval_needs.unwrap()), "{found:?}");
    let found = alone(paired(&[10.0, 12.0], &[11.0, 13.0]));
    assert!(!says_nothing(found.low, found.high) && found.interval_needs.is_none());
    // Wide, but it says that the second is worse.
    assert!(!says_nothing(1.5, 4000.0) && says_nothing(0.0, f64::MAX));
}

#[test]
fn one_value_everywhere_is_equivalent() {
    for arms in [unpaired(&[5.0; 2], &[5.0; 3]), paired(&[5.0; 2], &[5.0; 2])] {
        let found = alone(arms);
        assert_eq!(found.verdict, Verdict::Equivalent);
        assert_eq!((found.ratio, found.adjusted_low, found.adjusted_high), (1.0, 1.0, 1.0));
        assert_eq!((found.p, found.equivalence_p_adjusted), (1.0, 0.0));
    }
    let found = alone(unpaired(&[5.0], &[5.0]));
    assert_eq!((found.verdict, found.why), (Verdict::CannotTell, Some(NotDecided::TooFewValues)));
    assert_eq!((found.confidence_attained, found.minimum_detectable), (0.0, None));
}

#[test]
fn pairs_that_are_identical_but_differ_among_each_other_are_equivalent() {
    let values = [100.0, 137.0, 12.5, 3.1, 88.0, 41.0];
    assert_eq!(alone(paired(&values, &values)).verdict, Verdict::Equivalent);
    // As independent samples they spread by more than the margin.
    assert_eq!(alone(unpaired(&values, &values)).verdict, Verdict::CannotTell);
}

#[test]
fn the_reason_names_what_is_in_the_way() {
    let base = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0];
    let shifted = |by: f64| base.map(|value| value * by + 0.01);
    let found = alone(unpaired(&base, &shifted(1.09)));
    assert_eq!(found.why, Some(NotDecided::MarginInsideInterval));
    assert!(found.low > 1.0 && found.low < 1.1 && found.high > 1.1 && found.ratio < 1.1);

    let spread = [60.0, 80.0, 100.0, 110.0, 130.0, 170.0, 190.0];
    let found = alone(unpaired(&base, &spread));
    assert_eq!(found.why, Some(NotDecided::IntervalIncludesOne));
    assert!(found.more_blocks.unwrap() > 1 && found.minimum_detectable.unwrap() > 1.2);

    // Six of 49 pairs the other way round: p = 0.0175 by itself, 0.0524 among three.
    let first = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6];
    let second = [1.35, 1.45, 1.55, 1.65, 1.75, 1.85, 1.95];
    let some = unpaired(&first, &second);
    assert_eq!(alone(some.clone()).verdict, Verdict::Regression);
    let wide = unpaired(&base, &spread);
    let found =
        compare(&[some, wide.clone(), wide], &[], &Settings::default()).cells.remove(0).unwrap();
    assert_eq!(found.why, Some(NotDecided::NotAmongSoMany));
    assert!(found.low > 1.0 && found.adjusted_low <= 1.0, "{found:?}");
}

#[test]
fn what_cannot_be_compared_says_why_and_does_not_count() {
    let good = unpaired(&OLDER_S, &NEWER_S);
    let cells = [
        good.clone(),
        unpaired(&[], &NEWER_S),
        unpaired(&OLDER_S, &[1.0, 0.0]),
        paired(&OLDER_S, &NEWER_S),
        unpaired(&[1e-300], &[1e300]),
    ];
    let found = compare(&cells, &[], &Settings::default()).cells;
    assert_eq!(found[0], Ok(alone(good.clone())));
    let why = |at: usize| found[at].as_ref().unwrap_err().to_string();
    assert!(why(1).contains("no values"));
    assert!(why(2).starts_with("the value 0 has no ratio"));
    assert!(why(3).starts_with("4 values cannot be paired with 3"));
    assert!(why(4).contains("more than a float can hold"));
    let settings = Settings { margin: -0.1, alpha: 0.05 };
    let refused = compare(&[good], &[], &settings).cells.remove(0).unwrap_err().to_string();
    assert!(refused.starts_with("margin -0.1 must be 0 or more"));
    assert!(compare(&[], &[], &settings).cells.is_empty());
}

#[test]
fn a_timeout_is_never_an_improvement_and_may_be_a_regression() {
    let fast: Vec<f64> = (0..8).map(|step| 10.0 + 0.1 * f64::from(step)).collect();
    let mut given_up = unpaired(&fast, &fast);
    // Given up at half the usual delay: it may have taken any time from there.
    given_up.second = vec![Observation::at_least(5.0); 8];
    let found = alone(given_up);
    assert_eq!((found.verdict, found.why), (Verdict::CannotTell, Some(NotDecided::BoundsDecide)));
    assert_eq!((found.high, found.more_blocks), (f64::INFINITY, None));
    let mut hung = unpaired(&fast, &fast);
    hung.second = vec![Observation::at_least(10_000.0); 8];
    let found = alone(hung.clone());
    assert_eq!(found.verdict, Verdict::Regression);
    assert!(found.allowed.unwrap().lowest > 900.0 && found.allowed.unwrap().highest.is_infinite());
    let (first, second) = (hung.second, hung.first);
    let found = alone(Arms::new(first, second, Pairing::Unpaired));
    assert_eq!(found.verdict, Verdict::Improvement);
    assert!(found.ratio < 1.0 / 900.0 && found.low == 0.0, "{found:?}");
}

#[test]
fn deaths_are_judged_in_the_same_family() {
    let died = |first, second| Proportions { first: (first, 10), second: (second, 10) };
    let settings = Settings::default();
    let found = compare(&[], &[died(0, 10), died(10, 0), died(0, 1)], &settings).proportions;
    let verdicts: Vec<Verdict> = found.iter().map(|found| found.unwrap().verdict).collect();
    assert_eq!(verdicts, [Verdict::Regression, Verdict::Improvement, Verdict::CannotTell]);
    // Six of ten have p = 0.011 alone: too much among ten cells that show nothing.
    let alone = compare(&[], &[died(0, 6)], &settings).proportions[0].unwrap();
    assert_eq!(alone.verdict, Verdict::Regression);
    let nothing = vec![unpaired(&OLDER_S, &OLDER_S[..3]); 10];
    let among = compare(&nothing, &[died(0, 6)], &settings).proportions[0].unwrap();
    assert_eq!((among.verdict, among.p), (Verdict::CannotTell, alone.p));
    let none = Proportions { first: (0, 0), second: (1, 1) };
    assert_eq!(compare(&[], &[none], &settings).proportions, [None]);
}

fn bounded(values: &[f64], bounds: &[f64]) -> Vec<Observation> {
    let exact = values.iter().copied().map(Observation::exact);
    exact.chain(bounds.iter().copied().map(Observation::at_least)).collect()
}

#[test]
fn what_a_bound_leaves_open_is_open_whatever_the_method() {
    let second = bounded(&[10.0, 10.2, 10.4], &[]);
    let pairing = Pairing::Unpaired;
    let few = alone(Arms::new(bounded(&[10.0, 10.5], &[10.0]), second, pairing));
    assert_eq!(few.method, Method::WelchLog);
    let allowed = few.allowed.unwrap();
    assert_eq!((allowed.lowest, allowed.mark(), few.low), (0.0, "≤ ", 0.0));
    assert_near(few.ratio, 1.0, 0.05);
    assert_eq!((few.minimum_detectable, few.interval_needs), (None, None), "a matter of bounds");

    // The middle two of sixteen ratios are of a bound and of a value.
    let first = bounded(&[10.0, 10.1], &[10.2, 10.3]);
    let second = bounded(&[13.0, 13.1, 13.2, 13.3], &[]);
    let ranks = alone(Arms::new(first, second, pairing));
    assert_eq!((ranks.method, ranks.allowed.unwrap().lowest), (Method::HodgesLehmann, 0.0));
    assert_near(ranks.ratio, 1.3, 0.02);

    // A Walsh average of the bound's pair and of another one is open as well.
    let values = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6];
    let first = bounded(&values, &[1.0]);
    let second = bounded(&values.map(|value| 1.2 * value), &[1.3]);
    let pairs = alone(Arms::new(first, second, Pairing::Paired));
    assert_eq!((pairs.method, pairs.adjusted_high), (Method::SignedRank, f64::INFINITY));
}
