//! A value of a log of MMTests.

/// A value of a log.
#[derive(Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) metric: String,
    pub(super) unit: &'static str,
    pub(super) more_is_better: bool,
    pub(super) value: f64,
}

/// A finite number.
pub(super) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}
