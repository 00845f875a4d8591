//! One run among those of a matrix or plan, as progress shows it.

use model::{BASELINE, Measure, Spec, SubjectSpec, Timing};
use serde::Serialize;

/// Time that starting and stopping a run takes, for the estimate, in ns.
const OVERHEAD_NS: u64 = 500_000_000;
/// How many times the measured time work on memory may take until it is steady.
const TO_STEADY: u64 = 8;

/// One run of a matrix or plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// What progress calls it: the load, or the levels of its cell.
    pub label: String,
    /// Its seed.
    pub seed: u64,
    /// How many interactions, or commands of a job's first passes; 0 = not known, since a memory job
    /// goes on until it is steady.
    pub points: u32,
    /// What is counted: `points`, `commands` or `passes`.
    pub unit: &'static str,
    /// Longest time that it is meant to take, in ns; 0 = it is simulated.
    pub longest_ns: u64,
}

impl Segment {
    pub(crate) fn new(label: String, spec: &Spec) -> Self {
        let (points, unit) = pieces(&spec.measure, &spec.timing);
        let longest_ns = match &spec.subject {
            SubjectSpec::Mmu(_) => 0,
            _ => longest_ns(&spec.measure, &spec.timing, &spec.load.name),
        };
        Self { label, seed: spec.seed, points, unit, longest_ns }
    }
}

/// What progress counts, and how many of them there are: the interactions of a probe, the commands
/// of a session's first passes, the passes of a memory job, whose number nobody knows before.
pub(crate) fn pieces(measure: &Measure, timing: &Timing) -> (u32, &'static str) {
    match measure {
        Measure::Probe(_) => (timing.points, "points"),
        Measure::Job(job) => match &job.script {
            Some(script) => (script.first_passes() as u32, "commands"),
            None => (0, "passes"),
        },
    }
}

/// Longest time that a run is meant to take, in ns. A session takes as long as it takes: the time
/// that its users think, half as much again for what they wait.
pub(crate) fn longest_ns(measure: &Measure, timing: &Timing, load: &str) -> u64 {
    let warmup_ns = if load == BASELINE { 0 } else { timing.warmup_ns };
    let work_ns = match measure {
        Measure::Probe(_) => timing.interval_ns.saturating_mul(u64::from(timing.points)),
        Measure::Job(job) => match &job.script {
            Some(script) => {
                let thinking_ns = script.think_ns.saturating_mul(script.commands.len() as u64);
                thinking_ns.saturating_add(thinking_ns / 2)
            }
            // Work on memory: the time that it measures, and several times that to become steady.
            None => {
                let of = |name: &str| job.params.get(name).copied();
                let meant_ns = of("time").unwrap_or(0).saturating_mul(TO_STEADY);
                of("limit").map_or(meant_ns, |limit_ns| limit_ns.min(meant_ns))
            }
        },
    };
    work_ns.saturating_add(warmup_ns).saturating_add(OVERHEAD_NS)
}
