//! What the doctor says of one condition.

use serde::{Deserialize, Serialize};

use crate::Family;

/// From this share of time lost on, a finding is a note.
pub(crate) const NOTE_SHARE: f64 = 0.01;
/// From this share on it is a warning.
const WARNING_SHARE: f64 = 0.05;
/// From this share on it is severe.
const SEVERE_SHARE: f64 = 0.20;

/// A condition that costs time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// What kind of trouble it is.
    pub family: Family,
    /// Whom it affects.
    pub scope: Scope,
    /// The condition, in a sentence with its figures.
    pub condition: String,
    /// Time lost to it in the interval, in ns, summed over those that it affects.
    pub lost_ns: u64,
    /// Time lost as a share of the time of those that it affects (0 to 1).
    pub lost_share: f64,
    /// Whether the time lost is an upper bound, which no counter here can narrow: never more than a
    /// note, and ranked behind what is known.
    pub is_bound: bool,
    /// How many independent counters speak for it.
    pub confidence: Confidence,
    /// The counters, their values and thresholds.
    pub evidence: Vec<Evidence>,
    /// What would be, where it can be computed.
    pub counterfactual: Option<String>,
    /// What to do.
    pub remedy: String,
    /// The command that confirms it.
    pub confirm: String,
}

impl Finding {
    /// How much it matters.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self.lost_share {
            _ if self.is_bound => Severity::Note,
            share if share >= SEVERE_SHARE => Severity::Severe,
            share if share >= WARNING_SHARE => Severity::Warning,
            _ => Severity::Note,
        }
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// From 1 % of the time lost.
    Note,
    /// From 5 %.
    Warning,
    /// From 20 %.
    Severe,
}

/// Whom a finding affects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The whole machine.
    Machine,
    /// A control group, by path.
    Group(String),
    /// One process.
    Process {
        /// Its number.
        pid: u32,
        /// Its name.
        name: String,
    },
}

/// How many independent counters speak for a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Confidence {
    /// Counters beyond their threshold.
    pub agreeing: usize,
    /// Counters that could be asked.
    pub asked: usize,
}

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

/// How many of the counters with a threshold are beyond it.
impl From<&[Evidence]> for Confidence {
    fn from(evidence: &[Evidence]) -> Self {
        let asked = evidence.iter().filter(|line| line.threshold.is_some()).count();
        let agrees = |line: &&Evidence| line.threshold.is_some_and(|least| line.value >= least);
        Self { agreeing: evidence.iter().filter(agrees).count(), asked }
    }
}
