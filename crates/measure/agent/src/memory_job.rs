//! A run of a memory job: `vmtest` or `touch`.

use std::io::Write;

use jobs::{Backing, MemoryJob};
use model::units::format_size;
use model::{EndStatus, JobSpec, Measure, SubjectSpec};
use sys::clock::monotonic_ns;
use workloads::{Workload, find_job};

use crate::assignment::{AgentError, Assignment};
use crate::load::LoadPlan;
use crate::memory_group::MemoryGroup;
use crate::memory_measure::MemoryMeasuring;
use crate::observer::Observer;
use crate::output::Output;
use crate::page_policy;
use crate::waiter::{End, Waiter};

pub(crate) fn run(
    assignment: &Assignment,
    load: &'static Workload,
    asked: &JobSpec,
    out: impl Write,
) -> Result<EndStatus, AgentError> {
    let job = find_job(&asked.name);
    let job = job.ok_or_else(|| AgentError::Unknown("job", asked.name.clone()))?;
    let work = &MemoryJob::new(asked).map_err(AgentError::Job)?;
    let file_bytes = file_bytes(work);
    check_room(assignment, asked, work, file_bytes).map_err(AgentError::Job)?;
    let load = LoadPlan::new(assignment, load, file_bytes)?;
    let output = Output::new(out);
    // Before the first fork: from here on a stop request is never lost.
    let waiter = Waiter::new()?;
    let mut missed = Vec::new();
    // Before this process locks its memory, so that children have little to copy.
    let mut group = MemoryGroup::start(assignment, work, &mut missed)
        .map_err(|error| AgentError::Job(format!("start its processes: {error}")))?;
    let refused = page_policy::unavailable(work);
    missed.extend(refused.clone());
    let mut observer = Observer::new(assignment, output, waiter, None, missed);
    let measure = Measure::Memory(Box::new(JobSpec { version: job.version, ..asked.clone() }));
    observer.write_header(&load, measure, &[])?;
    let made = match refused {
        Some(missed) => {
            Err(End::Failed(format!("{} are not available: {}", missed.capability, missed.reason)))
        }
        None => {
            let until_ns = monotonic_ns().saturating_add(work.making_ns());
            group.make(&observer.waiter, until_ns)
        }
    };
    let status = match made {
        Ok(loops) => observer.under_load(&load, |observer, load, _| {
            MemoryMeasuring::new(observer, load, &mut group, work, loops).until_steady()
        })?,
        Err(end) => observer.not_ready(AgentError::Job, end)?,
    };
    drop(group);
    observer.output.end(status)?;
    Ok(status)
}

fn file_bytes(work: &MemoryJob) -> u64 {
    match work {
        MemoryJob::Touch(plan) if plan.backing == Backing::File => plan.footprint_bytes,
        _ => 0,
    }
}

/// Checks free disk and memory. Except on the host, the subject's limit protects the machine.
fn check_room(
    assignment: &Assignment,
    asked: &JobSpec,
    work: &MemoryJob,
    file_bytes: u64,
) -> Result<(), String> {
    let (need_bytes, free_bytes) = (work.need_bytes(), assignment.free_disk_bytes);
    if file_bytes > free_bytes {
        return Err(format!(
            "the file of the footprint needs {} of the disk and {} are free: take a smaller \
             footprint, or another disk with --work-dir",
            format_size(file_bytes),
            format_size(free_bytes)
        ));
    }
    let subject = &assignment.spec.subject;
    let memory_bytes = subject.memory_bytes();
    match subject {
        SubjectSpec::Host { .. } | SubjectSpec::Group(_) if need_bytes > memory_bytes => {
            Err(format!(
                "{} needs {} of memory and mem={} is what this host may spend: take less, or \
                 allow more with --subject {}:mem={}M",
                asked.name,
                format_size(need_bytes),
                format_size(memory_bytes),
                subject.kind(),
                need_bytes.div_ceil(1 << 20)
            ))
        }
        _ => Ok(()),
    }
}
