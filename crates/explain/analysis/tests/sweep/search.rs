//! Searches over costs of known shape: where they end, and after how many measurements.

use analysis::sweep::{Curve, End, Purpose, Range, Search, SearchSettings, Settings, Spacing};
use stats::{KneeSettings, Shape};

use super::subject::{Noise, Way, range, sweep, sweep_from};

fn settings() -> SearchSettings {
    let knee = KneeSettings { resamples: 400, ..KneeSettings::default() };
    let find = Settings { knee, ..Settings::default() };
    SearchSettings { find, ..SearchSettings::default() }
}

/// 100 up to `at`, `factor` times as much beyond.
fn step(level: f64, at: f64, factor: f64) -> f64 {
    if level <= at { 100.0 } else { 100.0 * factor }
}

#[test]
fn a_step_is_narrowed_to_the_resolution_in_some_forty_measurements() {
    for (seed, at) in (0..).zip([3.1, 5.0, 17.0, 40.0, 71.0, 90.0]) {
        let mut noise = Noise::new(0.05, seed);
        let swept = sweep(range(2.0, 96.0), settings(), &mut |level, _| {
            Ok(step(level, at, 4.0) * noise.factor())
        });
        swept.assert_knee_at(at, &settings());
        assert!(swept.found.verification.as_ref().unwrap().holds);
        assert!(!swept.found.hysteresis.as_ref().unwrap().is_there);
        assert!(swept.measurements() <= 50, "{} at {at}", swept.measurements());
    }
}

#[test]
fn a_hinge_is_found_where_the_lines_meet() {
    for seed in 0..5 {
        let mut noise = Noise::new(0.03, seed);
        let swept = sweep(range(2.0, 96.0), settings(), &mut |level: f64, _| {
            Ok(100.0 * (level / 20.0).max(1.0).powf(2.0) * noise.factor())
        });
        let knee = swept.knee();
        assert!(knee.low <= 20.0 * 1.03 && knee.high >= 20.0 / 1.03, "seed {seed}: {knee:?}");
        assert!(knee.high - knee.low <= 0.2 * knee.level, "seed {seed}: {knee:?}");
        assert!(swept.measurements() <= settings().budget);
    }
}

#[test]
fn a_ramp_is_left_where_it_begins() {
    let mut noise = Noise::new(0.02, 1);
    let swept = sweep(range(2.0, 96.0), settings(), &mut |level: f64, _| {
        Ok(100.0 * (level.clamp(16.0, 24.0) / 16.0).powf(7.0) * noise.factor())
    });
    let knee = swept.knee();
    assert!(knee.low >= 14.5 && knee.high <= 18.0, "{knee:?}");
}

#[test]
fn of_two_knees_the_first_is_the_answer_and_the_other_is_told() {
    let mut noise = Noise::new(0.03, 2);
    let swept = sweep(range(2.0, 128.0), settings(), &mut |level, _| {
        Ok(step(level, 9.0, 3.0) * step(level, 50.0, 5.0) / 100.0 * noise.factor())
    });
    swept.assert_knee_at(9.0, &settings());
    let others = &swept.knee().others;
    assert!(
        others.iter().any(|other| other.capacity <= 50.0 && other.beyond >= 50.0),
        "{others:?}"
    );
}

#[test]
fn without_a_knee_the_answer_is_no_knee_up_to_the_end_after_a_second_look() {
    let mut noise = Noise::new(0.05, 3);
    let swept = sweep(range(2.0, 512.0), settings(), &mut |_, _| Ok(100.0 * noise.factor()));
    let Shape::NoKnee(none) = &swept.found.shape else { panic!("{:?}", swept.found.shape) };
    assert_eq!(none.up_to, 512.0);
    assert!(swept.has(Purpose::Verify));
    assert!(swept.measurements() <= 30, "{}", swept.measurements());
    assert!(swept.found.moved.is_none() && swept.found.headroom.is_none());
}

#[test]
fn costs_that_grow_steadily_have_no_knee() {
    let mut noise = Noise::new(0.02, 4);
    let swept = sweep(range(2.0, 512.0), settings(), &mut |level: f64, _| {
        Ok(100.0 * level.powf(0.23) * noise.factor())
    });
    assert!(matches!(swept.found.shape, Shape::NoKnee(_)), "{:?}", swept.found.shape);
}

#[test]
fn a_cost_that_depends_on_the_way_is_told_as_hysteresis() {
    let mut noise = Noise::new(0.03, 5);
    let swept = sweep(range(2.0, 96.0), settings(), &mut |level, way| {
        let at = if way == Way::Up { 22.0 } else { 15.0 };
        Ok(step(level, at, 8.0) * noise.factor())
    });
    let hysteresis = swept.found.hysteresis.as_ref().unwrap();
    assert!(hysteresis.is_there, "{hysteresis:?}");
    assert!(hysteresis.factor > 4.0, "{hysteresis:?}");
    let (up, down) = (hysteresis.up.unwrap(), hysteresis.down.unwrap());
    assert!(down.low <= 15.0 && 15.0 <= down.high && down.high < 17.0, "{down:?}");
    assert!(up.low <= 22.0 && 22.0 <= up.high && up.low > 20.0, "{up:?}");
    let knee = swept.knee();
    assert!(knee.capacity <= 15.0 && knee.beyond > 22.0, "it spans both: {knee:?}");
    assert!(swept.measurements() <= settings().budget);
}

#[test]
fn a_limit_is_walked_down_to_its_knee() {
    let down = Range { first: 56.0, last: 20.0, spacing: Spacing::Geometric, quantum: 0.25 };
    let mut find = settings().find;
    find.present = Some(64.0);
    let settings = SearchSettings { find, ..settings() };
    let mut noise = Noise::new(0.02, 6);
    let swept = sweep(down, settings, &mut |level, _| {
        Ok(if level >= 48.0 { 100.0 } else { 50_000.0 } * noise.factor())
    });
    assert_eq!(swept.found.plateau, End::High);
    swept.assert_knee_at(47.9, &settings);
    let knee = swept.knee();
    assert!(knee.capacity >= 48.0 && knee.beyond < 48.0 && knee.steepness < 0.0, "{knee:?}");
    assert!((knee.rise - 500.0).abs() < 60.0, "{knee:?}");
    let rows = &swept.found.rows;
    assert!((rows[rows.len() - 1].relative_speed.unwrap() - 1.0).abs() < 1e-9);
    assert!(rows[0].relative_speed.unwrap() < 0.003);
    assert!((swept.found.capacity.unwrap() - 48.0).abs() <= 2.4, "{:?}", swept.found.capacity);
    let headroom = swept.found.headroom.unwrap();
    assert!(headroom.low <= 64.0 / 48.0 && 64.0 / 48.0 <= headroom.high, "{headroom:?}");
    let first = &swept.batches[0];
    assert_eq!((first.levels[0], first.first_pass), (56.0, 0));
}

#[test]
fn the_plateau_may_lie_at_the_end_of_the_walk() {
    let mut noise = Noise::new(0.05, 7);
    let swept = sweep(range(2.0, 96.0), settings(), &mut |level, _| {
        Ok(if level >= 30.0 { 10.0 } else { 90.0 } * noise.factor())
    });
    assert_eq!(swept.found.plateau, End::High);
    swept.assert_knee_at(29.99, &settings());
}

#[test]
fn whole_numbers_are_narrowed_to_neighbours() {
    let whole = Range { first: 1.0, last: 64.0, spacing: Spacing::Geometric, quantum: 1.0 };
    let mut noise = Noise::new(0.03, 8);
    let swept = sweep(whole, settings(), &mut |level, _| {
        assert_eq!(level.fract(), 0.0);
        Ok(step(level, 5.0, 3.0) * noise.factor())
    });
    let knee = swept.knee();
    assert_eq!((knee.capacity, knee.beyond), (5.0, 6.0));
    assert!(swept.measurements() <= 50, "{}", swept.measurements());
}

#[test]
fn linear_ranges_may_begin_at_zero() {
    let linear = Range { first: 0.0, last: 80.0, spacing: Spacing::Linear, quantum: 0.0 };
    let mut noise = Noise::new(0.03, 9);
    let swept =
        sweep(linear, settings(), &mut |level, _| Ok(step(level, 33.0, 3.0) * noise.factor()));
    swept.assert_knee_at(33.0, &settings());
    assert!(swept.found.notes.iter().any(|note| note.contains("level 0")));
}

#[test]
fn the_budget_is_kept_and_what_was_found_by_then_is_told() {
    let settings = SearchSettings { budget: 25, ..settings() };
    let mut noise = Noise::new(0.05, 10);
    let swept = sweep(range(2.0, 96.0), settings, &mut |level, _| {
        Ok(step(level, 17.0, 4.0) * noise.factor())
    });
    assert!(swept.measurements() <= 25, "{}", swept.measurements());
    let knee = swept.knee();
    assert!(knee.low <= 17.0 && 17.0 <= knee.high, "{knee:?}");
}

/// A hinge takes many measurements: a narrow budget ends its search, and says so.
#[test]
fn a_search_that_its_budget_ended_says_so() {
    let hinge = |level: f64| 100.0 * (level / 20.0).max(1.0).powf(2.0);
    let swept_with = |budget| {
        let settings = SearchSettings { budget, ..settings() };
        let mut noise = Noise::new(0.03, 12);
        let swept = sweep(range(2.0, 96.0), settings, &mut |level: f64, _| {
            Ok(hinge(level) * noise.factor())
        });
        let search = Search::new(range(2.0, 96.0), settings).unwrap();
        (search.ended_by_budget(&swept.curve), swept)
    };
    for budget in [18, 19, 23] {
        let (ended, swept) = swept_with(budget);
        assert_eq!(ended, Some(budget), "{} measurements", swept.measurements());
        let before = Curve { points: swept.curve.points[..9].to_vec(), ..Curve::default() };
        let search = Search::new(range(2.0, 96.0), SearchSettings { budget, ..settings() });
        assert_eq!(search.unwrap().ended_by_budget(&before), None, "broken off, and not spent");
    }
    let (ended, swept) = swept_with(1000);
    assert!(ended.is_none() && swept.measurements() < 1000, "{}", swept.measurements());
}

#[test]
fn a_coarse_pass_of_too_few_levels_is_filled_up_until_a_knee_can_be_told() {
    for coarse in [2, 3, 4] {
        let settings = SearchSettings { coarse, ..settings() };
        let mut noise = Noise::new(0.03, 13);
        let swept = sweep(range(2.0, 96.0), settings, &mut |level, _| {
            Ok(step(level, 17.0, 4.0) * noise.factor())
        });
        swept.assert_knee_at(17.0, &settings);
    }
}

#[test]
fn a_range_of_fewer_levels_than_a_knee_needs_is_measured_and_nothing_is_claimed() {
    let whole = Range { first: 1.0, last: 3.0, spacing: Spacing::Linear, quantum: 1.0 };
    let swept = sweep(whole, settings(), &mut |level, _| Ok(step(level, 2.0, 9.0)));
    let Shape::TooFew(why) = &swept.found.shape else { panic!("{:?}", swept.found.shape) };
    assert!(why.contains("3 levels: a knee needs 4 or more"), "{why}");
    assert_eq!(swept.measurements(), 6);
}

#[test]
fn a_deterministic_subject_is_measured_once_a_level() {
    let settings = SearchSettings { passes: 1, ..settings() };
    let curve = Curve { deterministic: true, ..Curve::default() };
    let swept = sweep_from(curve, range(2.0, 96.0), settings, &mut |point, _| {
        point.cost = Some(step(point.level, 17.0, 4.0));
    });
    swept.assert_knee_at(17.0, &settings);
    let mut levels: Vec<f64> = swept.curve.points.iter().map(|point| point.level).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    assert_eq!(levels.len(), swept.measurements());
    assert!(swept.measurements() <= 25, "{}", swept.measurements());
    assert!(swept.found.hysteresis.is_none());
}

#[test]
fn a_search_goes_on_from_wherever_it_was_broken_off() {
    let mut noise = Noise::new(0.05, 11);
    let mut measure = |level: f64| step(level, 17.0, 4.0) * noise.factor();
    let whole = sweep(range(2.0, 96.0), settings(), &mut |level, _| Ok(measure(level)));
    let search = Search::new(range(2.0, 96.0), settings()).unwrap();
    let mut at = 0;
    for batch in &whole.batches {
        let curve = Curve { points: whole.curve.points[..at].to_vec(), ..Curve::default() };
        assert_eq!(search.next(&curve).as_ref(), Some(batch));
        at += batch.levels.len() * batch.passes as usize;
    }
    for cut in [1, 5, 9, 13, 20, 30] {
        let points = whole.curve.points[..cut.min(whole.measurements())].to_vec();
        let curve = Curve { points, ..Curve::default() };
        let mut noise = Noise::new(0.05, cut as u64);
        let swept = sweep_from(curve, range(2.0, 96.0), settings(), &mut |point, _| {
            point.cost = Some(step(point.level, 17.0, 4.0) * noise.factor());
        });
        swept.assert_knee_at(17.0, &settings());
        assert!(swept.measurements() <= 70, "{} from {cut}", swept.measurements());
    }
}

#[test]
fn searches_without_sense_are_refused_in_words() {
    let refused = |settings| Search::new(range(2.0, 96.0), settings).unwrap_err();
    let few = refused(SearchSettings { budget: 17, ..settings() });
    assert!(few.contains("need 18"), "{few}");
    let mut flat = settings().find;
    flat.knee.least_rise = 1.0;
    for wrong in [
        SearchSettings { resolution: 0.0, ..settings() },
        SearchSettings { coarse: 1, ..settings() },
        SearchSettings { passes: 0, ..settings() },
        SearchSettings { find: flat, ..settings() },
    ] {
        assert!(!refused(wrong).is_empty());
    }
}
