//! What changes at a knee, by the counters that moved.

use std::collections::BTreeMap;

use analysis::sweep::{Curve, FaultCost, Moved, Point, Settings, SweepResult, find};

use super::subject::Noise;

/// Levels of a limit, with how many pages of a 48 MB file come back from the disk at each.
const LIMITS_MB: [f64; 9] = [96.0, 64.0, 56.0, 52.0, 50.0, 46.0, 42.0, 36.0, 30.0];

/// Measurements of four seconds each, `counters` by level and a number that varies a little.
fn curve(levels: &[f64], measure: impl Fn(f64, f64) -> Point) -> Curve {
    let points = (0..2_u32).flat_map(|pass| {
        let measure = &measure;
        levels.iter().zip(0_u32..).map(move |(level, place)| {
            let noise = 1.0 + 0.02 * f64::from((place * 7 + pass * 3) % 5);
            Point { level: *level, pass, ..measure(*level, noise) }
        })
    });
    Curve { points: points.collect(), ..Curve::default() }
}

fn named<const N: usize>(values: [(&str, f64); N]) -> BTreeMap<String, f64> {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The provoked case of C3: a file of 48 MB touched at random under a group's limit, gigabytes free.
fn refaults(limit_mb: f64, noise: f64) -> Point {
    let is_beyond = limit_mb < 48.0;
    let work = if is_beyond { 150_000.0 } else { 100e6 } * noise;
    let pages = if is_beyond { 40_000.0 * noise } else { 0.0 };
    Point {
        cost: Some(4e9 / work),
        figures: named([
            ("work", work),
            ("elapsed_ns", 4e9),
            ("user_ns", if is_beyond { 0.3e9 } else { 3.9e9 }),
            ("system_ns", 2e6 + pages * 42_000.0),
            ("major_faults", pages),
            ("faults", pages + 20.0),
            ("swap_ins", 0.0),
        ]),
        counters: named([
            ("memcg.workingset_refault_file", pages),
            ("vmstat.workingset_refault_file", pages),
            ("memcg.failcnt", 1.3 * pages),
            ("vmstat.pgmajfault", pages),
            ("vmstat.pgscan_direct", 0.0),
            ("vmstat.pgscan_kswapd", 0.0),
            ("vmstat.allocstall_normal", 0.0),
            ("vmstat.pswpin", 0.0),
            ("vmstat.pswpout", 0.0),
            ("vmstat.drop_slab", 0.0),
            ("stat.cpu_user_ticks", 400.0 * noise),
            ("stat.ctxt", if is_beyond { 30_000.0 } else { 3_000.0 } * noise),
            ("stat.intr_total", 5_000.0 * noise),
            ("vmstat.pgalloc_normal", 900.0 * noise),
        ]),
        ..Point::default()
    }
}

fn moved(found: &SweepResult) -> &Moved {
    found.moved.as_ref().unwrap()
}

fn names(moved: &Moved) -> Vec<&str> {
    moved.movers.iter().map(|mover| mover.name.as_str()).collect()
}

#[test]
fn a_file_that_does_not_fit_its_group_is_told_by_refaults() {
    let found = find(&curve(&LIMITS_MB, refaults), &Settings::default());
    let moved = moved(&found);
    assert_eq!(
        moved.conclusion.as_deref(),
        Some("file pages are evicted and read again; the control group is at its limit")
    );
    let names = names(moved);
    let refault = names.iter().position(|name| *name == "memcg.workingset_refault_file").unwrap();
    assert!(refault <= 2, "{names:?}");
    let refault = &moved.movers[refault];
    assert_eq!(refault.also, ["vmstat.workingset_refault_file"]);
    assert_eq!((refault.before, refault.factor, refault.separated), (0.0, None, true));
    assert!(refault.association > 0.7 && refault.meaning.is_some(), "{refault:?}");
    // By the unit of work all of these rise 600-fold; by the second they do not.
    for clock in ["stat.cpu_user_ticks", "stat.intr_total", "vmstat.pgalloc_normal", "elapsed_ns"] {
        assert!(!names.contains(&clock), "{clock} in {names:?}");
    }
    assert!(names.contains(&"stat.ctxt"), "{names:?}");
    assert!(moved.still.iter().any(|still| still.contains("reclaim of the whole machine")));
    assert!(moved.still.iter().any(|still| still.contains("no swapping (pswpin, pswpout: 0)")));
    let FaultCost::Known { cost_ns, .. } = found.fault_cost else { panic!("{found:?}") };
    assert!((cost_ns - 42_000.0).abs() < 500.0, "{cost_ns}");
}

#[test]
fn at_most_twelve_movers_are_shown() {
    let many = |level, noise| {
        let mut point = refaults(level, noise);
        let refaults = point.counters["memcg.workingset_refault_file"];
        point.counters.extend((0..20).map(|number| (format!("own.{number}"), refaults)));
        point
    };
    let found = find(&curve(&LIMITS_MB, many), &Settings::default());
    assert_eq!(moved(&found).movers.len(), 12);
}

#[test]
fn swap_is_told_from_file_refaults() {
    let found = find(
        &curve(&[8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0], |level, noise| {
            let pages = (level - 21.0).max(0.0) * 1_000.0 * noise;
            Point {
                cost: Some((100.0 + pages) * noise),
                figures: named([("work", 1e6), ("elapsed_ns", 1e6 * (100.0 + pages))]),
                counters: named([
                    ("vmstat.pswpin", pages),
                    ("vmstat.pswpout", pages),
                    ("vmstat.workingset_refault_anon", pages),
                    ("vmstat.pgmajfault", pages),
                    ("vmstat.allocstall_normal", pages / 30.0),
                ]),
                ..Point::default()
            }
        }),
        &Settings::default(),
    );
    let moved = moved(&found);
    assert_eq!(moved.conclusion.as_deref(), Some("anonymous memory is swapped out and read back"));
    assert_eq!(moved.movers[moved.movers.len() - 1].name, "vmstat.allocstall_normal");
}

#[test]
fn page_tables_are_an_amount_and_told_as_such() {
    let found = find(
        &curve(&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0], |level, noise| {
            let beyond = if level > 20.0 { 40.0 } else { 1.0 };
            Point {
                cost: Some(100.0 * beyond * noise),
                figures: named([("page_table_bytes", 4096.0 * level * beyond)]),
                ..Point::default()
            }
        }),
        &Settings::default(),
    );
    let moved = moved(&found);
    assert_eq!(moved.conclusion.as_deref(), Some("page tables take memory"));
    assert!(moved.movers[0].is_amount);
    assert_eq!(moved.per, "measurement");
}

#[test]
fn what_grows_with_the_level_has_not_moved_at_the_knee() {
    let found = find(
        &curve(&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0], |level, noise| Point {
            cost: Some(if level > 20.0 { 300.0 } else { 100.0 } * noise),
            figures: named([("work", 1e6), ("faults", 256.0 * level)]),
            counters: named([("vmstat.pgfault", 256.0 * level), ("vmstat.pgmajfault", 0.0)]),
            ..Point::default()
        }),
        &Settings::default(),
    );
    let moved = moved(&found);
    assert!(moved.movers.is_empty(), "{moved:?}");
    assert_eq!(
        moved.conclusion.as_deref(),
        Some("no kernel counter changed: translation (TLB) or cache")
    );
}

#[test]
fn without_counters_nothing_is_said_to_lie_under_the_knee() {
    let found = find(
        &curve(&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0], |level, noise| Point {
            cost: Some(if level > 20.0 { 300.0 } else { 100.0 } * noise),
            figures: named([("elapsed_ns", 1e9)]),
            ..Point::default()
        }),
        &Settings::default(),
    );
    assert_eq!(moved(&found).conclusion, None);
    let FaultCost::Unknown { why } = &found.fault_cost else { panic!("no faults were counted") };
    assert_eq!(why, "faults were not counted");
}

#[test]
fn of_two_hundred_counters_of_a_busy_machine_none_is_taken_for_the_cause() {
    let levels = [2.0, 4.0, 8.0, 16.0, 17.0, 18.0, 20.0, 32.0, 64.0, 128.0];
    for seed in 0..5 {
        let mut noise = Noise::new(0.7, seed);
        let mut curve = curve(&levels, |level, noise| Point {
            cost: Some(if level > 17.5 { 30.0 } else { 10.0 } * noise),
            figures: named([("elapsed_ns", 1e9)]),
            ..Point::default()
        });
        for point in &mut curve.points {
            let work = 1e9 / point.cost.unwrap();
            point.figures.insert("work".to_owned(), work);
            for number in 0..200_i32 {
                let count = (f64::from(number % 20 - 5) * noise.factor()).max(0.0).round();
                point.counters.insert(format!("vmstat.counter{number}"), count);
            }
        }
        let found = find(&curve, &Settings::default());
        let moved = moved(&found);
        assert!(moved.movers.is_empty(), "{:?}", names(moved));
        assert_eq!(
            moved.conclusion.as_deref(),
            Some("no kernel counter changed: translation (TLB) or cache")
        );
    }
}
