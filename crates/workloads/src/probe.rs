//! A probe and its functions. It runs in a process of its own inside the subject, on a schedule
//! that is fixed before (open loop): a delay counts from the *intended* start.

use crate::setting::{Plan, Setting, WorkloadError};

/// Most parts that a probe may time by itself.
pub const MAX_PARTS: usize = 8;

/// The functions of a probe.
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
