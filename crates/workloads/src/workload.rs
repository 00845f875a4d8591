//! What every workload says of itself.

use crate::load::{Load, Progress};
use crate::param::{Number, Param, Value};
use crate::probe::Probe;

/// One workload: a row of [`crate::ALL`].
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Name on the command line, in run files and in the documents.
    pub name: &'static str,
    /// Version of its meaning; 1 unless it says otherwise.
    pub version: u32,
    /// One line for `--help`.
    pub about: &'static str,
    /// The parameters of a job; those of loads and probes follow from the subject.
    pub params: &'static [Param],
    /// What it counts, with units: totals of a load by slot, parts of a probe, numbers of a pass.
    pub measures: &'static [&'static str],
    /// Unit of the dose of a load (`busy_ns`, `cpu_ns`, `bytes`); empty without a dose.
    pub dose_unit: &'static str,
    /// Whether a load is in the state that is to be measured; all others tell that themselves.
    pub is_warm: fn(&Progress<'_>) -> bool,
    /// What it does.
    pub work: Work,
}

/// What kind of workload it is, and the functions of its kind.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Activity in the background.
    Load(Load),
    /// Activity in the background that causes a condition; runs only when it is asked for.
    Provocation(Load),
    /// An interaction that is timed.
    Probe(Probe),
    /// Work that is itself timed, as the agent does it.
    Job,
}

impl Workload {
    /// What a workload has unless it says otherwise.
    pub(crate) const fn new(work: Work) -> Self {
        Self {
            name: "",
            version: 1,
            about: "",
            params: &[],
            measures: &[],
            dose_unit: "",
            is_warm: |_| true,
            work,
        }
    }

    /// A parameter that can be set to a number.
    pub fn number(&self, name: &str) -> Option<&'static Number> {
        self.params.iter().find(|param| param.name == name).and_then(|param| match &param.value {
            Value::Number(number) => Some(number),
            Value::Choice(_) => None,
        })
    }

    /// The functions of a load or provocation.
    pub fn as_load(&self) -> Option<&Load> {
        match &self.work {
            Work::Load(load) | Work::Provocation(load) => Some(load),
            _ => None,
        }
    }

    /// The functions of a probe.
    pub fn as_probe(&self) -> Option<&Probe> {
        match &self.work {
            Work::Probe(probe) => Some(probe),
            _ => None,
        }
    }
}
