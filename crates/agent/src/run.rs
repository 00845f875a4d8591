//! One run from its assignment to its last line.

use std::io::{self, Write};

use counters::{Roots, SUMMED_TASKS_MAX};
use model::{CounterRecord, Delivered, EndStatus, Header, Line, LoadSpec, Measure, Missed, Phase};
use sys::clock::realtime_ns;

use crate::assignment::Assignment;
use crate::enter::Enter;
use crate::load_group::LoadGroup;
use crate::observer::Observer;
use crate::{job, probing};

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
    /// The job cannot be done on this subject.
    #[error("the job cannot start: {0}")]
    Job(String),
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
    match &spec.measure {
        Measure::Probe(probe) => probing::run(assignment, load, probe, out),
        Measure::Job(spec) => job::run(assignment, load, spec, out),
    }
}

/// A load with what it was resolved to for this subject.
pub(crate) struct LoadPlan {
    pub(crate) desc: &'static loads::Desc,
    pub(crate) setting: loads::Setting,
    pub(crate) plan: loads::Plan,
}

impl LoadPlan {
    /// Resolves a load; `kept_bytes` of the disk are somebody else's.
    pub(crate) fn new(
        assignment: &Assignment,
        desc: &'static loads::Desc,
        kept_bytes: u64,
    ) -> Result<Self, AgentError> {
        let setting = loads::Setting {
            memory_bytes: assignment.spec.subject.memory_bytes(),
            cpus_milli: assignment.cpus_milli,
            swap_bytes: assignment.swap_bytes,
            work_dir: assignment.work_dir.clone(),
            free_disk_bytes: assignment.free_disk_bytes.saturating_sub(kept_bytes),
            queue_key: assignment.queue_key,
            seed: assignment.spec.seed,
            intensity: assignment.spec.load.intensity,
        };
        if setting.intensity == 0.0 && !loads::may_have_no_dose(desc.name) {
            let why = "an intensity of 0 is for noload and for what provokes a condition";
            return Err(AgentError::Unsupported(why.to_owned()));
        }
        let plan = (desc.plan)(&setting).map_err(|why| AgentError::Unsupported(why.0))?;
        Ok(Self { desc, setting, plan })
    }

    /// What is not counted of its workers, and why. What a single process lacks is told where the
    /// prober's counters are opened.
    fn missed(&self) -> Option<Missed> {
        let workers = self.plan.workers;
        (workers > SUMMED_TASKS_MAX).then(|| Missed {
            capability: "load_task_stat".to_owned(),
            reason: format!(
                "the load has {workers} processes; only those of at most {SUMMED_TASKS_MAX} are \
                 read one by one"
            ),
        })
    }

    /// The load as the header tells it.
    fn spec(&self, asked: &LoadSpec) -> LoadSpec {
        let params = self.plan.params.clone();
        LoadSpec { version: self.desc.version, params, ..asked.clone() }
    }
}

/// Makes this process fit to observe: whoever watches must not share the misery of the watched.
/// What is not to be had goes to `missed`.
pub(crate) fn become_observer(assignment: &Assignment, missed: &mut Vec<Missed>) {
    if let Err(error) = sys::memory::lock_all() {
        missed.push(Missed {
            capability: "locked observer".to_owned(),
            reason: format!("mlockall: {error}: the observer itself may be swapped out"),
        });
    }
    if matches!(assignment.spec.subject, model::SubjectSpec::Vm(_))
        && let Err(error) = sys::process::become_urgent()
    {
        missed.push(Missed {
            capability: "urgent observer".to_owned(),
            reason: format!("sched_setscheduler: {error}: the load may hold up the observer"),
        });
    }
}

/// The first line of a run.
pub(crate) fn header(
    assignment: &Assignment,
    load: &LoadPlan,
    measure: Measure,
    mut missed: Vec<Missed>,
) -> Header {
    let mut spec = assignment.spec.clone();
    spec.load = load.spec(&spec.load);
    spec.measure = measure;
    let roots = Roots::system(Some(assignment.work_dir.clone()));
    let (mut facts, facts_missed) = counters::environment(&roots);
    facts.extend(assignment.environment.clone());
    missed.extend(facts_missed);
    missed.extend(load.missed());
    Header {
        schema: assignment.spec.subject.schema(),
        run_id: assignment.run_id.clone(),
        thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ns: realtime_ns(),
        spec,
        environment: facts,
        missed,
    }
}

/// Starts the load, waits for its warm state, measures, and stops it. `measure` gets the time of
/// the line that opens the measuring phase, in ns from the start of the run.
pub(crate) fn under_load<'a, W: Write>(
    observer: &mut Observer<'a, W>,
    load_plan: &LoadPlan,
    measure: impl FnOnce(&mut Observer<'a, W>, &mut LoadGroup<'_>, u64) -> io::Result<EndStatus>,
) -> io::Result<EndStatus> {
    observer.output.phase(Phase::Warming)?;
    let enter = Enter { groups: &observer.assignment.enter };
    let desc = load_plan.desc;
    let mut load = match LoadGroup::start(desc, &load_plan.setting, &load_plan.plan, &enter) {
        Ok(load) => load,
        Err(why) => {
            observer.output.death(format!("{} cannot start: {why}", desc.name))?;
            return Ok(EndStatus::LoadDied);
        }
    };
    if let Some(status) = observer.await_warm(&mut load)? {
        return Ok(status);
    }
    observer.write_counters(&mut load)?;
    load.begin_span();
    let measuring_ns = observer.output.phase(Phase::Measuring)?;
    let status = measure(observer, &mut load, measuring_ns)?;
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

impl<W: Write> Observer<'_, W> {
    /// Writes all counters of this moment, outside any sample.
    pub(crate) fn write_counters(&mut self, load: &mut LoadGroup<'_>) -> io::Result<()> {
        let counters = self.read_counters(load);
        let at_ns = self.output.now_ns();
        self.output.line(&Line::Counters(Box::new(CounterRecord { at_ns, counters })))
    }
}
