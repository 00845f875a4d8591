//! What the doctor says of one condition.

use serde::{Deserialize, Serialize};

use crate::{Evidence, Family, LostTime, Price};

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
