//! Factorial experiments from design to effects: what is planted is found, what cannot be known is
//! refused with its reason.

use proptest::prelude::*;
use stats::{
    Factor, Factorial, FactorialError, FactorialTrial, Resolution, Scale, fit, fit_to_order,
    full_factorial, randomised_blocks, two_level_fraction,
};

/// One observation for each cell, named a, b, c, … with levels 0, 1, ….
fn factorial(
    level_counts: &[usize],
    cells: &[Vec<usize>],
    value: impl Fn(&[usize]) -> f64,
) -> Factorial {
    let factor = |(index, count): (usize, &usize)| Factor {
        name: ["a", "b", "c", "d", "e", "f"][index].to_owned(),
        levels: (0..*count).map(|level| level.to_string()).collect(),
    };
    let observation = |cell: &Vec<usize>| FactorialTrial {
        levels: cell.clone(),
        block: None,
        value: value(cell),
    };
    Factorial {
        factors: level_counts.iter().enumerate().map(factor).collect(),
        observations: cells.iter().map(observation).collect(),
    }
}

fn two_by_two() -> Factorial {
    let mut cells = full_factorial(&[2, 2]);
    cells.extend(cells.clone());
    let mut data = factorial(&[2, 2], &cells, |cell| 10.0 + cell[0] as f64 + 3.0 * cell[1] as f64);
    data.observations[0].value = 11.0;
    data
}

#[test]
fn one_observation_a_cell_gives_estimates_without_intervals() {
    let data = factorial(&[2, 3], &full_factorial(&[2, 3]), |cell| {
        100.0 * f64::powi(1.5, cell[0] as i32) * f64::powi(2.0, cell[1] as i32)
    });
    let found = fit(&data, Scale::Log, 0.95).unwrap();
    assert_eq!((found.terms.len(), found.residual_df, found.sigma), (3, 0, None));
    let effect = found.main[2].figure;
    assert!((effect.value - 4.0).abs() < 1e-12);
    assert_eq!((effect.interval, effect.f, effect.p), (None, None, None));
    assert!((found.total.value - 6.0).abs() < 1e-12);
    // Leaving the interaction out frees two degrees of freedom, but there is no noise in them.
    let main = fit_to_order(&data, Scale::Log, 0.95, 1).unwrap();
    assert_eq!((main.residual_df, main.sigma), (2, Some(0.0)));
    assert!(main.interactions.is_empty());
    let (low, high) = main.main[2].figure.interval.unwrap();
    assert!((low - 4.0).abs() < 1e-12 && (high - 4.0).abs() < 1e-12);
    assert_eq!(main.main[2].figure.p, None);
}

#[test]
fn an_empty_cell_is_named_where_the_model_needs_it() {
    let mut data = two_by_two();
    data.observations.retain(|each| each.levels != [1, 0]);
    let error = fit(&data, Scale::Log, 0.95).unwrap_err();
    assert_eq!(error, FactorialError::EmptyCell("a = 1, b = 0".to_owned()));
    let main = fit_to_order(&data, Scale::Additive, 0.95, 1).unwrap();
    let empty = main.cells.iter().find(|cell| cell.levels == ["1", "0"]).unwrap();
    assert_eq!((empty.count, empty.mean), (0, None));
    // (1, 1) is 14, and b adds 2.5: from the mean of 10 and 11 to 13.
    assert!((empty.fitted - 11.5).abs() < 1e-9, "{}", empty.fitted);
}

#[test]
fn data_that_do_not_fit_the_question_are_refused() {
    let refused = |change: &dyn Fn(&mut Factorial)| {
        let mut data = two_by_two();
        change(&mut data);
        fit(&data, Scale::Log, 0.95).unwrap_err().to_string()
    };
    let zero = refused(&|data| data.observations[2].value = 0.0);
    assert_eq!(zero, "observation 2 is 0, which has no logarithm: use the additive scale");
    let infinite = refused(&|data| data.observations[2].value = f64::INFINITY);
    assert_eq!(infinite, "observation 2 is inf: leave it out and say why");
    let unknown = refused(&|data| data.observations[3].levels[1] = 2);
    assert_eq!(unknown, "observation 3: factor b has no level number 2 (from 0)");
    let short = refused(&|data| data.observations[1].levels = vec![0]);
    assert_eq!(short, "observation 1 has 1 levels for 2 factors");
    let unseen = refused(&|data| data.factors[0].levels.push("never".to_owned()));
    assert_eq!(unseen, "no observation of a = never: measure it or leave the level out");
    let single = refused(&|data| data.factors[0].levels.truncate(1));
    assert!(single.starts_with("factor a has fewer than two levels"));
    let unblocked = refused(&|data| data.observations[5].block = Some(1));
    assert!(unblocked.starts_with("observation 0 has no block"));
    assert!(refused(&|data| data.factors.clear()).starts_with("no factor"));
    let confounded = refused(&|data| {
        data.observations.iter_mut().for_each(|each| each.block = Some(each.levels[0]));
    });
    assert!(confounded.starts_with("a is confounded"));
    let sure = fit(&two_by_two(), Scale::Log, 1.0).unwrap_err().to_string();
    assert_eq!(sure, "confidence 1 is not strictly between 0 and 1");
}

/// Five factors in 16 runs: effects and all interactions of two are clear, and none is left to
/// estimate noise from; six in 16 runs have only clear main effects.
#[test]
fn fractions_give_back_the_planted_effects_and_refuse_what_they_confuse() {
    let planted = |cell: &[usize]| {
        let sum: f64 =
            cell.iter().enumerate().map(|(f, level)| (f + 1) as f64 * *level as f64).sum();
        50.0 + sum + 7.0 * (cell[1] * cell[3]) as f64
    };
    let five = two_level_fraction(5, Resolution::Five).unwrap();
    let data = factorial(&[2; 5], &five.cells, planted);
    let found = fit(&data, Scale::Additive, 0.95).unwrap();
    assert_eq!((found.terms.len(), found.residual_df), (15, 0));
    let expected = [1.0, 2.0 + 3.5, 3.0, 4.0 + 3.5, 5.0];
    for (effect, expected) in found.main.iter().zip(expected) {
        assert!((effect.figure.value - expected).abs() < 1e-9);
    }
    for interaction in &found.interactions {
        let expected =
            if interaction.factors.0 == "b" && interaction.factors.1 == "d" { 7.0 } else { 0.0 };
        assert!((interaction.figure.value - expected).abs() < 1e-9);
    }
    let six = two_level_fraction(6, Resolution::Four).unwrap();
    let data = factorial(&[2; 6], &six.cells, planted);
    // a × b × c = e, so b × c = a × e, the first interaction that repeats an earlier one.
    let error = fit_to_order(&data, Scale::Additive, 0.95, 2).unwrap_err();
    assert_eq!(error, FactorialError::Aliased("b × c".to_owned()));
    let main = fit(&data, Scale::Additive, 0.95).unwrap();
    assert!(main.interactions.is_empty());
    assert!((main.main[5].figure.value - 6.0).abs() < 1e-9);
}

proptest! {
    #[test]
    fn every_block_has_every_cell_once(cells in 0..40_usize, blocks in 0..9_usize, seed: u64) {
        let order = randomised_blocks(cells, blocks, seed);
        prop_assert_eq!(order.len(), blocks);
        for mut block in order {
            block.sort_unstable();
            prop_assert_eq!(block, (0..cells).collect::<Vec<_>>());
        }
    }

    /// Another unit changes no ratio; another order of the observations changes nothing.
    #[test]
    fn ratios_have_no_unit_and_observations_no_order(
        values in proptest::collection::vec(1.0..100.0_f64, 12),
        unit in 0.001..1000.0_f64,
    ) {
        let mut cells = full_factorial(&[3, 2]);
        cells.extend(cells.clone());
        let mut data = factorial(&[3, 2], &cells, |_| 0.0);
        data.observations.iter_mut().zip(&values).for_each(|(each, value)| each.value = *value);
        let found = fit(&data, Scale::Log, 0.9).unwrap();
        data.observations.iter_mut().for_each(|each| each.value *= unit);
        data.observations.reverse();
        let other = fit(&data, Scale::Log, 0.9).unwrap();
        for (one, two) in found.simple.iter().zip(&other.simple) {
            prop_assert!((one.figure.value / two.figure.value - 1.0).abs() < 1e-9);
            prop_assert!((one.figure.p.unwrap() - two.figure.p.unwrap()).abs() < 1e-6);
        }
        // In balanced data the terms and the residuals add up to the whole.
        let terms: f64 = found.terms.iter().map(|term| term.percent.unwrap()).sum();
        let whole = 100.0 * found.terms[0].sum_of_squares / found.terms[0].percent.unwrap();
        let residual = found.residual_df as f64 * found.sigma.unwrap().powi(2);
        prop_assert!((terms + 100.0 * residual / whole - 100.0).abs() < 1e-7);
    }
}
