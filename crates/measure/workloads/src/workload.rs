//! Workloads: their description, their functions, and the arguments of these.

use jobs::Param;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use sys::shared_counters::SharedCounters;

use crate::setting::{Endless, Plan, Setting, WorkloadError};

/// One workload: a row of [`crate::ALL`].
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Name on the command line, in run files and in the documents.
    pub name: &'static str,
    /// Version of its meaning, by default 1.
    pub version: u32,
    /// One line for `--help`.
    pub about: &'static str,
    /// The parameters of a job; those of loads and probes follow from the subject.
    pub params: &'static [Param],
    /// What it counts, with units: totals of a load by slot, parts of a probe, values of a pass.
    pub measures: &'static [&'static str],
    /// Unit of the load volume (`busy_ns`, `cpu_ns`, `bytes`); empty if it has none.
    pub volume_unit: &'static str,
    /// Whether a load has reached its measured state; probes and jobs decide that themselves.
    pub is_warm: fn(&Progress<'_>) -> bool,
    /// Its functions.
    pub work: Work,
}

/// The kind of a workload, and its functions.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Background activity.
    Load(Load),
    /// Background activity that causes a condition; runs only on request.
    Provocation(Load),
    /// Background activity that fills all memory; runs only on request, in a guest or a sandbox.
    Exhaustion(Load),
    /// A timed interaction.
    Probe(Probe),
    /// Work that is itself timed, by the agent.
    Job,
}

impl Workload {
    /// The defaults of a workload.
    pub(crate) const fn new(work: Work) -> Self {
        Self {
            name: "",
            version: 1,
            about: "",
            params: &[],
            measures: &[],
            volume_unit: "",
            is_warm: |_| true,
            work,
        }
    }

    /// The functions of a load, provocation or exhaustion.
    pub fn as_load(&self) -> Option<&Load> {
        match &self.work {
            Work::Load(load) | Work::Provocation(load) | Work::Exhaustion(load) => Some(load),
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
type Volumes = fn(&Progress<'_>) -> LoadVolume;

/// The functions of a load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Resolves the load for a subject. Fails with the reason it cannot run there.
    pub plan: Plans,
    /// Prepares what all workers share, before they are forked.
    pub prepare: fn(&Setting) -> Result<(), WorkloadError>,
    /// The work of one worker, in its own process, until it is killed.
    pub work: Works,
    /// Intended and delivered load volume during a progress.
    pub volume: Volumes,
    /// Removes what `prepare` created (files are removed with the work directory).
    pub finish: fn(&Setting),
}

impl Load {
    /// A load whose workers share nothing.
    pub(crate) const fn new(plan: Plans, work: Works, volume: Volumes) -> Self {
        Self { plan, prepare: |_| Ok(()), work, volume, finish: |_| () }
    }
}

/// The arguments of one worker.
pub struct Worker<'a> {
    /// The subject.
    pub setting: &'a Setting,
    /// The resolved load.
    pub plan: &'a Plan,
    /// Number of this worker, from 0.
    pub number: usize,
    /// Its counters.
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

/// Counts of the workers over a span of time.
pub struct Progress<'a> {
    /// The subject.
    pub setting: &'a Setting,
    /// The resolved load.
    pub plan: &'a Plan,
    /// Totals by slot during the span, summed over the workers.
    pub totals: &'a [u64],
    /// Totals since the start of the load.
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

    /// Load volume of processes busy for the share `duty_ppm`, or always; `slot` has their time.
    pub(crate) fn busy(&self, processes: u64, slot: usize) -> LoadVolume {
        let duty = self.plan.params.get("duty_ppm").map_or(1.0, |ppm| *ppm as f64 / 1e6);
        let intended = self.elapsed_ns as f64 * processes as f64 * duty;
        LoadVolume { intended: intended as u64, delivered: self.total(slot) }
    }
}

/// A load volume, in the load's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadVolume {
    /// Intended volume.
    pub intended: u64,
    /// Delivered volume.
    pub delivered: u64,
}

/// Most separately timed parts of a probe.
pub const MAX_PARTS: usize = 8;

/// The functions of a probe, which runs in its own process inside the subject, on a fixed schedule
/// (open loop): a delay counts from the *intended* start.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// How often it interacts.
    pub rhythm: Rhythm,
    /// Its parameters for a subject, with notes where the subject forced another choice.
    pub plan: fn(&Setting) -> Plan,
    /// Prepares the probe in its own process; after that it waits for its schedule.
    pub make: fn(&Setting, &Plan) -> ProbeResult,
}

pub(crate) type ProbeResult = Result<Box<dyn Interaction>, WorkloadError>;

/// How often a probe interacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// Once per interval of the run; every interaction is one sample.
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
