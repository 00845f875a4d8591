//! Hunt's four experiments of 1973, attributed: tables and sentences as they are printed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use analysis::Dataset;
use analysis::attribution::{Options, attribute, ledger};
use report::{attribution_text, ledger_text};
use store::observations;
use store::reference::add_conditions;

fn published(experiment: u32) -> Dataset {
    let mut found = observations(&format!("reference:multics/experiment{experiment}")).unwrap();
    add_conditions(&mut found);
    found
}

fn text(experiment: u32) -> String {
    attribution_text(&attribute(&published(experiment), &Options::default()).unwrap())
}

#[test]
fn experiment_1_is_four_fifths_paging() {
    insta::assert_snapshot!(text(1));
}

#[test]
fn experiment_2_finds_nothing() {
    insta::assert_snapshot!(text(2));
}

#[test]
fn experiment_3_is_two_compilations() {
    insta::assert_snapshot!(text(3));
}

#[test]
fn experiment_4_is_two_causes() {
    insta::assert_snapshot!(text(4));
}

#[test]
fn the_ledger_tells_why_1_and_2_disagree() {
    insta::assert_snapshot!(ledger_text(&ledger(&(1..=4).map(published).collect::<Vec<_>>())));
}
