//! One curve of each shape, with so little noise that the answer is plain.

use stats::{KneeKind, KneeSettings, Level, Shape, WhyNoKnee, knee};

use crate::source::{Source, levels};
use crate::{found, none};

/// A curve with noise of 3 %.
fn curve(count: usize, replicates: usize, cost: impl Fn(f64) -> f64) -> Vec<Level> {
    Source::new(1990).curve(&levels(count), replicates, 0.03, cost)
}

/// The costs, one to a level, at 1, 2, 3, …
fn once(costs: &[f64]) -> Vec<Level> {
    let level =
        |(index, cost): (usize, &f64)| Level { level: (index + 1) as f64, costs: vec![*cost] };
    costs.iter().enumerate().map(level).collect()
}

#[test]
fn a_step_lies_between_two_levels() {
    let knee = found(&curve(9, 2, |level| if level > 50.0 { 3.0 } else { 1.0 }));
    assert_eq!((knee.capacity, knee.beyond, knee.kind), (32.0, 64.0, KneeKind::Step));
    assert_eq!((knee.low, knee.high), (32.0, 64.0));
    assert!((knee.level - 2048.0_f64.sqrt()).abs() < 1e-9 && knee.others.is_empty());
    assert!((knee.plateau_cost - 1.0).abs() < 0.05 && (knee.rise - 3.0).abs() < 0.2);
    assert!((knee.steepness - knee.rise.log2()).abs() < 1e-9 && knee.support > 0.99);
}

#[test]
fn a_hinge_lies_where_the_lines_meet() {
    let knee = found(&curve(17, 3, |level| (level / 40.0).powf(1.2).max(1.0)));
    assert_eq!(knee.kind, KneeKind::Hinge);
    assert!(knee.low < 40.0 && 40.0 < knee.high && knee.high / knee.low < 1.3, "{knee:?}");
    assert!((knee.steepness - 1.2).abs() < 0.1 && knee.capacity < 40.0, "{knee:?}");
    assert!(knee.rise >= 1.5 && knee.beyond > 40.0, "{knee:?}");
}

#[test]
fn a_ramp_has_no_knee_but_an_elasticity() {
    for elasticity in [0.5, 1.0, 2.0] {
        let none = none(&curve(9, 2, |level| level.powf(elasticity)));
        assert_eq!(none.why, WhyNoKnee::GrowsSteadily);
        assert!((none.growth - elasticity).abs() < 0.02, "{none:?}");
    }
}

/// As a port of the program of 1990 does today: 7 ns at 2 MB, 25 ns at 512 MB.
#[test]
fn a_gradual_rise_has_no_knee() {
    let power = |level: f64| 7.0 * (level / 2.0).powf(0.23);
    let sigmoid = |level: f64| 7.0 + 18.0 / (1.0 + (45.0 / level).powf(0.9));
    for replicates in [1, 3] {
        assert_eq!(none(&curve(9, replicates, power)).why, WhyNoKnee::GrowsSteadily);
        for gradual in [&sigmoid as &dyn Fn(f64) -> f64, &power] {
            let none = none(&curve(9, replicates, gradual));
            assert!((2.8..3.8).contains(&none.largest_rise), "{none:?}");
        }
    }
}

#[test]
fn a_smaller_rise_than_asked_for_is_none() {
    let levels = curve(9, 4, |level| if level > 50.0 { 1.3 } else { 1.0 });
    assert_eq!(none(&levels).why, WhyNoKnee::NeverRises);
    let finer = KneeSettings { least_rise: 1.15, ..KneeSettings::default() };
    assert!(matches!(knee(&levels, &finer), Shape::Knee(knee) if knee.capacity == 32.0));
}

#[test]
fn two_cliffs_are_a_knee_and_another() {
    let knee = found(&curve(17, 2, |level| match level {
        ..10.0 => 1.0,
        10.0..100.0 => 3.0,
        _ => 12.0,
    }));
    assert_eq!(knee.capacity, 8.0, "{knee:?}");
    assert_eq!(knee.others.len(), 1, "{knee:?}");
    let other = &knee.others[0];
    assert!(other.capacity < 100.0 && other.beyond > 100.0, "{knee:?}");
    assert!((other.rise - 4.0).abs() < 0.4, "{knee:?}");
}

#[test]
fn a_plateau_may_rise_a_little_and_a_cliff_may_level_off() {
    let sloped = |level: f64| level.powf(0.1) * if level > 50.0 { 4.0 } else { 1.0 };
    assert_eq!(found(&curve(9, 2, sloped)).capacity, 32.0);
    let levelling = |level: f64| (level / 20.0).powi(2).clamp(1.0, 16.0);
    let knee = found(&curve(17, 2, levelling));
    assert!(knee.low <= 22.0 && knee.high >= 20.0 && knee.capacity <= 23.0, "{knee:?}");
}

#[test]
fn one_dear_level_is_an_outlier() {
    let spike = |level: f64| if level == 32.0 { 8.0 } else { 1.0 };
    assert_eq!(none(&curve(9, 1, spike)).why, WhyNoKnee::OneLevel { level: 32.0 });
    let both = |level: f64| spike(level) * if level > 100.0 { 4.0 } else { 1.0 };
    assert_eq!(found(&curve(9, 1, both)).capacity, 64.0);
}

#[test]
fn a_rise_that_comes_back_is_none() {
    let bump = once(&[1.0, 1.02, 0.99, 1.01, 3.0, 3.1, 2.9, 1.0, 1.01, 0.99]);
    assert_eq!(none(&bump).why, WhyNoKnee::Returns { level: 8.0 });
}

#[test]
fn a_fall_is_none_and_hides_none() {
    let falls = |level: f64| if level < 3.0 { 2.0 } else { 1.0 };
    assert_eq!(none(&curve(9, 1, falls)).why, WhyNoKnee::NeverRises);
    let amortised = |level: f64| 1.0 + 2.0 / level;
    assert_eq!(none(&curve(9, 2, amortised)).why, WhyNoKnee::NeverRises);
    let both = |level: f64| falls(level) * if level > 100.0 { 3.0 } else { 1.0 };
    assert_eq!(found(&curve(9, 1, both)).capacity, 64.0);
    let amortised_both = |level: f64| amortised(level) * if level > 100.0 { 3.0 } else { 1.0 };
    assert_eq!(found(&curve(9, 2, amortised_both)).capacity, 64.0);
}

#[test]
fn a_piece_of_one_level_needs_replicates_that_agree() {
    let last = |level: f64| if level > 500.0 { 5.0 } else { 1.0 };
    assert_eq!(none(&curve(9, 1, last)).why, WhyNoKnee::LastLevelOnce { level: 512.0 });
    assert_eq!(found(&curve(9, 2, last)).beyond, 512.0);
    let first = |level: f64| if level < 3.0 { 0.2 } else { 1.0 };
    assert_eq!(none(&curve(9, 1, first)).why, WhyNoKnee::FirstLevelOnce { level: 2.0 });
    assert_eq!(found(&curve(9, 2, first)).capacity, 2.0);
    let mut discordant = curve(9, 2, |_| 1.0);
    discordant[8].costs = vec![1.0, 9.0];
    assert_eq!(none(&discordant).why, WhyNoKnee::LastLevelOnce { level: 512.0 });
}

/// Touches a second of a mapped file under a limit of 96 … 20 MB, as the cost over 1 / limit: the
/// plateau is rough, and the cliff is five hundred times as high.
#[test]
fn a_high_cliff_after_a_rough_plateau_is_a_step() {
    let measured = [
        (96.0, 105e6),
        (56.0, 117e6),
        (50.0, 80e6),
        (46.0, 177e3),
        (42.0, 67.7e3),
        (36.0, 36.6e3),
        (30.0, 29.7e3),
        (20.0, 17.8e3),
    ];
    let level = |(limit, speed): (f64, f64)| Level { level: 1.0 / limit, costs: vec![1.0 / speed] };
    let knee = found(&measured.map(level));
    assert_eq!((1.0 / knee.capacity, 1.0 / knee.beyond), (50.0, 46.0), "{knee:?}");
    assert!(knee.kind == KneeKind::Step && knee.rise > 400.0, "{knee:?}");
}

#[test]
fn a_dip_beyond_the_cliff_does_not_hide_it() {
    let knee = found(&once(&[1.0, 1.01, 0.99, 1.02, 1.0, 3.0, 7.0, 16.2, 14.3, 27.0]));
    assert_eq!((knee.capacity, knee.beyond), (5.0, 6.0));
}

#[test]
fn the_answer_depends_on_the_seed_in_its_interval_only() {
    let levels = curve(17, 3, |level| (level / 40.0).powf(1.2).max(1.0));
    assert_eq!(found(&levels), found(&levels));
    let seeded = KneeSettings { seed: 1, ..KneeSettings::default() };
    let Shape::Knee(other) = knee(&levels, &seeded) else { panic!("a knee") };
    let default = found(&levels);
    assert_eq!((other.level, other.rise), (default.level, default.rise));
    assert_ne!((other.low, other.high), (default.low, default.high));
}

#[test]
fn scales_of_level_and_cost_do_not_matter() {
    let levels = curve(17, 3, |level| (level / 40.0).powf(1.2).max(1.0));
    let mut scaled = levels.clone();
    for each in &mut scaled {
        each.level *= 1048576.0;
        each.costs.iter_mut().for_each(|cost| *cost *= 1e-9);
    }
    let (a, b) = (found(&levels), found(&scaled));
    for (a, b) in [(a.level, b.level), (a.low, b.low), (a.high, b.high)] {
        assert!((b / a / 1048576.0 - 1.0).abs() < 1e-9, "{a} {b}");
    }
}

#[test]
fn what_cannot_be_judged_says_why() {
    let good = curve(9, 2, |_| 1.0);
    let with = |change: &dyn Fn(&mut Vec<Level>)| {
        let mut levels = good.clone();
        change(&mut levels);
        match knee(&levels, &KneeSettings::default()) {
            Shape::TooFew(what) => what,
            other => panic!("{other:?}"),
        }
    };
    assert!(with(&|levels| levels.truncate(3)).contains("3 levels"));
    assert!(with(&|levels| levels[2].costs.clear()).contains("level 8 has no cost"));
    assert!(with(&|levels| levels[2].costs[0] = f64::NAN).contains("cost NaN at level 8"));
    assert!(with(&|levels| levels[0].level = 0.0).contains("level 0"));
    assert!(with(&|levels| levels.swap(1, 2)).contains("level 8 comes before 4"));
    for settings in [
        KneeSettings { confidence: 1.0, ..KneeSettings::default() },
        KneeSettings { least_rise: 1.0, ..KneeSettings::default() },
        KneeSettings { resamples: 0, ..KneeSettings::default() },
    ] {
        assert!(matches!(knee(&good, &settings), Shape::TooFew(what) if what.contains("between")));
    }
}
