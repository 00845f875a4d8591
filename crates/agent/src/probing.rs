//! A run that times a probe.

use std::io::Write;

use model::{EndStatus, Line, Measure, ProbeSpec};
use probes::Rhythm;
use sys::clock::monotonic_ns;

use crate::assignment::Assignment;
use crate::enter::Enter;
use crate::freezer::Freezer;
use crate::measure::Measuring;
use crate::observer::{Counters, Observer};
use crate::output::Output;
use crate::prober::{NotReady, Prober};
use crate::run::{AgentError, LoadPlan, become_observer, header, under_load};
use crate::schedule::Schedule;
use crate::waiter::Waiter;

/// Rest between the start of the schedule and the first moment of it, in ns.
const BEGIN_LEAD_NS: u64 = 2_000_000;

/// Makes the run.
///
/// # Errors
/// As [`crate::run`].
pub(crate) fn run(
    assignment: &Assignment,
    load: &'static loads::Desc,
    asked: &ProbeSpec,
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let spec = &assignment.spec;
    let probe =
        probes::find(&asked.name).ok_or_else(|| AgentError::UnknownProbe(asked.name.clone()))?;
    let setting = probes::Setting {
        memory_bytes: spec.subject.memory_bytes(),
        swap_bytes: assignment.swap_bytes,
        interval_ns: spec.timing.interval_ns,
        work_dir: assignment.work_dir.clone(),
        seed: spec.seed,
    };
    let plan = (probe.plan)(&setting);
    let load = LoadPlan::new(assignment, load, plan.disk_bytes)?;
    let schedule = match probe.rhythm {
        Rhythm::Interval => Schedule::by_interval(&spec.timing),
        Rhythm::Periodic => Schedule::by_period(&spec.timing, plan.param("period_ns"), spec.seed),
    };

    let mut output = Output::new(out);
    let enter = Enter { groups: &assignment.enter };
    // Before the first child: from here on a request to stop is never lost.
    let waiter = Waiter::new()?;
    let mut prober = Prober::start(probe, &setting, &plan, schedule.clone(), &enter)
        .map_err(|error| AgentError::Probe(format!("start its process: {error}")))?;
    let mut missed = assignment.missed.clone();
    become_observer(assignment, &mut missed);
    let counters = Counters::open(assignment, Some(prober.pid), &mut missed);
    let measure = Measure::Probe(ProbeSpec {
        name: asked.name.clone(),
        version: probe.version,
        params: plan.params.clone(),
    });
    output.line(&Line::Header(Box::new(header(assignment, &load, measure, missed))))?;
    for note in load.plan.notes.iter().chain(&plan.notes) {
        output.warning(note)?;
    }
    let mut observer = Observer::new(assignment, output, waiter, counters);
    let status = match prober.await_ready(&observer.waiter) {
        Ok(()) => under_load(&mut observer, &load, |observer, load| {
            let origin_ns = monotonic_ns() + BEGIN_LEAD_NS;
            let freezer =
                assignment.freeze.and_then(|freeze| Freezer::start(freeze, prober.pid).ok());
            let prober = &mut prober;
            let status = match prober.begin(origin_ns) {
                Ok(()) => Measuring { prober, observer, load, probe, origin_ns }.all(schedule),
                Err(_) => Ok(EndStatus::Killed),
            };
            drop(freezer);
            status
        })?,
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
