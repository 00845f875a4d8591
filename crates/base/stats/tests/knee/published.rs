//! The published tables of the Sun-4 of 1990: a cliff between 16 and 18 MB, and its repair.

use stats::{Level, UnitCost, WhyNoKnee, unit_cost};

use crate::{found, none};

const OLD: &str = include_str!("../../../../../reference/sun4/vmtest-sparcstation1-old-hat.csv");
const NEW: &str = include_str!("../../../../../reference/sun4/vmtest-sparcstation1-new-hat.csv");
const PLUS: &str =
    include_str!("../../../../../reference/sun4/vmtest-sparcstation1plus-new-hat.csv");

/// A column by its heading; what was not measured is `None`.
fn column(table: &str, heading: &str) -> Vec<Option<f64>> {
    let mut lines = table.lines();
    let mut headings = lines.next().expect("headings").split(',');
    let index = headings.position(|each| each == heading).expect("the heading");
    lines.map(|line| line.split(',').nth(index).expect("a cell").parse().ok()).collect()
}

/// Elapsed seconds for each MB, over MB.
fn curve(table: &str, elapsed: &str) -> Vec<Level> {
    let sizes = column(table, "virtual_mb").into_iter().flatten();
    let costs = sizes.zip(column(table, elapsed));
    costs.filter_map(|(mb, s)| Some(Level { level: mb, costs: vec![s? / mb] })).collect()
}

#[test]
fn both_old_tables_have_their_knee_between_16_and_18_mb() {
    let tables = [curve(OLD, "elapsed_s"), curve(NEW, "old_elapsed_s")];
    assert_eq!(tables[0].len(), 16);
    for table in tables {
        let knee = found(&table);
        assert_eq!((knee.capacity, knee.beyond), (16.0, 18.0), "{knee:?}");
        assert_eq!((knee.low, knee.high), (16.0, 18.0), "{knee:?}");
        assert!((knee.level - 288.0_f64.sqrt()).abs() < 1e-12, "{knee:?}");
        assert!(knee.support > 0.99 && knee.others.is_empty(), "{knee:?}");
        assert!((1.5..1.7).contains(&knee.plateau_cost), "{knee:?}");
        assert!((1.8..2.1).contains(&knee.rise) && knee.steepness > 5.0, "{knee:?}");
    }
}

#[test]
fn neither_new_table_has_a_knee() {
    for (table, up_to) in [(curve(NEW, "new_elapsed_s"), 96.0), (curve(PLUS, "elapsed_s"), 32.0)] {
        let none = none(&table);
        assert_eq!((none.up_to, none.why), (up_to, WhyNoKnee::NeverRises));
        assert!(none.largest_rise < 1.4 && none.growth.abs() < 0.1, "{none:?}");
    }
}

/// System seconds over translation faults, for sizes from `least_mb` on.
fn fault_cost(least_mb: f64) -> UnitCost {
    let sizes = column(OLD, "virtual_mb").into_iter().flatten();
    let points = column(OLD, "translation_faults").into_iter().zip(column(OLD, "system_s"));
    let chosen = sizes.zip(points).filter(|(mb, _)| *mb >= least_mb);
    let points: Vec<_> = chosen.filter_map(|(_, (faults, s))| Some((faults?, s?))).collect();
    unit_cost(&[points], 0.95).expect("a slope")
}

#[test]
fn a_translation_fault_cost_273_microseconds() {
    let micros = |seconds: f64| format!("{:.1}", seconds * 1e6);
    let all = fault_cost(0.0);
    assert_eq!(micros(all.cost), "273.3");
    assert_eq!(format!("{:.6}", all.r_squared), "0.999985");
    let thrashing = fault_cost(18.0);
    let interval = [thrashing.cost, thrashing.low, thrashing.high].map(micros);
    assert_eq!(interval, ["273.7", "272.7", "274.7"]);
    assert_eq!(format!("{:.6}", thrashing.r_squared), "0.999987");
}
