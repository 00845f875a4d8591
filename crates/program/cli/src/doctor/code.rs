//! The code behind findings: what their processes do, sampled for a short time after the diagnosis.

use std::path::Path;
use std::thread;
use std::time::Duration;

use agent::Waiter;
use doctor::{Activity, Code, Diagnosis, Finding, SampledCode};
use profile::{Part, SampledProfile};
use render::format::share;
use report::{OriginShare, lost_records, origin_shares};
use sampler::{FaultKind, Options, SWITCHES_HZ, SampledFaults, SamplerError, profile_processes};

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
        let threads: Vec<_> =
            with_processes.map(|finding| scope.spawn(move || name(finding, waiter))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()?.err()).next()
    });
    if let Some(refused) = refused {
        complain(&format!("thrashlab: the code behind findings is not known: {refused}"));
    }
}

/// Names the code of a finding, or why it is not known. Fails where sampling is not permitted.
fn name(finding: &mut Finding, waiter: &Waiter) -> Result<(), SamplerError> {
    finding.code = sampled(finding, waiter)?;
    Ok(())
}

fn sampled(finding: &Finding, waiter: &Waiter) -> Result<SampledCode, SamplerError> {
    let is_there = |pid: &u32| Path::new(&format!("/proc/{pid}")).exists();
    let pids = finding.processes.iter().copied().filter(is_there).take(MOST_PROCESSES);
    let pids: Vec<u32> = pids.collect();
    let activity = finding.activity();
    let faults = |kind| Some(SampledFaults { kind, frequency_hz: FAULTS_HZ });
    let (part, faults) = match activity {
        Activity::MinorFaults => (Part::Faults, faults(FaultKind::Minor)),
        Activity::MajorFaults => (Part::Faults, faults(FaultKind::Major)),
        Activity::CpuTime => (Part::OnCpu, None),
        Activity::Waits => (Part::Waits, None),
    };
    let options = Options {
        frequency_hz: FREQUENCY_HZ,
        switches_hz: Some(SWITCHES_HZ),
        faults,
        with_times: false,
    };
    if pids.is_empty() {
        return Ok(unknown("its processes have ended".to_owned()));
    }
    match profile_processes(&pids, SAMPLED, options, &|| waiter.stop_requested()) {
        Ok((profile, _)) => Ok(code_in(&profile, activity, part)),
        Err(error @ SamplerError::Refused { .. }) => Err(error),
        // They ended meanwhile.
        Err(error) => Ok(unknown(error.to_string())),
    }
}

/// The functions with most of an activity, or why they are not known.
fn code_in(profile: &SampledProfile, activity: Activity, part: Part) -> SampledCode {
    let shares = origin_shares(profile, part);
    let seen = match part {
        Part::Faults => profile.fault_samples,
        _ => shares.iter().map(|it| it.origin.seen).sum(),
    };
    if let Some(lost) = lost_records(profile) {
        return unknown(lost);
    }
    if seen < FEWEST_SAMPLES {
        let seconds = SAMPLED.as_secs();
        return unknown(format!("{seen} samples in {seconds} s are too few to name a function"));
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
    let code: Vec<Code> = named.map(code).collect();
    match code.is_empty() {
        true => unknown(format!("no function has {} of it", share(LEAST_SHARE))),
        false => SampledCode::Named { code },
    }
}

fn unknown(code_unknown: String) -> SampledCode {
    SampledCode::Unknown { code_unknown }
}
