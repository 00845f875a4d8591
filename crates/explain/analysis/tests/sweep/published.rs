//! The tables of 1990: what they show about their machines.

use std::collections::BTreeMap;

use analysis::sweep::{Curve, FaultCost, Point, Settings, SweepResult, find};
use stats::Shape;

/// A table of `reference/sun4`, one row per point; the cost is elapsed time per megabyte of `elapsed`.
fn table(name: &str, elapsed: &str) -> Curve {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../reference/sun4/");
    let text = std::fs::read_to_string(format!("{root}{name}.csv")).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let points = lines.filter_map(|line| {
        let mut cells: BTreeMap<String, f64> = names
            .iter()
            .zip(line.split(','))
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(name, cell)| ((*name).to_owned(), cell.parse().unwrap()))
            .collect();
        let level = cells.remove("virtual_mb").unwrap();
        let cost = Some(cells.get(elapsed)? / level);
        Some(Point { level, cost, figures: cells, ..Point::default() })
    });
    Curve { name: name.to_owned(), points: points.collect(), ..Curve::default() }
}

fn found(name: &str, elapsed: &str) -> SweepResult {
    find(&table(name, elapsed), &Settings::default())
}

#[test]
fn the_old_tables_leave_their_plateau_between_16_and_18_mb() {
    for (name, elapsed) in [
        ("vmtest-sparcstation1-old-hat", "elapsed_s"),
        ("vmtest-sparcstation1-new-hat", "old_elapsed_s"),
    ] {
        let found = found(name, elapsed);
        let Shape::Knee(knee) = &found.shape else { panic!("{name}: {:?}", found.shape) };
        assert_eq!((knee.capacity, knee.beyond), (16.0, 18.0), "{knee:?}");
        assert!(knee.level > 16.0 && knee.level < 18.0, "{knee:?}");
        assert!(knee.low >= 15.5 && knee.high <= 18.0, "{knee:?}");
        assert_eq!(found.capacity, Some(16.0));
        assert!(found.hysteresis.is_none());
    }
}

#[test]
fn the_relative_speeds_are_those_that_were_printed() {
    let table = table("vmtest-sparcstation1-old-hat", "elapsed_s");
    let found = find(&table, &Settings::default());
    for (row, point) in found.rows.iter().zip(&table.points) {
        let printed = point.figures["relative_speed"];
        let speed = row.relative_speed.unwrap();
        assert!((speed - printed).abs() < 0.011, "{}: {speed} and {printed}", row.level);
    }
}

#[test]
fn a_translation_fault_cost_273_microseconds() {
    let FaultCost::Known { cost_ns, low_ns, high_ns, r_squared, .. } =
        found("vmtest-sparcstation1-old-hat", "elapsed_s").fault_cost
    else {
        panic!("a cost is known");
    };
    assert!((cost_ns - 273_300.0).abs() < 50.0, "{cost_ns}");
    assert!(low_ns > 272_300.0 && high_ns < 274_300.0, "{low_ns} to {high_ns}");
    assert!(r_squared > 0.9999, "{r_squared}");
}

#[test]
fn what_moved_are_the_translation_faults() {
    let moved = found("vmtest-sparcstation1-old-hat", "elapsed_s").moved.unwrap();
    assert_eq!(moved.movers[0].name, "translation_faults");
    assert_eq!(moved.conclusion.unwrap(), "mappings are lost and faulted in again");
}

#[test]
fn the_new_tables_have_no_knee() {
    for (name, elapsed, up_to) in [
        ("vmtest-sparcstation1-new-hat", "new_elapsed_s", 96.0),
        ("vmtest-sparcstation1plus-new-hat", "elapsed_s", 32.0),
    ] {
        let found = found(name, elapsed);
        let Shape::NoKnee(none) = &found.shape else { panic!("{name}: {:?}", found.shape) };
        // These were cheaper per megabyte the more there were, so they are read from high to low.
        assert!(none.up_to == up_to || none.up_to == 2.0, "{none:?}");
        assert!(matches!(found.fault_cost, FaultCost::Unknown { .. }));
    }
}
