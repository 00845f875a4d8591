//! `thrashlab mmu curve`: text, JSON and CSV of a small trace, and what it refuses.

use std::fs;

use serde_json::Value;

use crate::support::{Finished, Fixture};

/// Loads of a loop over 100 pages, ten times, as Dinero has it.
fn looped(fixture: &Fixture) {
    let round: String = (0..100).map(|page| format!("0 {:x}\n", 0x40_0000 + page * 4096)).collect();
    fs::write(fixture.path().join("loop.din"), round.repeat(10)).unwrap();
}

fn curve(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(&format!("mmu curve {arguments}")))
}

#[test]
fn a_loop_has_its_knee_where_it_fits() {
    let fixture = Fixture::new();
    looped(&fixture);
    let finished = curve(&fixture, "loop.din --sets 16 --working-set 500");
    finished.expect(0, &[]);
    for said in
        ["loop.din references 1000", "100 distinct (400K)", "Knee at", "96 costs 10.0 times"]
    {
        assert!(finished.sentences().contains(said), "{said}: {}", finished.stdout);
    }
    let finished = curve(&fixture, "loop.din --page 4K,2M --line --json");
    finished.expect(0, &[]);
    let json: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(json["schema"], 1);
    let cold: Vec<&Value> =
        (0..3).map(|unit| &json["units"][unit]["curve"]["cold_misses"]).collect();
    assert_eq!(cold, [100, 1, 100]);
    let all = curve(&fixture, "loop.din --csv");
    all.expect(0, &[]);
    let sampled = curve(&fixture, "loop.din --sample-size 100 --csv");
    sampled.expect(0, &[]);
    // A sample that may have all pages is exact, and its intervals are points.
    let without_interval = |line: &str| line.split(',').take(6).map(str::to_owned).collect();
    let rows = |text: &str| -> Vec<Vec<String>> { text.lines().map(without_interval).collect() };
    assert_eq!(rows(&all.stdout), rows(&sampled.stdout));
    assert!(
        all.stdout.contains("\n4096,96,393216,1000,1000,1,,\n4096,104,425984,1000,100,0.1,,\n")
    );
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let fixture = Fixture::new();
    looped(&fixture);
    for (arguments, code, said) in [
        ("loop.din --page 5K", 2, "power of two from 4096"),
        ("loop.din --page 64", 2, "use --line"),
        ("loop.din --sets 12", 2, "sets are a power of two"),
        ("loop.din --sample 2", 2, "above 0 and at most 1"),
        ("loop.din --process 1", 3, "process 1 has no references"),
        ("absent.tlt", 3, "absent.tlt"),
    ] {
        curve(&fixture, arguments).expect(code, &[said]);
    }
}
