//! What every measurement has around it: the observer, the header, the load from its start to its end.

use std::io::{self, Write};

use counters::Roots;
use model::{CounterRecord, Delivered, EndStatus, Header, Line, Measure, Missed, Phase};
use sys::clock::realtime_ns;

use crate::assignment::Assignment;
use crate::enter::Enter;
use crate::load_group::LoadGroup;
use crate::load_plan::LoadPlan;
use crate::observer::Observer;

/// Makes this process fit to observe: the observer must not wait for memory or a CPU with the
/// processes that it observes. Capabilities that are unavailable go to `missed`.
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
    let workload = load_plan.workload;
    let mut load = match LoadGroup::start(load_plan, &enter) {
        Ok(load) => load,
        Err(why) => {
            observer.output.death(format!("{} cannot start: {why}", workload.name))?;
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
        unit: workload.dose_unit.to_owned(),
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
