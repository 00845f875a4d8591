//! Any measurements of a table have a knee, none, or are too few; a knee lies within its interval,
//! between the levels that were measured, and its two sides are such levels.
#![no_main]

use analysis::sweep::{Curve, Point, Settings, find};
use libfuzzer_sys::fuzz_target;
use stats::Shape;

fuzz_target!(|rows: Vec<(f64, f64)>| {
    let point =
        |(level, cost): &(f64, f64)| Point { level: *level, cost: Some(*cost), ..Point::default() };
    let points: Vec<Point> = rows.iter().take(64).map(point).collect();
    let curve = Curve { points, ..Curve::default() };
    let mut settings = Settings::default();
    settings.knee.resamples = 20;
    let found = find(&curve, &settings);
    if let Shape::Knee(knee) = &found.shape {
        let is_measured = |level: f64| found.rows.iter().any(|row| row.level == level);
        assert!(is_measured(knee.capacity) && is_measured(knee.beyond), "{knee:?}");
        assert!(knee.low <= knee.level && knee.level <= knee.high, "{knee:?}");
        assert!((0.5..=1.0).contains(&knee.support), "{knee:?}");
    }
});
