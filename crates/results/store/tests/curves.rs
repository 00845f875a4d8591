//! Tables and folders as curves.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs;

use curves::{CurveOptions, Curves};
use proptest::prelude::*;
use store::curves;

fn of_text(text: &str, options: &CurveOptions) -> Result<Curves, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    fs::write(&path, text).unwrap();
    curves(path.to_str().unwrap(), options).map_err(|error| error.to_string())
}

#[test]
fn the_old_table_costs_time_per_mb() {
    let made = curves("reference:sun4/vmtest-sparcstation1-old-hat", &CurveOptions::default());
    let made = made.unwrap();
    assert_eq!(made.by, None);
    assert!(made.place.contains("SPARCstation 1") && made.place.contains("Irlam"), "{made:?}");
    let [(label, curve)] = &made.rows[..] else { panic!("one curve") };
    assert_eq!((label.as_str(), curve.level_unit.as_str()), ("", "MB"));
    assert_eq!((curve.response.as_str(), curve.cost_unit.as_str()), ("elapsed_s per MB", "s"));
    assert_eq!(curve.points.len(), 16);
    let last = &curve.points[15];
    assert_eq!((last.level, last.cost), (32.0, Some(2601.0 / 32.0)));
    for (name, value) in [
        ("elapsed_ns", 2601e9),
        ("user_ns", 221.5e9),
        ("system_ns", 2373.1e9),
        ("translation_faults", 8_665_839.0),
        ("swap_ins", 88.0),
        ("work", 32.0),
    ] {
        assert_eq!(last.figures.get(name), Some(&value), "{name}");
    }
}

#[test]
fn a_table_before_and_after_is_two_curves() {
    let made = curves("reference:sun4/vmtest-sparcstation1-new-hat", &CurveOptions::default());
    let made = made.unwrap();
    let shape: Vec<(&str, usize)> =
        made.rows.iter().map(|(label, curve)| (label.as_str(), curve.points.len())).collect();
    assert_eq!(shape, [("old", 16), ("new", 18)], "64 and 96 MB were not measured before");
    let (_, new) = &made.rows[1];
    assert_eq!(new.points[17].cost, Some(159.8 / 96.0));
    assert!(!new.points[0].figures.contains_key("old_elapsed_ns"), "{new:?}");
}

#[test]
fn columns_are_named_or_found_and_repeated_levels_are_passes() {
    let text = "users,requests,busy_s,note\n1,10,2,x\n2,20,8,y\n1,10,3,z\n";
    let options = CurveOptions {
        over: Some("users".to_owned()),
        cost: Some("busy_s".to_owned()),
        work: Some("requests".to_owned()),
    };
    let made = of_text(text, &options).unwrap();
    let points: Vec<(f64, u32, Option<f64>)> =
        made.rows[0].1.points.iter().map(|point| (point.level, point.pass, point.cost)).collect();
    assert_eq!(points, [(1.0, 0, Some(0.2)), (2.0, 0, Some(0.4)), (1.0, 1, Some(0.3))]);
    assert_eq!(made.rows[0].1.response, "busy_s per requests");
    let found = of_text("level,cost_ns\n4,7\n8,9\n", &CurveOptions::default()).unwrap();
    assert_eq!(found.rows[0].1.points[1].cost, Some(9.0), "a cost is for a unit of work");
}

#[test]
fn what_is_no_curve_is_refused_with_the_place() {
    for (text, why) in [
        ("a,b\n1,2\n", "no column is the level"),
        ("size_mb,b\n1,2\n", "no column is a cost"),
        ("size_mb,elapsed_s\n", "no curve"),
        ("size_mb,elapsed_s\n1,x\n", "line 2, column 2 (elapsed_s): \"x\" is not a number"),
        ("size_mb,elapsed_s\n,2\n", "line 2, column 1 (size_mb): a row without a level"),
        ("size_mb,elapsed_s\n0,2\n", "work is a number above 0"),
        ("size_mb,elapsed_s\n1\n", "line 2"),
    ] {
        let told = of_text(text, &CurveOptions::default()).unwrap_err();
        assert!(told.contains(why), "{text}: {told}");
    }
    let over = CurveOptions { over: Some("x".to_owned()), ..CurveOptions::default() };
    assert!(
        of_text("a,b\n1,2\n", &over).unwrap_err().contains("no column \"x\"; choose from a, b")
    );
    let error = |what: &str| curves(what, &CurveOptions::default()).unwrap_err().to_string();
    assert!(error("reference:resp1/2.4.20").contains("not a CSV table"));
    assert!(error("reference:sun4/hatcnt").contains("--level"));
    assert!(error("reference:sun4/models").contains("--cost"));
    let folder = tempfile::tempdir().unwrap();
    assert!(error(folder.path().to_str().unwrap()).contains("experiment.json"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a-z_0-9,.\n\" ]{0,120}", name in "[a-z_]{0,8}") {
        let _ = of_text(&text, &CurveOptions::default());
        let options = CurveOptions { over: Some(name.clone()), cost: Some(name), work: None };
        let _ = of_text(&format!("size_mb,elapsed_s\n{text}"), &options);
    }
}
