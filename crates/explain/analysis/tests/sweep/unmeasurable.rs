//! Levels that cannot be measured: killed for lack of memory, say.

use analysis::sweep::{End, Purpose, Range, SearchSettings, Settings, Spacing};
use stats::{KneeSettings, Shape};

use super::subject::{Noise, range, sweep};

fn settings() -> SearchSettings {
    let knee = KneeSettings { resamples: 400, ..KneeSettings::default() };
    let find = Settings { knee, ..Settings::default() };
    SearchSettings { find, ..SearchSettings::default() }
}

#[test]
fn the_end_of_what_can_be_measured_is_bracketed_without_a_knee() {
    let mut noise = Noise::new(0.04, 1);
    let swept = sweep(range(2.0, 96.0), settings(), &mut |level, _| match level {
        level if level > 50.0 => Err("killed: out of memory".to_owned()),
        _ => Ok(100.0 * noise.factor()),
    });
    let Shape::NoKnee(none) = &swept.found.shape else { panic!("{:?}", swept.found.shape) };
    let boundary = swept.found.unmeasurable.as_ref().unwrap();
    assert_eq!(none.up_to, boundary.last);
    assert!(boundary.last <= 50.0 && boundary.first > 50.0, "{boundary:?}");
    assert!(boundary.first - boundary.last <= 0.05 * boundary.first, "{boundary:?}");
    assert_eq!(boundary.reason, "killed: out of memory");
    assert!(swept.has(Purpose::Bracket));
    assert!(swept.measurements() <= 45, "{}", swept.measurements());
    let last = &swept.found.rows[swept.found.rows.len() - 1];
    assert_eq!((last.cost, last.relative_speed), (None, None));
    assert_eq!(last.problems, ["killed: out of memory"]);
}

#[test]
fn a_knee_before_the_end_is_found_as_well() {
    let down = Range { first: 96.0, last: 8.0, spacing: Spacing::Geometric, quantum: 1.0 };
    let mut noise = Noise::new(0.04, 2);
    let swept = sweep(down, settings(), &mut |level, _| match level {
        level if level < 16.0 => Err("out of memory".to_owned()),
        level if level < 48.0 => Ok(700.0 * noise.factor()),
        _ => Ok(100.0 * noise.factor()),
    });
    assert_eq!(swept.found.plateau, End::High);
    let knee = swept.knee();
    assert!(knee.capacity >= 48.0 && knee.beyond < 48.0, "{knee:?}");
    assert!(knee.high - knee.low <= 0.05 * knee.level, "{knee:?}");
    let boundary = swept.found.unmeasurable.as_ref().unwrap();
    assert_eq!((boundary.last, boundary.first), (16.0, 15.0));
}

#[test]
fn an_end_that_cannot_be_measured_tells_where_the_plateau_is_not() {
    let mut noise = Noise::new(0.04, 3);
    let swept = sweep(range(4.0, 64.0), settings(), &mut |level, _| match level {
        level if level < 7.0 => Err("does not boot".to_owned()),
        _ => Ok(100.0 * noise.factor()),
    });
    assert_eq!(swept.found.plateau, End::High);
    let boundary = swept.found.unmeasurable.as_ref().unwrap();
    assert!(boundary.last >= 7.0 && boundary.first < 7.0, "{boundary:?}");
}

#[test]
fn a_failure_between_levels_that_work_is_no_boundary() {
    let mut noise = Noise::new(0.04, 4);
    let mut failed = 0;
    let swept = sweep(range(2.0, 32.0), settings(), &mut |level, _| {
        if level == 8.0 && failed < 2 {
            failed += 1;
            return Err("the network was down".to_owned());
        }
        Ok(if level <= 20.0 { 100.0 } else { 400.0 } * noise.factor())
    });
    assert_eq!(swept.found.unmeasurable, None);
    swept.assert_knee_at(20.0, &settings());
    assert!(swept.found.notes.iter().any(|note| note.contains("network")));
}

#[test]
fn if_nothing_can_be_measured_the_search_ends_and_nothing_is_claimed() {
    let swept = sweep(range(2.0, 32.0), settings(), &mut |_, _| Err("no such tool".to_owned()));
    assert!(matches!(swept.found.shape, Shape::TooFew(_)));
    assert_eq!(swept.batches.len(), 1);
    assert_eq!(swept.found.unmeasurable, None);
}
