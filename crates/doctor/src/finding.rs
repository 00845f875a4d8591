//! What the doctor says of one condition.

use serde::{Deserialize, Serialize};

use crate::{Family, Interval, LostTime, Price, Verdict};

/// From this share of time lost on, a finding is a note.
pub(crate) const NOTE_SHARE: f64 = 0.01;
/// From so many events a second on (pages that are read again, allocations that stall) a condition
/// is found even if its price is unknown: at a disk's slowest, 10 ms each, they take a tenth of a
/// thread's time.
const UNPRICED_PER_S: f64 = 10.0;
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
    /// What it costs: time lost, out of the time of those that it affects.
    #[serde(flatten)]
    pub price: Price,
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
    /// The time lost to it, or what was lost at least; `None` if neither is known.
    #[must_use]
    pub fn lost(&self) -> Option<LostTime> {
        self.price.lost()
    }

    /// How much it matters. What is known as an upper bound only is never more than a note, and
    /// what has no price at all is a warning.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self.lost() {
            None => Severity::Warning,
            Some(lost) if lost.is_bound() => Severity::Note,
            Some(lost) if lost.share() >= SEVERE_SHARE => Severity::Severe,
            Some(lost) if lost.share() >= WARNING_SHARE => Severity::Warning,
            // What was lost at least may be much more.
            Some(_) if matches!(self.price, Price::Unknown { .. }) => Severity::Warning,
            Some(_) => Severity::Note,
        }
    }

    /// What findings are ranked by, the least first: those without a price before those with one,
    /// upper bounds last; among them by the time lost.
    #[must_use]
    pub fn rank(&self) -> impl Ord + use<> {
        let class = match &self.price {
            Price::Unknown { .. } => 0,
            Price::Known(lost) => 1 + u8::from(lost.is_bound()),
        };
        (class, std::cmp::Reverse(self.lost().map_or(0, |lost| lost.lost_ns())))
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

impl Finding {
    /// Found; but without any price only if every counter speaks for it and it comes often enough,
    /// else it cannot be told.
    pub(crate) fn verdict(self, interval: &Interval<'_>, events: f64) -> Verdict {
        let per_s = events * 1e9 / interval.elapsed_ns().max(1) as f64;
        match &self.price {
            Price::Unknown { price_unknown, at_least: None }
                if per_s < UNPRICED_PER_S || !self.confidence.is_unanimous() =>
            {
                Verdict::Unable(price_unknown.clone())
            }
            _ => Verdict::Found(vec![self]),
        }
    }
}

impl Confidence {
    /// Whether every counter that could be asked speaks for the finding.
    pub(crate) fn is_unanimous(self) -> bool {
        self.agreeing == self.asked
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
