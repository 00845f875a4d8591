//! Hunt's four experiments of 1973, attributed: tables and sentences as they are printed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use analysis::Dataset;
use analysis::attribution::{Options, attribute, ledger};
use render::plain_text;
use report::attribution_document;
use store::observations;
use store::reference::add_conditions;

fn published(experiment: u32) -> Dataset {
    let mut found = observations(&format!("reference:multics/experiment{experiment}")).unwrap();
    add_conditions(&mut found);
    found
}

fn text(experiment: u32) -> String {
    let found = [attribute(&published(experiment), &Options::default()).unwrap()];
    plain_text(&attribution_document(&found, None))
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
    let ledger = ledger(&(1..=4).map(published).collect::<Vec<_>>());
    insta::assert_snapshot!(plain_text(&attribution_document(&[], Some(&ledger))));
}
