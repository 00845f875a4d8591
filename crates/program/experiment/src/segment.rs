//! One run among those of a matrix or plan, as progress shows it.

use model::{BASELINE, CommandSpec, Measure, Spec, SubjectSpec, Timing};
use serde::Serialize;
use workloads::commands;

/// Time that starting and stopping a run takes, for the estimate, in ns.
const OVERHEAD_NS: u64 = 500_000_000;
/// Estimated time until memory work is steady, as a multiple of the measured time.
const TO_STEADY: u64 = 8;

/// One run of a matrix or plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// Its name in progress: the load, or the levels of its cell.
    pub label: String,
    /// Its seed.
    pub seed: u64,
    /// Number of interactions, or of commands of a job's first passes; 0 = unknown, since a memory
    /// job runs until it is steady.
    pub points: u32,
    /// What is counted: `points`, `commands` or `passes`.
    pub unit: &'static str,
    /// Longest planned time in ns, of a system that does not stall; 0 = simulated.
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

/// Unit and number of what progress counts: interactions of a probe, commands of a session's first
/// passes, passes of a memory job (number unknown in advance).
pub(crate) fn pieces(measure: &Measure, timing: &Timing) -> (u32, &'static str) {
    match measure {
        Measure::Probe(_) => (timing.points, "points"),
        Measure::Command(command) => (timed_commands(command), "commands"),
        Measure::Session(session) => (session.script.first_passes() as u32, "commands"),
        Measure::Memory(_) => (0, "passes"),
    }
}

/// How many commands of the user are timed; 0 = until their times are known.
fn timed_commands(job: &CommandSpec) -> u32 {
    let runs = job.runs();
    let passes = if runs == 0 { 0 } else { runs.saturating_add(job.warmup_runs()) };
    let all = passes.saturating_mul(commands(job).map_or(1, |all| all.len()) as u64);
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// Longest planned time of a run, in ns; one that stalls takes longer. A session is estimated at 1.5
/// times its think times.
pub(crate) fn longest_ns(measure: &Measure, timing: &Timing, load: &str) -> u64 {
    let warmup_ns = if load == BASELINE { 0 } else { timing.warmup_ns };
    let work_ns = match measure {
        Measure::Probe(_) => timing.interval_ns.saturating_mul(u64::from(timing.points)),
        // How long the user's commands take is not known.
        Measure::Command(_) => return 0,
        Measure::Session(session) => {
            let script = &session.script;
            let thinking_ns = script.think_ns.saturating_mul(script.commands.len() as u64);
            thinking_ns.saturating_add(thinking_ns / 2)
        }
        // The measured time, and several times that to become steady.
        Measure::Memory(job) => {
            let param = |name: &str| job.params.get(name).copied();
            let meant_ns = param("time").unwrap_or(0).saturating_mul(TO_STEADY);
            param("limit").map_or(meant_ns, |limit_ns| limit_ns.min(meant_ns))
        }
    };
    work_ns.saturating_add(warmup_ns).saturating_add(OVERHEAD_NS)
}
