//! The pressure at which to alarm, of work that is stalled in a known way.

use analysis::sweep::{
    Curve, NoThreshold, Point, Pressure, PressureCosts, PriceSettings, Range, Search,
    SearchSettings, Settings, Spacing, find,
};

use crate::subject::Noise;

const MIB: f64 = 1_048_576.0;
/// What the work needs, in bytes.
const NEEDS: f64 = 100.0 * MIB;

/// Work whose extra time is stalled time: a share p of stalled time costs 1 / (1 - p) times as much.
#[derive(Clone, Copy)]
struct Work {
    /// Stalled share for a relative lack of memory of 1.
    steepness: f64,
    /// Share of the extra time that pressure counts.
    counted: f64,
    /// Share that the machine always has.
    background: f64,
    /// Deviation of the logarithms of costs and of shares.
    noise: f64,
    /// Length of a run without a limit, in s.
    seconds: f64,
}

const USUAL: Work =
    Work { steepness: 2.0, counted: 1.0, background: 0.0, noise: 0.01, seconds: 60.0 };

impl Work {
    fn measure(&self, noise: &mut Noise, level: f64, pass: u32) -> Point {
        let stalled = (self.steepness * (NEEDS / level - 1.0).max(0.0)).min(0.9);
        let ratio = (1.0 - stalled).recip();
        let counted = self.background + self.counted * stalled;
        let shares = [("memory some", counted), ("memory full", 0.8 * counted)];
        // Ten times the noise of the cost: pressure is a small difference of large times.
        let mut share = |share: f64| share * noise.factor().powi(10);
        let shares = shares.map(|(name, value)| (name.to_owned(), share(value))).into();
        let seconds = self.seconds * ratio;
        let cost = Some(1e6 * ratio * noise.factor());
        let pressure = Some(Pressure { is_of_group: true, seconds, shares });
        let sizes = [("peak_bytes".to_owned(), level.min(NEEDS))].into();
        Point { level, pass, cost, pressure, sizes, ..Point::default() }
    }

    fn search(self, seed: u64) -> PressureCosts {
        let find_settings =
            Settings { price: Some(PriceSettings::default()), ..Settings::default() };
        let (first, last) = (4096.0 * MIB, 16.0 * MIB);
        let range = Range { first, last, spacing: Spacing::Geometric, quantum: 4096.0 };
        let settings = SearchSettings {
            resolution: 0.03,
            coarse: 2,
            passes: 2,
            budget: 20,
            find: find_settings,
        };
        let search = Search::new(range, settings).unwrap();
        let mut noise = Noise::new(self.noise, seed);
        let mut curve = Curve { parameter: "sandbox.memory".to_owned(), ..Curve::default() };
        while let Some(batch) = search.next(&curve) {
            for (pass, level) in batch.measurements() {
                curve.points.push(self.measure(&mut noise, level, pass));
            }
        }
        find(&curve, &find_settings).pressure.unwrap()
    }
}

/// The share of stalled time at which such work costs 5 % more.
const TRUTH: f64 = 0.05 / 1.05;

#[test]
fn the_threshold_is_that_of_stalled_time_and_its_interval_holds() {
    for (steepness, background) in [(0.5, 0.0), (2.0, 0.0), (2.0, 0.004), (20.0, 0.0)] {
        let work = Work { steepness, background, ..USUAL };
        let (mut misses, rounds) = (0, 200);
        let mut estimates = Vec::new();
        for seed in 0..rounds {
            let (name, found) = {
                let found = work.search(seed);
                let (name, threshold) = found.alarm().unwrap();
                (name.to_owned(), threshold)
            };
            assert_eq!(name, "memory some");
            let truth = TRUTH + background;
            let high = found.high.unwrap();
            misses += u32::from(!(found.low <= truth && truth <= high));
            assert!(found.low <= found.share && found.share <= high, "{found:?}");
            estimates.push(found.share / truth);
        }
        assert!(misses <= rounds as u32 / 20, "{misses} of {rounds} at {steepness}");
        let median = stats::median(&estimates).unwrap();
        assert!((median - 1.0).abs() < 0.15, "{median} at {steepness}, {background}");
    }
}

#[test]
fn a_cost_without_pressure_has_no_threshold() {
    for seed in 0..50 {
        for (counted, background) in [(0.0, 0.0), (0.0, 0.02), (0.001, 0.0)] {
            let found = Work { counted, background, ..USUAL }.search(seed);
            for alarm in &found.alarms {
                assert!(alarm.threshold.is_none(), "{background}: {alarm:?}");
                let Some(NoThreshold::NotRaised { ratio, .. }) = alarm.problem else {
                    panic!("{alarm:?}");
                };
                assert!(ratio > 1.05, "{alarm:?}");
            }
            assert_eq!(found.alarm(), None);
        }
    }
}

#[test]
fn without_a_certain_price_there_is_no_threshold() {
    let found = Work { steepness: 0.0, background: 0.01, ..USUAL }.search(3);
    assert!(found.alarms.iter().all(|it| it.problem == Some(NoThreshold::NotReached)));
}

#[test]
fn short_runs_do_not_raise_the_average() {
    let found = Work { seconds: 2.0, ..USUAL }.search(1);
    assert!((0.15..0.3).contains(&found.avg10_part), "{}", found.avg10_part);
    assert!(USUAL.search(1).avg10_part > 0.99);
    // From the highest limit to the lowest, as the table shows them.
    assert!(found.levels.windows(2).all(|pair| pair[0].level > pair[1].level));
}
