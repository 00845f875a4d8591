//! A run that times a probe.

use std::io::Write;

use model::{EndStatus, Line, Measure, ProbeSpec};
use workloads::Workload;

use crate::assignment::Assignment;
use crate::due::Due;
use crate::enter::Enter;
use crate::error::AgentError;
use crate::freezer::Freezer;
use crate::load_plan::{LoadPlan, setting};
use crate::measure::Measuring;
use crate::observer::{Counters, Observer};
use crate::output::Output;
use crate::prober::Prober;
use crate::schedule::Schedule;
use crate::under_load::{become_observer, header, under_load};
use crate::waiter::Waiter;

/// Makes the run.
///
/// # Errors
/// As [`crate::run`].
pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    workload: &'static Workload,
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let spec = &assignment.spec;
    let not_a_probe = || AgentError::Probe(format!("{} is no probe", workload.name));
    let probe = *workload.as_probe().ok_or_else(not_a_probe)?;
    let setting = setting(assignment);
    let plan = (probe.plan)(&setting);
    let load = LoadPlan::new(assignment, load, plan.disk_bytes)?;
    let schedule = Schedule::new(spec, probe.rhythm, &plan.params)
        .ok_or_else(|| AgentError::Probe("it has no period".to_owned()))?;

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
        name: workload.name.to_owned(),
        version: workload.version,
        params: plan.params.clone(),
    });
    output.line(&Line::Header(Box::new(header(assignment, &load, measure, missed))))?;
    for note in load.plan.notes.iter().chain(&plan.notes) {
        output.warning(note)?;
    }
    let mut observer = Observer::new(assignment, output, waiter, counters);
    let status = match prober.await_ready(&observer.waiter) {
        Ok(()) => under_load(&mut observer, &load, |observer, load, measuring_ns| {
            let freezer =
                assignment.freeze.and_then(|freeze| Freezer::start(freeze, prober.pid).ok());
            let due = Due::all(probe.rhythm, schedule, spec.timing.timeout_ns, measuring_ns);
            let (prober, rhythm) = (&mut prober, probe.rhythm);
            let measuring =
                Measuring { prober, observer, load, probe: workload, rhythm, due, before: None };
            let status = measuring.all();
            drop(freezer);
            status
        })?,
        Err(why) => observer.not_ready("the probe", why)?.map_err(AgentError::Probe)?,
    };
    observer.output.end(status)?;
    Ok(status)
}
