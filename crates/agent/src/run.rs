//! One run from its assignment to its last line.

use std::io::{self, Write};

use counters::Roots;
use model::{CounterRecord, Delivered, EndStatus, Header, Line, Measure, Missed, Phase};
use probes::Rhythm;
use sys::clock::{monotonic_ns, realtime_ns};

use crate::assignment::Assignment;
use crate::enter::Enter;
use crate::freezer::Freezer;
use crate::load_group::LoadGroup;
use crate::measure::Measuring;
use crate::observer::{Counters, NotReady, Observer};
use crate::output::Output;
use crate::prober::Prober;
use crate::schedule::Schedule;
use crate::waiter::Waiter;

/// Rest between the start of the schedule and the first moment of it, in ns.
const BEGIN_LEAD_NS: u64 = 2_000_000;

/// A run that could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The spec names a load that this build does not have.
    #[error("no load is named {0:?}")]
    UnknownLoad(String),
    /// The spec names a probe that this build does not have.
    #[error("no probe is named {0:?}")]
    UnknownProbe(String),
    /// The spec names a job that this build does not have.
    #[error("no job is named {0:?}")]
    UnknownJob(String),
    /// The load cannot run on this subject.
    #[error("{0}")]
    Unsupported(String),
    /// The prober cannot be made.
    #[error("the probe cannot start: {0}")]
    Probe(String),
    /// The output is gone, or a process cannot be started.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Makes one run and writes its lines to `out`.
///
/// Takes the calling process for its observer: it must have a single thread.
///
/// # Errors
/// When nothing could be measured; whatever happens after the header is written is a line of the
/// run and not an error.
pub fn run(assignment: &Assignment, out: impl Write) -> Result<EndStatus, AgentError> {
    let spec = &assignment.spec;
    let load = loads::find(&spec.load.name)
        .ok_or_else(|| AgentError::UnknownLoad(spec.load.name.clone()))?;
    let probe_spec = match &spec.measure {
        Measure::Probe(probe) => probe,
        Measure::Job(job) => return Err(AgentError::UnknownJob(job.name.clone())),
    };
    let probe = probes::find(&probe_spec.name)
        .ok_or_else(|| AgentError::UnknownProbe(probe_spec.name.clone()))?;
    let mut setting = load_setting(assignment);
    let probe_setting = probes::Setting {
        memory_bytes: setting.memory_bytes,
        swap_bytes: setting.swap_bytes,
        interval_ns: spec.timing.interval_ns,
        work_dir: setting.work_dir.clone(),
        seed: setting.seed,
    };
    let probe_plan = (probe.plan)(&probe_setting);
    setting.free_disk_bytes = setting.free_disk_bytes.saturating_sub(probe_plan.disk_bytes);
    let load_plan = (load.plan)(&setting).map_err(|why| AgentError::Unsupported(why.0))?;
    let schedule = match probe.rhythm {
        Rhythm::Interval => Schedule::by_interval(&spec.timing),
        Rhythm::Periodic => {
            Schedule::by_period(&spec.timing, probe_plan.param("period_ns"), setting.seed)
        }
    };

    let mut output = Output::new(out);
    let enter = Enter { groups: &assignment.enter };
    // Before the first child: from here on a request to stop is never lost.
    let waiter = Waiter::new()?;
    let prober = Prober::start(probe, &probe_setting, &probe_plan, schedule.clone(), &enter)
        .map_err(|error| AgentError::Probe(format!("start its process: {error}")))?;
    let mut missed = assignment.missed.clone();
    if let Err(error) = sys::memory::lock_all() {
        missed.push(Missed {
            capability: "locked observer".to_owned(),
            reason: format!("mlockall: {error}: the observer itself may be swapped out"),
        });
    }
    if matches!(spec.subject, model::SubjectSpec::Vm(_))
        && let Err(error) = sys::process::become_urgent()
    {
        missed.push(Missed {
            capability: "urgent observer".to_owned(),
            reason: format!("sched_setscheduler: {error}: the load may hold up the observer"),
        });
    }
    let counters = Counters::open(assignment, prober.pid, &mut missed);
    let notes: Vec<&String> = load_plan.notes.iter().chain(&probe_plan.notes).collect();
    let header = header(assignment, load.version, &load_plan, probe.version, &probe_plan, missed);
    output.line(&Line::Header(Box::new(header)))?;
    for note in notes {
        output.warning(note)?;
    }
    let mut observer = Observer::new(assignment, output, waiter, counters, prober);
    let status = match observer.await_ready() {
        Ok(()) => under_load(&mut observer, load, &setting, &load_plan, probe, schedule)?,
        Err(NotReady::Stopped) => EndStatus::Interrupted,
        Err(NotReady::Failed(why)) => {
            observer.output.warning(format!("the probe cannot start: {why}"))?;
            observer.output.end(EndStatus::Killed)?;
            return Err(AgentError::Probe(why));
        }
    };
    observer.output.end(status)?;
    Ok(status)
}

/// Starts the load, waits for its warm state, measures, and stops it.
fn under_load(
    observer: &mut Observer<'_, impl Write>,
    desc: &'static loads::Desc,
    setting: &loads::Setting,
    plan: &loads::Plan,
    probe: &'static probes::Desc,
    schedule: Schedule,
) -> io::Result<EndStatus> {
    observer.output.phase(Phase::Warming)?;
    let enter = Enter { groups: &observer.assignment.enter };
    let mut load = match LoadGroup::start(desc, setting, plan, &enter) {
        Ok(load) => load,
        Err(why) => {
            observer.output.warning(format!("{} cannot start: {why}", desc.name))?;
            return Ok(EndStatus::LoadDied);
        }
    };
    if let Some(status) = observer.await_warm(&mut load)? {
        return Ok(status);
    }
    let set = observer.read_counters(&load);
    let at_ns = observer.output.now_ns();
    observer.output.line(&Line::Counters(Box::new(CounterRecord { at_ns, counters: set })))?;
    load.begin_span();
    observer.output.phase(Phase::Measuring)?;
    let origin_ns = monotonic_ns() + BEGIN_LEAD_NS;
    let freezer = observer
        .assignment
        .freeze
        .and_then(|freeze| Freezer::start(freeze, observer.prober.pid).ok());
    let status = match observer.prober.begin(origin_ns) {
        Ok(()) => Measuring { observer, load: &mut load, probe, origin_ns }.all(schedule)?,
        Err(_) => EndStatus::Killed,
    };
    drop(freezer);
    let (dose, elapsed_ns, totals) = load.delivered();
    drop(load);
    observer.output.phase(Phase::Stopped)?;
    let delivered = Delivered {
        at_ns: observer.output.now_ns(),
        unit: desc.dose_unit.to_owned(),
        intended: dose.intended,
        delivered: dose.delivered,
        elapsed_ns,
        totals,
    };
    observer.output.line(&Line::Delivered(delivered))?;
    Ok(status)
}

fn load_setting(assignment: &Assignment) -> loads::Setting {
    loads::Setting {
        memory_bytes: assignment.spec.subject.memory_bytes(),
        cpus_milli: assignment.cpus_milli,
        swap_bytes: assignment.swap_bytes,
        work_dir: assignment.work_dir.clone(),
        free_disk_bytes: assignment.free_disk_bytes,
        queue_key: assignment.queue_key,
        seed: assignment.spec.seed,
        intensity: assignment.spec.load.intensity,
    }
}

fn header(
    assignment: &Assignment,
    load_version: u32,
    load_plan: &loads::Plan,
    probe_version: u32,
    probe_plan: &probes::Plan,
    mut missed: Vec<Missed>,
) -> Header {
    let mut spec = assignment.spec.clone();
    spec.load.version = load_version;
    spec.load.params.clone_from(&load_plan.params);
    if let Measure::Probe(probe) = &mut spec.measure {
        probe.version = probe_version;
        probe.params.clone_from(&probe_plan.params);
    }
    let roots = Roots::system(Some(assignment.work_dir.clone()));
    let (mut facts, facts_missed) = counters::environment(&roots);
    facts.extend(assignment.environment.clone());
    missed.extend(facts_missed);
    Header {
        schema: model::SCHEMA,
        run_id: assignment.run_id.clone(),
        thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ns: realtime_ns(),
        spec,
        environment: facts,
        missed,
    }
}
