//! What holds for all charts.

use super::encoding::rounded;
use super::*;

#[test]
fn numbers_are_as_long_as_they_need_to_be() {
    assert_eq!(rounded(1_234_567.89), 1_234_570.0);
    assert_eq!(rounded(0.000_123_456_789), 0.000_123_457);
    assert_eq!((rounded(0.0), rounded(-2.5)), (0.0, -2.5));
}

#[test]
fn every_kind_has_a_name_of_its_own() {
    let mut names: Vec<&str> = ALL.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ALL.len());
}
