//! A plain step is found wherever it lies, in whichever direction a sweep goes, or the levels are
//! too few; it is never called a smooth growth.

use analysis::sweep::{Curve, Point, Settings, find};
use proptest::prelude::*;
use stats::{KneeKind, KneeSettings, LEAST_LEVELS, Shape};

use super::subject::Noise;

/// Two passes over doubling levels, from the plateau there and back.
fn swept(levels: &[f64], cost: impl Fn(f64) -> f64) -> Curve {
    let back = levels.iter().rev();
    let point = |(pass, level): (u32, &f64)| Point {
        level: *level,
        pass,
        cost: Some(cost(*level)),
        ..Point::default()
    };
    let passes = levels.iter().map(|level| (0, level)).chain(back.map(|level| (1, level)));
    Curve { points: passes.map(point).collect(), ..Curve::default() }
}

proptest! {
    #[test]
    fn a_step_up_or_down_is_a_step_or_there_are_too_few_levels(
        count in 2_usize..16,
        position in any::<prop::sample::Index>(),
        factor in prop_oneof![Just(2.0), 2.0..4.0_f64, 4.0..1000.0_f64],
        is_downwards in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut levels: Vec<f64> = (0..count).map(|index| 2.0_f64.powi(index as i32)).collect();
        if is_downwards {
            levels.reverse();
        }
        let first = 1 + position.index(count - 1);
        let is_beyond = |level: f64| levels[first..].contains(&level);
        let noise = std::cell::RefCell::new(Noise::new(0.01, seed));
        let curve = swept(&levels, |level| {
            noise.borrow_mut().factor() * if is_beyond(level) { factor } else { 1.0 }
        });
        let knee = KneeSettings { resamples: 100, ..KneeSettings::default() };
        let settings = Settings { knee, ..Settings::default() };
        match find(&curve, &settings).shape {
            Shape::Knee(knee) => {
                prop_assert_eq!(knee.kind, KneeKind::Step);
                prop_assert_eq!((knee.capacity, knee.beyond), (levels[first - 1], levels[first]));
            }
            Shape::TooFew(why) => prop_assert!(count < LEAST_LEVELS, "{}", why),
            Shape::NoKnee(none) => prop_assert!(false, "{:?}", none),
        }
    }
}
