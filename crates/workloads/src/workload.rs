//! What a workload is, what it does, and what its functions get.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use sys::shared_counters::SharedCounters;

use crate::param::{Number, Param, Value};
use crate::setting::{Endless, Plan, Setting, WorkloadError};

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

type Plans = fn(&Setting) -> Result<Plan, String>;
type Works = fn(&Worker<'_>) -> Endless;
type Doses = fn(&Progress<'_>) -> Dose;

/// The functions of a load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Resolves the load for a subject, or says why it cannot run there.
    pub plan: Plans,
    /// Makes what all workers share, before they are forked.
    pub prepare: fn(&Setting) -> Result<(), WorkloadError>,
    /// The work of one worker, in its own process, until it is killed.
    pub work: Works,
    /// What was intended and delivered over the time of a progress.
    pub dose: Doses,
    /// Removes what `prepare` made (files are removed with the work directory).
    pub finish: fn(&Setting),
}

impl Load {
    /// A load whose workers share nothing.
    pub(crate) const fn new(plan: Plans, work: Works, dose: Doses) -> Self {
        Self { plan, prepare: |_| Ok(()), work, dose, finish: |_| () }
    }
}

/// What one worker gets.
pub struct Worker<'a> {
    /// The subject.
    pub setting: &'a Setting,
    /// The resolved load.
    pub plan: &'a Plan,
    /// Number of this worker, from 0.
    pub number: usize,
    /// Where it counts.
    pub shared: &'a SharedCounters,
}

impl Worker<'_> {
    pub(crate) fn add(&self, slot: usize, amount: u64) {
        self.shared.add(self.number, slot, amount);
    }

    pub(crate) fn random(&self) -> Pcg64Mcg {
        Pcg64Mcg::seed_from_u64(self.setting.seed ^ self.number as u64)
    }
}

/// What the workers counted over a span of time.
pub struct Progress<'a> {
    /// The subject.
    pub setting: &'a Setting,
    /// The resolved load.
    pub plan: &'a Plan,
    /// Totals by slot, summed over the workers: what was counted during the span.
    pub totals: &'a [u64],
    /// The same since the load was started.
    pub since_start: &'a [u64],
    /// Length of the span in ns.
    pub elapsed_ns: u64,
}

impl Progress<'_> {
    pub(crate) fn total(&self, slot: usize) -> u64 {
        self.totals.get(slot).copied().unwrap_or(0)
    }

    pub(crate) fn since_start(&self, slot: usize) -> u64 {
        self.since_start.get(slot).copied().unwrap_or(0)
    }

    /// The volume of processes busy for the share `duty_ppm`, or always; `slot` has their time.
    pub(crate) fn busy(&self, processes: u64, slot: usize) -> Dose {
        let duty = self.plan.params.get("duty_ppm").map_or(1.0, |ppm| *ppm as f64 / 1e6);
        let intended = self.elapsed_ns as f64 * processes as f64 * duty;
        Dose { intended: intended as u64, delivered: self.total(slot) }
    }
}

/// An amount of load, in the load's dose unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dose {
    /// What was intended.
    pub intended: u64,
    /// What was delivered.
    pub delivered: u64,
}

/// Most parts that a probe may time by itself.
pub const MAX_PARTS: usize = 8;

/// The functions of a probe, which runs in a process of its own inside the subject, on a schedule
/// that is fixed before (open loop): a delay counts from the *intended* start.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// How often it interacts.
    pub rhythm: Rhythm,
    /// Its parameters for a subject, and where the subject forced another choice.
    pub plan: fn(&Setting) -> Plan,
    /// Makes the probe ready, in its own process: from now on it waits for its schedule.
    pub make: fn(&Setting, &Plan) -> Made,
}

pub(crate) type Made = Result<Box<dyn Interaction>, WorkloadError>;

/// How often a probe interacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// Once in each interval of the run; every interaction is a sample of its own.
    Interval,
    /// Every `period_ns` (a parameter); the delays are kept in histograms.
    Periodic,
}

/// Durations of parts of one interaction, in ns, in the order of [`crate::Workload::measures`].
pub type Parts = [u64; MAX_PARTS];

/// One small interaction.
pub trait Interaction {
    /// Does the interaction; this call is the timed region.
    fn interact(&mut self, parts: &mut Parts) -> Result<(), WorkloadError>;

    /// Cleans up after an interaction, outside the timed region.
    fn settle(&mut self) {}
}
