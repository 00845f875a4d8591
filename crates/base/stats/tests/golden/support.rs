//! Cases as the programs wrote them.

use serde_json::Value;
use stats::{Arms, CellResult, Method, Pairing, Settings, compare};

/// The cases of a file, or of the part of it that has this name.
pub(crate) fn cases(text: &str, name: Option<&str>) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).expect("a JSON file");
    let cases = name.map_or(&file, |name| &file[name]).as_array().expect("an array").clone();
    assert!(cases.len() >= 9, "too few cases to mean anything");
    cases
}

pub(crate) fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {case}"))
}

pub(crate) fn numbers(case: &Value, key: &str) -> Vec<f64> {
    let values = case[key].as_array().unwrap_or_else(|| panic!("no array {key} in {case}"));
    values.iter().map(|value| value.as_f64().expect("a number")).collect()
}

/// Fails unless both are equal to within `tolerance` of the larger.
#[track_caller]
pub(crate) fn assert_close(actual: f64, expected: f64, tolerance: f64, case: &Value) {
    let scale = actual.abs().max(expected.abs());
    assert!((actual - expected).abs() <= tolerance * scale, "{actual}, not {expected}: {case}");
}

/// The only comparison of a family, if ranks decide it.
pub(crate) fn by_ranks(
    first: &[f64],
    second: &[f64],
    pairing: Pairing,
    alpha: f64,
) -> Option<CellResult> {
    let settings = Settings { alpha, ..Settings::default() };
    let arms = Arms::exact(first, second, pairing);
    let found = compare(&[arms], &[], &settings).cells.remove(0).expect("a comparison");
    matches!(found.method, Method::HodgesLehmann | Method::SignedRank).then_some(found)
}
