//! `thrashlab attribute`: published experiments, tables, and what is refused.

use std::fs;

use crate::support::{Finished, Fixture};

const EXPERIMENT4: &str =
    include_str!("../../../../../reference/multics/experiment4-page-faults.csv");

fn attribute(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(&format!("attribute {arguments}")))
}

/// A table in the folder of the fixture, by its path.
fn table(fixture: &Fixture, text: &str) -> String {
    let path = fixture.path().join("table.csv");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn hunts_conclusion_is_printed_with_its_numbers() {
    let fixture = Fixture::new();
    let finished = attribute(&fixture, "reference:multics/experiment4");
    finished.expect(0, &[]);
    for figure in [
        "2.96 times the page faults [2.89, 3.03]",
        "Of the loss of 4,814 page faults 87.0 % is pl1_version's and 13.0 % is system's",
        "84.9 to 89.0 %",
        "+528 and +727",
        "0.974 times [0.955, 0.993]: a slight improvement",
        "F = 34.48",
    ] {
        assert!(finished.sentences().contains(figure), "{figure}: {}", finished.stdout);
    }
}

#[test]
fn published_paging_explains_experiment_1() {
    let fixture = Fixture::new();
    let finished = attribute(&fixture, "reference:multics/experiment1");
    finished.expect(0, &[]);
    assert!(finished.sentences().contains("/ 6 users explain 53.3 s of 65.8 s: 81 %"));
    let dearer = attribute(&fixture, "reference:multics/experiment1 --unit-cost 4ms --per 6");
    dearer.expect(0, &[]);
    assert!(dearer.sentences().contains("× 4.00ms (as given)"), "{}", dearer.stdout);
}

#[test]
fn json_has_all_experiments_and_their_conditions() {
    let fixture = Fixture::new();
    let both = "reference:multics/experiment1 reference:multics/experiment3 --json";
    let finished = attribute(&fixture, both);
    finished.expect(0, &[]);
    let found: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(found["experiments"].as_array().unwrap().len(), 2);
    assert_eq!(found["ledger"]["common"]["mode"], "absentee");
    let ledger =
        attribute(&fixture, "reference:multics/experiment1 reference:multics/experiment3 --ledger");
    ledger.expect(0, &[]);
    assert!(ledger.sentences().contains("differ in 3 conditions"), "{}", ledger.stdout);
}

#[test]
fn damaged_and_incomplete_tables_are_refused() {
    let fixture = Fixture::new();
    // The heading row of the scan, a ghost of the first data row.
    let ghost = table(&fixture, "version,1001,0 1: 5 0,2770\none,1921,2452,2330\n");
    attribute(&fixture, &ghost).expect(2, &["line 1", "the heading is the number \"1001\""]);
    let copied = format!("{EXPERIMENT4}one,17.11,4,1921\none,18.9,4,2452\none,18.11,4,2330\n");
    let copied = table(&fixture, &copied);
    attribute(&fixture, &copied).expect(2, &["line 20", "repeats", "--allow-repeats"]);
    attribute(&fixture, &format!("{copied} --allow-repeats")).expect(0, &[]);
    let rows = EXPERIMENT4.lines().filter(|line| !line.starts_with("two,18.9"));
    let missing = table(&fixture, &rows.map(|row| format!("{row}\n")).collect::<String>());
    attribute(&fixture, &missing)
        .expect(2, &["no trial of pl1_version = two, system = 18.9", "--levels"]);
    attribute(&fixture, &format!("{missing} --levels system=17.11,18.11")).expect(0, &[]);
}

#[test]
fn wrong_names_are_2_and_tell_what_there_is() {
    let fixture = Fixture::new();
    let experiment = "reference:multics/experiment4";
    let cases: [(&str, &[&str]); 6] = [
        ("--response cpu", &["no response \"cpu\"", "page_faults"]),
        ("--factor compiler", &["no factor \"compiler\"", "pl1_version, system"]),
        ("--levels system=17.11,18.0", &["no level \"18.0\"", "18.11"]),
        ("--levels system=17.11", &["write FACTOR=A,B"]),
        ("--mediator faults", &["is not a time"]),
        ("--confidence 95", &["between 0 and 1"]),
    ];
    for (arguments, expected) in cases {
        attribute(&fixture, &format!("{experiment} {arguments}")).expect(2, expected);
    }
    attribute(&fixture, "reference:multics/experiment5").expect(2, &["multics/experiment"]);
}
