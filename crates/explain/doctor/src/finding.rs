//! What the doctor reports about one condition, and the counters that support it.

use serde::{Deserialize, Serialize};

use crate::lost_time::{LOST_SHARE, LostTime, Price};

/// Share of time lost from which a finding is severe.
const SEVERE_SHARE: f64 = 0.20;

/// A condition that costs time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// Kind of trouble.
    pub family: Family,
    /// Affected machine, group or process.
    pub scope: Scope,
    /// The condition as a sentence with figures.
    pub condition: String,
    /// Its cost.
    #[serde(flatten)]
    pub price: Price,
    /// How many independent counters support it.
    pub confidence: Confidence,
    /// The counters, their values and thresholds.
    pub evidence: Vec<Evidence>,
    /// The gain without the condition, where it can be computed.
    pub counterfactual: Option<String>,
    /// What to do.
    pub remedy: String,
    /// The command that confirms it.
    pub confirm: String,
    /// The processes that lose most by it, the largest loss first; empty if they are not known.
    #[serde(skip)]
    pub processes: Vec<u32>,
    /// The code that it comes from, which is sampled afterwards.
    #[serde(flatten)]
    pub code: SampledCode,
}

/// The code of the processes of a finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SampledCode {
    /// It was not sampled.
    #[default]
    NotSampled,
    /// The functions, the largest share first.
    Named {
        /// The functions.
        code: Vec<Code>,
    },
    /// It was sampled, but names no function.
    Unknown {
        /// Why not.
        code_unknown: String,
    },
}

/// What the code of a process is sampled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// Page faults that need no device.
    MinorFaults,
    /// Page faults that read from a device.
    MajorFaults,
    /// Executing.
    CpuTime,
    /// Waiting for something else than a CPU.
    Waits,
}

/// Code that a finding comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Code {
    /// What it does.
    pub activity: Activity,
    /// Its share of that activity of the sampled processes.
    pub share: f64,
    /// The interval of 95 % of the share; `None` if the share is exact.
    pub interval: Option<(f64, f64)>,
    /// The function.
    pub function: String,
    /// The program's function that called it, if it has a name.
    pub caller: Option<String>,
    /// Whether what happens in the kernel could not be seen.
    pub is_outside_kernel: bool,
}

impl Finding {
    /// Adds a counter for information only, if available.
    pub(crate) fn notes(self, counter: impl Into<String>, value: impl Into<Option<f64>>) -> Self {
        self.speaks(counter, value, None)
    }

    /// Adds a counter that supports it from a threshold on, if available; without a threshold it
    /// is for information only.
    pub(crate) fn speaks(
        mut self,
        counter: impl Into<String>,
        value: impl Into<Option<f64>>,
        threshold: impl Into<Option<f64>>,
    ) -> Self {
        let (counter, threshold) = (counter.into(), threshold.into());
        let Some(value) = value.into() else { return self };
        self.confidence.asked += usize::from(threshold.is_some());
        self.confidence.agreeing += usize::from(threshold.is_some_and(|least| value >= least));
        self.evidence.push(Evidence { counter, value, threshold });
        self
    }

    /// Whether every available counter supports it.
    pub(crate) fn is_unanimous(&self) -> bool {
        self.confidence.agreeing == self.confidence.asked
    }

    /// Adds the lost time as evidence. A lower bound below the share does not contradict it.
    pub(crate) fn lost_from(self, least_share: f64) -> Self {
        let share = self.lost().map(|lost| lost.lost_share);
        match self.price {
            Price::Known(_) => self.speaks("share of time lost", share, least_share),
            Price::Unknown { .. } => self.speaks(
                "share of time with at least one thread waiting (PSI some)",
                share.filter(|share| *share >= least_share),
                least_share,
            ),
        }
    }

    /// What the code of its processes is sampled for.
    pub fn activity(&self) -> Activity {
        match self.family {
            Family::Faults => Activity::MinorFaults,
            Family::Reclaim => Activity::MajorFaults,
            Family::Translation | Family::Compaction | Family::Cpu => Activity::CpuTime,
            Family::Writeback | Family::Locks => Activity::Waits,
        }
    }

    /// The time lost to it, or its lower bound; `None` if neither is known.
    pub fn lost(&self) -> Option<LostTime> {
        self.price.lost()
    }

    /// The severity: for an upper bound at most a note, without a price a warning.
    pub fn severity(&self) -> Severity {
        match self.lost() {
            None => Severity::Warning,
            Some(lost) if lost.is_bound => Severity::Note,
            Some(lost) if lost.lost_share >= SEVERE_SHARE => Severity::Severe,
            Some(lost) if lost.lost_share >= LOST_SHARE => Severity::Warning,
            // A lower bound: the loss may be much more.
            Some(_) if matches!(self.price, Price::Unknown { .. }) => Severity::Warning,
            Some(_) => Severity::Note,
        }
    }

    /// The sort key: findings without a price first, upper bounds last, then by lost time.
    pub fn rank(&self) -> impl Ord + use<> {
        let class = match &self.price {
            Price::Unknown { .. } => 0,
            Price::Known(lost) => 1 + u8::from(lost.is_bound),
        };
        (class, std::cmp::Reverse(self.lost().map_or(0, |lost| lost.lost_ns)))
    }
}

/// Kinds of trouble. A machine with one finding may show others of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Pages are evicted and come back.
    Reclaim,
    /// Pages are written back faster than the device takes them.
    Writeback,
    /// Faults that need no device: first touches, copies, maps.
    Faults,
    /// Page tables and their copies in hardware.
    Translation,
    /// Physical memory is moved.
    Compaction,
    /// Others get the CPU.
    Cpu,
    /// Others have a lock.
    Locks,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// At least 1 % of the time is lost.
    Note,
    /// At least 5 %.
    Warning,
    /// At least 20 %.
    Severe,
}

/// What a finding affects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The whole machine.
    Machine,
    /// A control group, by path.
    Group(String),
    /// One process.
    Process {
        /// Process id.
        pid: u32,
        /// Name.
        name: String,
    },
}

/// How many independent counters support a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Confidence {
    /// Counters beyond their threshold.
    pub agreeing: usize,
    /// Available counters.
    pub asked: usize,
}

/// One counter that supports or contradicts a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The counter or figure, with its source and unit (`memcg/workingset_refault_file per s`).
    pub counter: String,
    /// Its value.
    pub value: f64,
    /// The value from which it supports the finding; `None`: for information only.
    pub threshold: Option<f64>,
}
