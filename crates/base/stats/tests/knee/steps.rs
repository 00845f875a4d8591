//! A plain step is never called a smooth growth, wherever it lies and however few the levels are.

use proptest::prelude::*;
use stats::{KneeKind, KneeSettings, LEAST_LEVELS, Level, Shape, WhyNoKnee, knee};

use crate::source::Source;

/// How the levels are spaced.
#[derive(Clone, Copy, Debug)]
enum Spacing {
    Doubling,
    Counting,
    Uneven,
}

fn levels(count: usize, spacing: Spacing, source: &mut Source) -> Vec<f64> {
    let mut level = 1.0;
    let next = |index: usize| {
        level = match spacing {
            Spacing::Doubling => 2.0 * level,
            Spacing::Counting => (index + 1) as f64,
            Spacing::Uneven => level * (1.02 + 3.0 * source.uniform()),
        };
        level
    };
    (0..count).map(next).collect()
}

fn few_resamples() -> KneeSettings {
    KneeSettings { resamples: 100, ..KneeSettings::default() }
}

proptest! {
    #[test]
    fn a_step_is_a_step_or_there_are_too_few_levels(
        count in 2_usize..24,
        position in any::<prop::sample::Index>(),
        factor in prop_oneof![Just(2.0), 2.0..4.0_f64, 4.0..1000.0_f64],
        replicates in 1_usize..5,
        noise in prop_oneof![Just(0.0), Just(0.01), Just(0.03)],
        spacing in prop_oneof![
            Just(Spacing::Doubling), Just(Spacing::Counting), Just(Spacing::Uneven)
        ],
        seed in any::<u64>(),
    ) {
        let mut source = Source::new(seed);
        let grid = levels(count, spacing, &mut source);
        let first = 1 + position.index(count - 1);
        let cost = |level: f64| if level < grid[first] { 1.0 } else { factor };
        let curve = source.curve(&grid, replicates, noise, cost);
        match knee(&curve, &few_resamples()) {
            Shape::Knee(knee) => {
                prop_assert_eq!(knee.kind, KneeKind::Step);
                prop_assert_eq!((knee.capacity, knee.beyond), (grid[first - 1], grid[first]));
            }
            Shape::TooFew(why) => prop_assert!(count < LEAST_LEVELS, "{}", why),
            Shape::NoKnee(none) => {
                let at_an_end = first == 1 || first + 1 == count;
                let is_untold = matches!(
                    none.why,
                    WhyNoKnee::LastLevelOnce { .. } | WhyNoKnee::FirstLevelOnce { .. }
                );
                prop_assert!(is_untold && at_an_end && replicates == 1, "{:?}", none);
            }
        }
    }
}

/// The example of the report: three levels on the plateau, one far above it, each measured twice.
#[test]
fn three_cheap_levels_and_a_dear_one_are_no_smooth_growth() {
    let levels: Vec<Level> = [1.0, 1.0, 1.0, 10.0]
        .iter()
        .zip([2.0, 4.0, 8.0, 16.0])
        .map(|(cost, level)| Level { level, costs: vec![*cost, *cost * 1.01] })
        .collect();
    match knee(&levels, &few_resamples()) {
        Shape::Knee(knee) => assert_eq!((knee.capacity, knee.beyond), (8.0, 16.0)),
        other => panic!("{other:?}"),
    }
}
