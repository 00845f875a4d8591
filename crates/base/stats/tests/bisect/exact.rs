//! Bisection with certain verdicts.

use proptest::prelude::*;
use stats::{ExactBisect, Outcome};

/// Searches to the end; returns the suspects and how many steps were judged.
fn search(steps: usize, first_bad: usize, skipped: &[usize]) -> (Vec<usize>, usize) {
    search_with(ExactBisect::new(steps).expect("two steps or more"), first_bad, skipped)
}

fn search_with(
    mut bisect: ExactBisect,
    first_bad: usize,
    skipped: &[usize],
) -> (Vec<usize>, usize) {
    let mut judged = 0;
    while let Some(step) = bisect.next() {
        let outcome = match step {
            _ if skipped.contains(&step) => Outcome::Skip,
            _ if step < first_bad => Outcome::Good,
            _ => Outcome::Bad,
        };
        bisect.record(step, outcome).expect("one change");
        judged += 1;
    }
    (bisect.suspects().collect(), judged)
}

#[test]
fn every_first_bad_step_is_found_with_log2_verdicts() {
    for steps in 2..140_usize {
        let most = (steps - 1).next_power_of_two().trailing_zeros() as usize;
        for first_bad in 1..steps {
            let (suspects, judged) = search(steps, first_bad, &[]);
            assert_eq!(suspects, [first_bad]);
            assert!(judged <= most, "{judged} of {steps}");
        }
    }
}

#[test]
fn a_change_where_it_is_expected_is_found_at_once_and_elsewhere_with_one_verdict_more() {
    for steps in [3, 7, 64, 65, 201, 1001] {
        let most = (steps - 1_usize).next_power_of_two().trailing_zeros() as usize;
        for expected in (1..steps).step_by(1 + steps / 20) {
            let mut bisect = ExactBisect::new(steps).expect("two steps or more");
            let weight = |step| if step == expected { 1000.0 } else { 1.0 };
            bisect
                .expect(&(0..steps).map(weight).collect::<Vec<_>>())
                .expect("a weight for each step");
            let (suspects, judged) = search_with(bisect.clone(), expected, &[]);
            assert_eq!(suspects, [expected]);
            assert!(judged <= 4, "{judged} of {steps} for {expected}");
            for first_bad in 1..steps {
                let (suspects, judged) = search_with(bisect.clone(), first_bad, &[]);
                assert_eq!(suspects, [first_bad]);
                assert!(judged <= most + 1, "{judged} of {steps}");
            }
        }
    }
    let mut bisect = ExactBisect::new(4).unwrap();
    assert!(bisect.expect(&[1.0; 3]).is_err());
    assert!(bisect.expect(&[1.0, f64::NAN, 1.0, 1.0]).is_err());
}

#[test]
fn a_change_among_skipped_steps_is_a_range() {
    let (suspects, _) = search(16, 8, &[6, 7, 8]);
    assert_eq!(suspects, [6, 7, 8, 9]);
    let (suspects, judged) = search(16, 3, &[7, 8]);
    assert_eq!(suspects, [3]);
    assert!(judged <= 6, "{judged}");
}

#[test]
fn a_verdict_against_the_order_is_refused() {
    let mut bisect = ExactBisect::new(8).unwrap();
    bisect.record(3, Outcome::Bad).unwrap();
    let error = bisect.record(5, Outcome::Good).unwrap_err();
    assert!(error.to_string().starts_with("step 5 is Good, but the change lies in steps 1 to 3"));
    assert!(bisect.record(0, Outcome::Bad).is_err());
    assert!(ExactBisect::new(1).is_none());
}

proptest! {
    #[test]
    fn the_first_bad_step_is_always_among_the_suspects(
        steps in 2..60_usize,
        place in 0.0..1.0_f64,
        skipped in proptest::collection::vec(1..58_usize, 0..30),
    ) {
        let first_bad = 1 + (place * (steps - 1) as f64) as usize;
        let (suspects, _) = search(steps, first_bad, &skipped);
        prop_assert!(suspects.contains(&first_bad));
        // All but the last were skipped.
        prop_assert!(suspects[..suspects.len() - 1].iter().all(|step| skipped.contains(step)));
    }
}
