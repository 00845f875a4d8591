//! How often noise alone is called a knee or hysteresis.

use analysis::sweep::{SearchSettings, Settings};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stats::{KneeSettings, Shape};

use super::subject::{Noise, range, sweep};

/// Sweeps over a flat cost, of which one measurement in `stalls` is up to six times as high: how
/// many ended with a knee, with hysteresis, and the most measurements.
fn alarms(deviation: f64, stalls: Option<u32>, sweeps: u64) -> (usize, usize, usize) {
    let knee = KneeSettings { resamples: 200, ..KneeSettings::default() };
    let find = Settings { knee, ..Settings::default() };
    let settings = SearchSettings { find, ..SearchSettings::default() };
    let (mut knees, mut hysteresis, mut most) = (0, 0, 0);
    for seed in 0..sweeps {
        let mut noise = Noise::new(deviation, seed);
        let mut generator = Pcg64Mcg::seed_from_u64(1_000 + seed);
        let swept = sweep(range(2.0, 512.0), settings, &mut |_, _| {
            let is_stall = stalls.is_some_and(|one_in| generator.random_range(0..one_in) == 0);
            let stall = if is_stall { 1.0 + 5.0 * generator.random::<f64>() } else { 1.0 };
            Ok(100.0 * noise.factor() * stall)
        });
        knees += usize::from(matches!(swept.found.shape, Shape::Knee(_)));
        hysteresis +=
            usize::from(swept.found.hysteresis.as_ref().is_some_and(|found| found.is_there));
        most = most.max(swept.measurements());
    }
    (knees, hysteresis, most)
}

#[test]
fn noise_is_no_knee_in_more_than_five_sweeps_of_a_hundred() {
    for (deviation, stalls) in [(0.05, None), (0.2, None), (0.4, None), (0.05, Some(15))] {
        let (knees, hysteresis, most) = alarms(deviation, stalls, 100);
        println!("noise {deviation}: {knees} knees, {hysteresis} hysteresis, {most} measurements");
        assert!(knees <= 5 && hysteresis <= 5, "{knees} and {hysteresis} at {deviation}");
        assert!(most <= 120, "{most}");
    }
}

#[test]
fn a_step_in_noise_is_not_called_hysteresis() {
    let knee = KneeSettings { resamples: 200, ..KneeSettings::default() };
    let find = Settings { knee, ..Settings::default() };
    let settings = SearchSettings { find, ..SearchSettings::default() };
    let (mut hysteresis, mut missed) = (0, 0);
    for seed in 0..40 {
        let mut noise = Noise::new(0.2, seed);
        let swept = sweep(range(2.0, 96.0), settings, &mut |level, _| {
            Ok(if level <= 17.0 { 100.0 } else { 500.0 } * noise.factor())
        });
        hysteresis += u32::from(swept.found.hysteresis.as_ref().is_some_and(|h| h.is_there));
        let holds_17 = match &swept.found.shape {
            Shape::Knee(knee) => knee.low <= 17.0 && 17.0 <= knee.high,
            _ => false,
        };
        missed += u32::from(!holds_17);
    }
    println!("{hysteresis} called hysteresis, {missed} missed the knee, of 40");
    assert!(hysteresis <= 2 && missed <= 2, "{hysteresis} and {missed}");
}

#[test]
fn what_is_there_is_found_and_the_interval_holds_it() {
    let knee = KneeSettings { resamples: 200, ..KneeSettings::default() };
    let find = Settings { knee, ..Settings::default() };
    let settings = SearchSettings { find, ..SearchSettings::default() };
    for (name, factor, slope) in [("step", 2.0, 0.0), ("steep hinge", 1.0, 3.0)] {
        let (mut found, mut held, mut measurements) = (0, 0, 0);
        for seed in 0..30 {
            let truth = 4.0 * 1.08_f64.powi(seed);
            let mut noise = Noise::new(0.1, seed as u64);
            let swept = sweep(range(2.0, 96.0), settings, &mut |level: f64, _| {
                let beyond = factor * (level / truth).powf(slope);
                Ok(if level <= truth { 100.0 } else { 100.0 * beyond } * noise.factor())
            });
            measurements += swept.measurements();
            if let Shape::Knee(knee) = &swept.found.shape {
                found += 1;
                held += usize::from(knee.low <= truth && truth <= knee.high);
            }
        }
        println!("{name}: {found} found, {held} held, {} measurements", measurements / 30);
        assert!(found >= 28 && held >= 27, "{name}: {found} found, {held} held");
    }
}
