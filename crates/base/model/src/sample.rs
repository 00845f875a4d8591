//! Timed interactions: single samples, and the histograms of high-rate probes.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::histogram::{HistogramError, MOST_DELAYS, claimed_counts};
use crate::{CounterSet, Values};

named! {
    /// Why a sample has no completion.
    pub enum Censored {
        /// It took longer than the run allows.
        Timeout = "timeout",
        /// The probe's process died.
        ProbeDied = "probe-died",
        /// The interaction itself failed (such as no space left); the reason is a warning.
        Failed = "failed",
        /// The run ended first: the user stopped it, or its load died.
        RunEnded = "run-ended",
    }
}

/// One timed interaction with the raw counters before and after it. The delay counts from the
/// intended start to the completion, or at least to the censoring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// When the line was written, in ns from the start of the run.
    pub at_ns: u64,
    /// Number of the sample, from 0.
    pub index: u32,
    /// Intended start.
    pub intended_ns: u64,
    /// Actual start; `None` if it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<u64>,
    /// Completion; `None` if censored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_ns: Option<u64>,
    /// Why there is no completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub censored: Option<Censored>,
    /// When the sample was given up, if censored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub censored_at_ns: Option<u64>,
    /// The parts that the probe timed by itself, in ns (`resident_scan_ns`, …).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: Values,
    /// Counters read before the intended start.
    #[serde(deserialize_with = "crate::counters::sorted_set")]
    pub before: CounterSet,
    /// Counters read after the completion.
    #[serde(deserialize_with = "crate::counters::sorted_set")]
    pub after: CounterSet,
}

impl SampleRecord {
    /// The delay in ns from the intended start; a lower bound if censored.
    pub fn delay_ns(&self) -> u64 {
        let end_ns = self.completed_ns.or(self.censored_at_ns).unwrap_or(self.at_ns);
        end_ns.saturating_sub(self.intended_ns)
    }

    /// The delay in ns as an observation: a lower bound if censored.
    pub fn delay(&self) -> Observation {
        let is_lower_bound = self.completed_ns.is_none();
        Observation { value: self.delay_ns() as f64, is_lower_bound }
    }
}

/// The delays of a high-rate probe over one interval of time, as an HdrHistogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistogramRecord {
    /// When the line was written, in ns from the start of the run.
    pub at_ns: u64,
    /// Intended starts from this time on are in the histogram.
    pub from_ns: u64,
    /// Intended starts before this time are in the histogram.
    pub to_ns: u64,
    /// Number of delays.
    pub count: u64,
    /// HdrHistogram V2 encoding of the delays in ns, in base64.
    pub hdr_v2_base64: String,
    /// Starts of this interval without completion at the end of the run; `None` if all completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub censored: Option<CensoredDelays>,
    /// Counters read before the interval.
    #[serde(deserialize_with = "crate::counters::sorted_set")]
    pub before: CounterSet,
    /// Counters read after the interval.
    #[serde(deserialize_with = "crate::counters::sorted_set")]
    pub after: CounterSet,
}

impl HistogramRecord {
    /// All delays in ns, to three significant digits: completed ones ascending, then lower bounds.
    /// Fails when a histogram is unreadable, or its count is wrong.
    pub fn delays_ns(&self) -> Result<Vec<Observation>, HistogramError> {
        let counts = [self.count, self.censored.as_ref().map_or(0, |it| it.count)];
        if let Some(many) = counts.into_iter().find(|count| *count > MOST_DELAYS) {
            return Err(HistogramError(format!(
                "the histogram claims to hold {many} delays, more than {MOST_DELAYS}"
            )));
        }
        let repeated = |(delay_ns, count, censored): (u64, u64, Option<Censored>)| {
            let delay = Observation { value: delay_ns as f64, is_lower_bound: censored.is_some() };
            std::iter::repeat_n(delay, count as usize)
        };
        Ok(self.counts()?.into_iter().flat_map(repeated).collect())
    }

    /// Whether [`Self::delays_ns`] fails, so that this interval's delays are unknown.
    pub fn is_unreadable(&self) -> bool {
        self.delays_ns().is_err()
    }

    /// Each delay or lower bound in ns with its count, and the reason of a bound, in no more
    /// memory than the histograms. Fails as [`Self::delays_ns`].
    pub fn counts(&self) -> Result<Vec<(u64, u64, Option<Censored>)>, HistogramError> {
        let completed = claimed_counts(&self.hdr_v2_base64, self.count)?;
        let mut counts: Vec<_> =
            completed.into_iter().map(|(delay_ns, count)| (delay_ns, count, None)).collect();
        if let Some(censored) = &self.censored {
            let bounds = claimed_counts(&censored.hdr_v2_base64, censored.count)?;
            let reason = Some(censored.reason);
            counts.extend(bounds.into_iter().map(|(bound_ns, count)| (bound_ns, count, reason)));
        }
        Ok(counts)
    }
}

/// The starts of a histogram's interval that never completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CensoredDelays {
    /// Why they did not complete.
    pub reason: Censored,
    /// Their number.
    pub count: u64,
    /// HdrHistogram V2 encoding of the lower bounds of their delays in ns, in base64.
    pub hdr_v2_base64: String,
}

/// One measurement: a value or its lower bound, which readers must handle explicitly.
///
/// In JSON a value is a number, and a bound an object: `{"at_least": 2.5}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The value, or the bound, in the unit of its response.
    pub value: f64,
    /// Whether the true value may be larger.
    pub is_lower_bound: bool,
}

impl Observation {
    /// A completely measured value.
    pub const fn exact(value: f64) -> Self {
        Self { value, is_lower_bound: false }
    }

    /// The printed prefix: `≥ ` for a lower bound, else nothing.
    pub const fn mark(&self) -> &'static str {
        if self.is_lower_bound { "≥ " } else { "" }
    }

    /// A value that is at least this.
    pub const fn at_least(value: f64) -> Self {
        Self { value, is_lower_bound: true }
    }
}

impl Serialize for Observation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_lower_bound {
            return serializer.serialize_f64(self.value);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("at_least", &self.value)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_number_and_a_bound_is_marked() {
        let both = [Observation::exact(1.5), Observation::at_least(2.5)];
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"[1.5,{"at_least":2.5}]"#);
    }
}
