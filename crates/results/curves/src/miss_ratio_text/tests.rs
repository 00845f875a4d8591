//! What the text looks like.

use analysis::sweep::{Point, Settings, find};
use mmu::curve::{Profile, Request, Sampling, Unit};
use render::plain_text;
use trace::{Block, PageRun};

use super::*;

/// A loop over 300 pages, forty times; of every page two references.
fn profiled(request: Request) -> Profiled {
    let mut profile = Profile::new(&request).unwrap();
    let run = |page| PageRun { page, count: 2, fetch: false, written: false };
    let runs: Vec<PageRun> = (0..300).map(run).collect();
    for _ in 0..40 {
        profile.block(&Block { runs: runs.clone(), ..Block::default() }).unwrap();
    }
    profile.finish()
}

fn request() -> Request {
    Request {
        units: vec![Unit::new(4096).unwrap()],
        sets: vec![16, 64],
        ways: 8,
        sampling: None,
        seed: 0,
        window: Some(5000),
        process: None,
    }
}

fn text(profiled: &Profiled) -> String {
    let points = profiled.units[0].curve.points.iter().map(|point| Point {
        level: point.entries as f64,
        cost: Some(point.miss_ratio),
        ..Point::default()
    });
    let curve = Curve { points: points.collect(), deterministic: true, ..Curve::default() };
    let found = find(&curve, &Settings::default());
    let notes = ["two records were bad".to_owned()];
    plain_text(&miss_ratio_document("loop.tlt", profiled, &[(curve, found)], 1.5, &notes))
}

#[test]
fn a_loop_is_a_cliff() {
    insta::assert_snapshot!(text(&profiled(request())));
}

#[test]
fn a_sample_has_intervals() {
    let sampling = Some(Sampling::Keys(100));
    let profiled = profiled(Request { sampling, sets: vec![], window: None, ..request() });
    insta::assert_snapshot!(text(&profiled));
}

#[test]
fn csv_has_a_line_for_each_size() {
    let csv = miss_ratio_csv(&profiled(request()));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[1], "4096,1,4096,24000,12000,0.5,,");
    assert_eq!(lines.last(), Some(&"4096,576,2359296,24000,300,0.0125,,"));
}
