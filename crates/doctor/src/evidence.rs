//! The counters that speak for or against a finding.

use serde::Serialize;

/// From this share of time lost on, a finding is a note.
pub(crate) const NOTE_SHARE: f64 = 0.01;

/// One counter that speaks for or against a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The counter or figure, with its source and unit (`memcg/workingset_refault_file per s`).
    pub counter: String,
    /// Its value.
    pub value: f64,
    /// From this value on it speaks for the finding; `None`: it is told for the reader alone.
    pub threshold: Option<f64>,
}

impl Evidence {
    /// A counter that speaks for the finding from a threshold on.
    #[must_use]
    pub fn of(counter: impl Into<String>, value: f64, threshold: f64) -> Self {
        Self { counter: counter.into(), value, threshold: Some(threshold) }
    }

    /// A counter for the reader alone.
    #[must_use]
    pub fn told(counter: impl Into<String>, value: f64) -> Self {
        Self { counter: counter.into(), value, threshold: None }
    }
}
