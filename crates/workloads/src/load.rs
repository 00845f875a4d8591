//! What a load does, and what its functions get.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use sys::shared_counters::SharedCounters;

use crate::setting::{Endless, Plan, Setting, WorkloadError};

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
