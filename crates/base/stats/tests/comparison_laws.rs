//! Laws that hold for every comparison.

use model::Observation;
use proptest::collection::vec;
use proptest::prelude::*;
use stats::{
    Arms, CellResult, Pairing, Settings, Verdict, compare, fisher_exact_p, geometric_mean, holm,
    permutation_p, sign_flip_p,
};

/// Costs: tight, wild, and coarse with ties.
fn cost() -> impl Strategy<Value = f64> {
    prop_oneof![100.0..104.0, 1e-3..1e6, (1..6).prop_map(f64::from)]
}

fn arms() -> impl Strategy<Value = Arms> {
    let unpaired = (vec(cost(), 1..12), vec(cost(), 1..12))
        .prop_map(|(first, second)| Arms::exact(&first, &second, Pairing::Unpaired));
    let paired = vec((cost(), 0.8..1.6), 1..14).prop_map(|pairs| {
        let (first, second): (Vec<f64>, Vec<f64>) =
            pairs.into_iter().map(|(cost, ratio)| (cost, cost * ratio)).unzip();
        Arms::exact(&first, &second, Pairing::Paired)
    });
    prop_oneof![unpaired, paired]
}

fn family() -> impl Strategy<Value = Vec<Arms>> {
    vec(arms(), 1..6)
}

fn results(cells: &[Arms]) -> Vec<CellResult> {
    compare(cells, &[], &Settings::default()).cells.into_iter().map(Result::unwrap).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Values, each with whether it is a bound and by how much the true one is larger.
fn half_known(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(Observation, f64)>> {
    let one = (cost(), prop::bool::weighted(0.3), 1.0..100.0);
    let one = one.prop_map(|(value, is_lower_bound, times)| {
        let truth = if is_lower_bound { value * times } else { value };
        (Observation { value, is_lower_bound }, truth)
    });
    vec(one, count)
}

proptest! {
    /// Large enough that ranks decide.
    #[test]
    fn no_completion_of_the_bounds_withdraws_a_verdict(
        first in half_known(6..12), second in half_known(6..12), shift in 0.2..5.0,
    ) {
        let known = |side: &[(Observation, f64)], shift: f64| {
            let scaled = |(it, _): &(Observation, f64)| Observation {
                value: it.value * shift, ..*it
            };
            side.iter().map(scaled).collect::<Vec<_>>()
        };
        let complete = |side: &[(Observation, f64)], shift: f64| {
            side.iter().map(|(_, truth)| truth * shift).collect::<Vec<_>>()
        };
        let bounded =
            Arms::new(known(&first, 1.0), known(&second, shift), Pairing::Unpaired);
        let truth =
            Arms::exact(&complete(&first, 1.0), &complete(&second, shift), Pairing::Unpaired);
        let found = results(&[bounded]).remove(0);
        let truth = results(&[truth]).remove(0);
        if found.verdict != Verdict::CannotTell {
            prop_assert_eq!(found.verdict, truth.verdict);
        }
        prop_assert!(found.low <= truth.low * (1.0 + 1e-9), "{:?} {:?}", found, truth);
        prop_assert!(found.high >= truth.high * (1.0 - 1e-9), "{:?} {:?}", found, truth);
        if let Some(allowed) = found.allowed {
            prop_assert!(allowed.lowest <= truth.ratio * (1.0 + 1e-9));
            prop_assert!(allowed.highest >= truth.ratio * (1.0 - 1e-9));
        }
    }

    #[test]
    fn exchanging_the_arms_mirrors_the_verdict(cells in family()) {
        let exchanged: Vec<Arms> = cells
            .iter()
            .map(|arms| {
                Arms { first: arms.second.clone(), second: arms.first.clone(), ..arms.clone() }
            })
            .collect();
        for (there, back) in results(&cells).into_iter().zip(results(&exchanged)) {
            let mirrored = match there.verdict {
                Verdict::Regression => Verdict::Improvement,
                Verdict::Improvement => Verdict::Regression,
                other => other,
            };
            prop_assert_eq!(back.verdict, mirrored);
            prop_assert_eq!(back.method, there.method);
            prop_assert!(close(back.ratio, 1.0 / there.ratio));
            prop_assert!(close(back.p_adjusted, there.p_adjusted));
            // An end beyond the floats is the last float, which has another reciprocal.
            if there.low > 1e-300 && there.high < 1e300 {
                prop_assert!(close(back.low, 1.0 / there.high), "{:?} {:?}", there, back);
                prop_assert!(close(back.high, 1.0 / there.low), "{:?} {:?}", there, back);
            }
        }
    }

    #[test]
    fn the_unit_does_not_matter(cells in family(), unit in 1e-6..1e6) {
        let scaled: Vec<Arms> = cells
            .iter()
            .map(|arms| {
                let scale = |values: &[Observation]| {
                    let scaled = |it: &Observation| Observation { value: it.value * unit, ..*it };
                    values.iter().map(scaled).collect()
                };
                Arms { first: scale(&arms.first), second: scale(&arms.second), ..arms.clone() }
            })
            .collect();
        for (plain, scaled) in results(&cells).into_iter().zip(results(&scaled)) {
            prop_assert_eq!(plain.verdict, scaled.verdict);
            prop_assert_eq!((plain.why, plain.method), (scaled.why, scaled.method));
            prop_assert!(close(plain.ratio, scaled.ratio));
            prop_assert!(close(plain.p_adjusted, scaled.p_adjusted));
        }
    }

    #[test]
    fn the_adjusted_interval_says_the_same_as_the_verdict(cells in family()) {
        let Settings { margin, alpha } = Settings::default();
        let (inner, outer) = (1.0 - 1e-9, 1.0 + 1e-9);
        for found in results(&cells) {
            prop_assert!(found.low <= found.ratio && found.ratio <= found.high, "{:?}", found);
            let (low, high) = (found.adjusted_low, found.adjusted_high);
            match found.verdict {
                Verdict::Regression => {
                    prop_assert!(low > inner && found.ratio > 1.0 + margin, "{:?}", found);
                }
                Verdict::Improvement => {
                    prop_assert!(high < outer && found.ratio < 1.0 / (1.0 + margin), "{:?}", found);
                }
                Verdict::Equivalent => {
                    let inside = low * (1.0 + margin) > inner && high < (1.0 + margin) * outer;
                    prop_assert!(inside, "{:?}", found);
                }
                Verdict::Difference => prop_assert!(false, "no test returns it: {:?}", found),
                Verdict::CannotTell => {
                    let includes_one = low <= outer && high >= inner;
                    let small = found.ratio.max(1.0 / found.ratio) <= (1.0 + margin) * outer;
                    // The whole range of very few values may exclude 1 and still prove nothing.
                    prop_assert!(includes_one || small || found.smallest_p > alpha / 6.0);
                }
            }
            prop_assert_eq!(found.why.is_some(), found.verdict == Verdict::CannotTell);
            prop_assert!(found.why.is_some() || found.more_blocks.is_none());
            prop_assert!(found.p <= found.p_adjusted + 1e-15 && found.p_adjusted <= 1.0);
            prop_assert!(found.more_blocks != Some(0));
        }
    }

    #[test]
    fn more_comparisons_never_make_a_p_value_smaller(cells in family(), other in arms()) {
        let few = results(&cells);
        let more = results(&[cells, vec![other]].concat());
        for (few, more) in few.iter().zip(&more) {
            // Among more cells the method may change from ranks to t.
            if few.method == more.method {
                prop_assert!(few.p_adjusted <= more.p_adjusted * (1.0 + 1e-12));
            }
        }
    }

    #[test]
    fn an_interval_of_pairs_beside_one_and_a_small_p_say_the_same(
        ratios in vec(0.7..1.6, 6..20),
    ) {
        let arms = Arms::exact(&vec![1.0; ratios.len()], &ratios, Pairing::Paired);
        let found = &results(&[arms])[0];
        prop_assert_eq!(found.low > 1.0 || found.high < 1.0, found.p <= 0.05, "{:?}", found);
    }

    #[test]
    fn p_values_do_not_depend_on_which_comes_first(
        a in vec(cost(), 1..6),
        b in vec(cost(), 1..6),
        tables in (0_u64..40, 1_u64..40, 0_u64..40, 1_u64..40),
    ) {
        prop_assert!(close(permutation_p(&a, &b).unwrap(), permutation_p(&b, &a).unwrap()));
        let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let negated: Vec<f64> = differences.iter().map(|value| -value).collect();
        prop_assert_eq!(sign_flip_p(&differences), sign_flip_p(&negated));
        let (hits, misses, other_hits, other_misses) = tables;
        let (one, other) = ((hits, hits + misses), (other_hits, other_hits + other_misses));
        let p = fisher_exact_p(one, other).unwrap();
        prop_assert!(p > 0.0 && p <= 1.0);
        prop_assert!(close(p, fisher_exact_p(other, one).unwrap()));
    }

    #[test]
    fn holm_is_between_one_test_and_bonferroni(p in vec(0.0..=1.0, 1..20)) {
        for (plain, adjusted) in p.iter().zip(holm(&p)) {
            let bonferroni = (plain * p.len() as f64).min(1.0);
            prop_assert!(*plain <= adjusted && adjusted <= bonferroni, "{plain} {adjusted}");
        }
    }

    #[test]
    fn a_geometric_mean_lies_between_its_leave_one_out_ends(ratios in vec(0.1..10.0, 2..12)) {
        let found = geometric_mean(&ratios).unwrap();
        let (lowest, highest) = (found.lowest.unwrap().ratio, found.highest.unwrap().ratio);
        prop_assert!(lowest <= found.ratio * (1.0 + 1e-12), "{:?}", found);
        prop_assert!(found.ratio <= highest * (1.0 + 1e-12), "{:?}", found);
    }
}
