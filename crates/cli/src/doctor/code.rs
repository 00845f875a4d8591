//! The code behind findings: what their processes do, sampled for a short time after the diagnosis.

use std::path::Path;
use std::thread;
use std::time::Duration;

use agent::Waiter;
use doctor::{Activity, Code, Diagnosis, Finding};
use profile::Part;
use report::{OriginShare, origin_shares};
use sampler::{FaultKind, Options, SampledFaults, SamplerError, profile_processes};

use crate::complain;

/// How long processes are sampled.
const SAMPLED: Duration = Duration::from_secs(2);
/// Samples a second: a fraction of a per cent of a CPU.
const FREQUENCY_HZ: u64 = 199;
/// Samples of page faults per second.
const FAULTS_HZ: u64 = 997;
/// Most processes of a finding that are sampled, those that lose most.
const MOST_PROCESSES: usize = 4;
/// Most functions that are named, each with at least this share.
const MOST_NAMED: usize = 3;
const LEAST_SHARE: f64 = 0.1;
/// The fewest samples that name anything.
const FEWEST_SAMPLES: u64 = 20;

/// Adds the code to the first findings about processes. What is not permitted is reported once.
pub(super) fn add(found: &mut Diagnosis, most: usize, waiter: &Waiter) {
    let with_processes = found.findings.iter_mut().take(most).filter(|it| !it.processes.is_empty());
    let refused = thread::scope(|scope| {
        let sample = |finding| scope.spawn(move || sampled(finding, waiter));
        let threads: Vec<_> = with_processes.map(sample).collect();
        let errors: Vec<_> =
            threads.into_iter().filter_map(|thread| thread.join().ok()?.err()).collect();
        // A process may have ended meanwhile.
        errors.into_iter().find(|error| matches!(error, SamplerError::Refused { .. }))
    });
    if let Some(refused) = refused {
        complain(&format!("thrashlab: the code behind findings is not known: {refused}"));
    }
}

/// Samples the processes of a finding. Fails where that is not permitted.
fn sampled(finding: &mut Finding, waiter: &Waiter) -> Result<(), SamplerError> {
    let is_there = |pid: &u32| Path::new(&format!("/proc/{pid}")).exists();
    let pids = finding.processes.iter().copied().filter(is_there).take(MOST_PROCESSES);
    let pids: Vec<u32> = pids.collect();
    if pids.is_empty() {
        return Ok(());
    }
    let activity = finding.activity();
    let faults = |kind| Some(SampledFaults { kind, frequency_hz: FAULTS_HZ });
    let (part, faults) = match activity {
        Activity::MinorFaults => (Part::Faults, faults(FaultKind::Minor)),
        Activity::MajorFaults => (Part::Faults, faults(FaultKind::Major)),
        Activity::CpuTime => (Part::OnCpu, None),
        Activity::Waits => (Part::Waits, None),
    };
    let options = Options { frequency_hz: FREQUENCY_HZ, faults };
    let (profile, _) = profile_processes(&pids, SAMPLED, options, &|| waiter.stop_requested())?;
    let shares = origin_shares(&profile, part);
    let seen = match part {
        Part::Faults => profile.fault_samples,
        _ => shares.iter().map(|it| it.origin.seen).sum(),
    };
    if profile.is_incomplete() || seen < FEWEST_SAMPLES {
        return Ok(());
    }
    let code = |OriginShare { origin, share, interval }| Code {
        activity,
        share,
        interval,
        function: origin.function,
        caller: origin.caller,
        is_outside_kernel: profile.is_outside_kernel,
    };
    let is_named = |it: &OriginShare| it.origin.is_known() && it.share >= LEAST_SHARE;
    let named = shares.into_iter().filter(is_named).take(MOST_NAMED);
    finding.code = named.map(code).collect();
    Ok(())
}
