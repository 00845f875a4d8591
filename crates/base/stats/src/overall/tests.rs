//! Overall effects on numbers small enough to check by hand.

use super::*;

fn costs(from: usize, values: &[f64]) -> Vec<TrialCost> {
    values
        .iter()
        .enumerate()
        .map(|(at, cost)| TrialCost { trial: from + at, cost: *cost })
        .collect()
}

/// A cell of trials of its own.
fn cell(number: usize, first: &[f64], second: &[f64]) -> OverallCell {
    let mean =
        |values: &[f64]| values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64;
    OverallCell {
        ratio: (mean(second) - mean(first)).exp(),
        first: costs(100 * number, first),
        second: costs(100 * number, second),
        pairing: Pairing::Unpaired,
    }
}

fn alone(cells: Vec<OverallCell>) -> Result<OverallEffect, Refused> {
    overall(&[cells], &Settings::default()).remove(0)
}

/// Why there is no effect.
fn why(cells: Vec<OverallCell>) -> String {
    alone(cells).unwrap_err().to_string()
}

#[test]
fn cells_with_one_value_each_are_blocks_of_a_t_test() {
    let ratios = [1.2, 1.3, 1.25, 1.4, 1.15];
    let cells: Vec<OverallCell> =
        ratios.iter().enumerate().map(|(at, ratio)| cell(at, &[1.0], &[*ratio])).collect();
    let found = alone(cells).unwrap();
    let t = crate::log_ratio(&[1.0; 5], &ratios, Pairing::Paired, 0.95).unwrap();
    let mixed = found.mixed.unwrap();
    assert!((mixed.low - t.low).abs() < 1e-12 && (mixed.high - t.high).abs() < 1e-12);
    assert_eq!(mixed.degrees_of_freedom, 4.0);
    assert_eq!(found.verdict, Verdict::Regression);
    // 2 of 2^5 sign flips cannot reach 0.05.
    assert_eq!(found.permutation, None);
}

#[test]
fn many_cells_show_what_none_of_them_can() {
    // Ten cells of two trials a side, 15 % slower, with noise of 10 %.
    let noise = [0.08_f64, -0.1, 0.12, -0.05, 0.02, -0.13, 0.1, 0.06, -0.07, -0.02];
    let cells: Vec<OverallCell> = (0..10)
        .map(|at| {
            let value = |place: usize| noise[(at * 3 + place * 7) % 10].exp();
            cell(at, &[value(0), value(1)], &[1.15 * value(2), 1.15 * value(3)])
        })
        .collect();
    let costs = |side: &[TrialCost]| side.iter().map(|one| one.cost).collect::<Vec<f64>>();
    let arms = |cell: &OverallCell| {
        crate::Arms::exact(&costs(&cell.first), &costs(&cell.second), Pairing::Unpaired)
    };
    let family: Vec<crate::Arms> = cells.iter().map(arms).collect();
    let single = crate::compare(&family, &[], &Settings::default()).cells;
    assert!(single.iter().flatten().all(|cell| cell.verdict == Verdict::CannotTell));
    let found = alone(cells).unwrap();
    assert_eq!(found.verdict, Verdict::Regression);
    let (mixed, permuted) = (found.mixed.unwrap(), found.permutation.unwrap());
    assert!(!permuted.exact && permuted.p < 0.01, "{permuted:?}");
    assert_eq!(
        (found.low, found.high),
        (mixed.low.min(permuted.low), mixed.high.max(permuted.high))
    );
    assert!((mixed.low / permuted.low).ln().abs() < 0.02, "{mixed:?} {permuted:?}");
}

#[test]
fn what_the_cells_of_a_trial_have_in_common_is_not_counted_as_evidence() {
    // Four commands of three sessions a side. The sessions differ by 10 %, the commands of one
    // session hardly at all: ten thousand commands would say no more.
    let sessions = [[1.0, 1.1, 1.2], [1.15, 1.25, 1.35]];
    let shared: Vec<OverallCell> = (0..4)
        .map(|command| {
            let side =
                |session: [f64; 3]| session.map(|value| value * (1.0 + 0.001 * f64::from(command)));
            let mut cell = cell(0, &side(sessions[0]), &side(sessions[1]));
            cell.ratio *= 1.0 + 0.0001 * f64::from(command);
            cell
        })
        .collect();
    let found = alone(shared.clone()).unwrap();
    let welch = crate::log_ratio(&sessions[0], &sessions[1], Pairing::Unpaired, 0.95).unwrap();
    let mixed = found.mixed.unwrap();
    assert!((mixed.low - welch.low).abs() < 0.002, "{mixed:?} {welch:?}");
    assert!((mixed.degrees_of_freedom - welch.degrees_of_freedom).abs() < 0.01);
    let apart: Vec<OverallCell> = shared
        .iter()
        .enumerate()
        .map(|(at, cell)| {
            let far = |side: &[TrialCost]| -> Vec<TrialCost> {
                let own = |one: &TrialCost| TrialCost { trial: one.trial + 10 * at, ..*one };
                side.iter().map(own).collect()
            };
            OverallCell { first: far(&cell.first), second: far(&cell.second), ..cell.clone() }
        })
        .collect();
    let independent = alone(apart).unwrap();
    assert!(independent.low > found.low && independent.high < found.high);
}

#[test]
fn one_trial_with_all_cells_shows_nothing_of_trials() {
    let cells = vec![cell(0, &[1.0], &[1.2]), cell(0, &[2.0], &[2.5]), cell(0, &[3.0], &[3.5])];
    assert!(why(cells).contains("has a single trial"));
}

#[test]
fn cells_that_disagree_make_the_interval_wide_however_well_each_is_known() {
    let known = |at: usize, ratio: f64| {
        cell(at, &[1.0, 1.001, 0.999], &[ratio, ratio * 1.001, ratio * 0.999])
    };
    let cells = vec![known(0, 1.0), known(1, 1.5), known(2, 0.8), known(3, 1.3)];
    let found = alone(cells).unwrap();
    assert_eq!(found.verdict, Verdict::CannotTell);
    assert_eq!(found.why, Some(NotDecided::IntervalIncludesOne));
    assert!(found.low < 0.8 && found.high > 1.4, "{found:?}");
}

#[test]
fn the_permutation_interval_is_the_inverted_test() {
    let paired = |at: usize, ratios: &[f64]| OverallCell {
        ratio: ratios.iter().map(|ratio| ratio.ln()).sum::<f64>().exp().powf(1.0 / 4.0),
        pairing: Pairing::Paired,
        ..cell(at, &[1.0; 4], ratios)
    };
    let ratios = [1.2, 1.31, 1.07, 1.26, 1.18, 1.11, 1.22, 1.4];
    let found = alone(vec![paired(0, &ratios[..4]), paired(1, &ratios[4..])]).unwrap();
    let permuted = found.permutation.unwrap();
    assert_eq!((permuted.arrangements, permuted.exact), (256, true));
    let p = |by: f64| {
        let logs: Vec<f64> = ratios.iter().map(|ratio| (ratio / by).ln()).collect();
        crate::sign_flip_p(&logs).unwrap()
    };
    assert!((permuted.p - p(1.0)).abs() < 1e-12);
    assert!(p(permuted.low * 0.999) <= 0.05 && p(permuted.low * 1.001) > 0.05, "{permuted:?}");
    assert!(p(permuted.high * 1.001) <= 0.05 && p(permuted.high * 0.999) > 0.05, "{permuted:?}");
}

#[test]
fn equal_arms_are_equivalent_and_what_cannot_be_judged_says_why() {
    let same = vec![cell(0, &[1.0, 2.0], &[1.0, 2.0]), cell(1, &[3.0], &[3.0])];
    let found = alone(vec![cell(0, &[1.0], &[1.0]), cell(1, &[3.0], &[3.0])]).unwrap();
    assert_eq!((found.verdict, found.low, found.high), (Verdict::Equivalent, 1.0, 1.0));
    assert!(alone(same).is_ok());
    assert!(why(vec![cell(0, &[1.0], &[2.0])]).contains("takes two"));
    let doubled = vec![cell(0, &[1.0], &[2.0]), cell(1, &[3.0], &[6.0])];
    assert!(why(doubled).contains("do not spread"));
    let bad = vec![cell(0, &[1.0], &[2.0]), OverallCell { ratio: 0.0, ..cell(1, &[1.0], &[1.0]) }];
    assert!(why(bad).starts_with("the value 0 has no ratio"));
}

#[test]
fn a_trial_of_pairs_and_of_single_values_counts_with_one_sign() {
    // What slows a trial of the second arm slows both of its commands.
    let slowed = [1.0, 1.3, 0.8, 1.1, 0.9];
    let first = costs(0, &[1.0; 5]);
    let second = costs(0, &slowed);
    let command =
        |pairing| OverallCell { ratio: 1.0, first: first.clone(), second: second.clone(), pairing };
    let mixed = alone(vec![command(Pairing::Paired), command(Pairing::Unpaired)]).unwrap();
    let neither = alone(vec![command(Pairing::Unpaired), command(Pairing::Unpaired)]).unwrap();
    assert_eq!(mixed, neither);
}
