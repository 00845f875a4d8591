//! A load resolved for one subject, and its workers.

use std::path::{Path, PathBuf};

use counters::{SUMMED_TASKS_MAX, TaskSum};
use model::{LoadSpec, SubjectSpec, Unavailable, Values};
use sys::clock::monotonic_ns;
use sys::process::{Exit, end, fork_child, wait};
use sys::shared_counters::SharedCounters;
use workloads::{Load, LoadVolume, Plan, Progress, Setting, Worker, Workload};

use crate::assignment::{AgentError, Assignment};
use crate::children::{enter_groups, prefer_as_oom_victim};

pub(crate) struct LoadPlan {
    pub(crate) workload: &'static Workload,
    pub(crate) load: Load,
    pub(crate) setting: Setting,
    pub(crate) plan: Plan,
}

pub(crate) fn setting(assignment: &Assignment) -> Setting {
    let spec = &assignment.spec;
    Setting {
        memory_bytes: spec.subject.memory_bytes(),
        cpus_milli: assignment.cpus_milli,
        swap_bytes: assignment.swap_bytes,
        work_dir: assignment.work_dir.clone(),
        free_disk_bytes: assignment.free_disk_bytes,
        queue_key: assignment.queue_key,
        interval_ns: spec.timing.interval_ns,
        seed: spec.seed,
        intensity: spec.load.intensity,
        is_confined: matches!(spec.subject, SubjectSpec::Vm(_) | SubjectSpec::Sandbox(_)),
    }
}

impl LoadPlan {
    /// Resolves a load; `kept_bytes` of the disk are reserved for what is measured.
    pub(crate) fn new(
        assignment: &Assignment,
        workload: &'static Workload,
        kept_bytes: u64,
    ) -> Result<Self, AgentError> {
        let mut setting = setting(assignment);
        setting.free_disk_bytes = setting.free_disk_bytes.saturating_sub(kept_bytes);
        if setting.intensity == 0.0 && !workloads::may_have_zero_volume(workload.name) {
            let why = "an intensity of 0 is for noload and for what provokes a condition";
            return Err(AgentError::Unsupported(why.to_owned()));
        }
        let not_a_load = || AgentError::Unsupported(format!("{} is not a load", workload.name));
        let load = *workload.as_load().ok_or_else(not_a_load)?;
        let plan = (load.plan)(&setting).map_err(AgentError::Unsupported)?;
        Ok(Self { workload, load, setting, plan })
    }

    /// Why the counters of its workers are unavailable: there are too many.
    pub(crate) fn missed(&self) -> Option<Unavailable> {
        let workers = self.plan.workers;
        (workers > SUMMED_TASKS_MAX).then(|| Unavailable {
            capability: "load_task_stat".to_owned(),
            reason: format!(
                "the load has {workers} processes; they are read one by one only up to \
                 {SUMMED_TASKS_MAX}"
            ),
        })
    }

    pub(crate) fn spec(&self, asked: &LoadSpec) -> LoadSpec {
        let params = self.plan.params.clone();
        LoadSpec { version: self.workload.version, params, ..asked.clone() }
    }
}

/// A running load. Dropping it kills and reaps all its workers.
pub(crate) struct LoadGroup<'a> {
    load: &'a LoadPlan,
    shared: SharedCounters,
    workers: Vec<(usize, u32)>,
    pub(crate) tasks: TaskSum,
    /// Totals and timestamp at the beginning of the reported span.
    span: (Vec<u64>, u64),
}

impl<'a> LoadGroup<'a> {
    pub(crate) fn start(load: &'a LoadPlan, enter: &[PathBuf]) -> Result<Self, String> {
        let (setting, plan) = (&load.setting, &load.plan);
        let shared = SharedCounters::new(plan.workers)
            .map_err(|error| format!("map the shared counters: {error}"))?;
        let span = (vec![0; load.workload.measures.len()], monotonic_ns());
        let mut group = Self { load, shared, workers: Vec::new(), tasks: TaskSum::default(), span };
        (load.load.prepare)(setting).map_err(|error| error.to_string())?;
        for number in 0..plan.workers {
            let shared = &group.shared;
            let pid = fork_child(|| {
                prefer_as_oom_victim();
                let message = match enter_groups(enter) {
                    Err(error) => error.to_string(),
                    Ok(()) => match (load.load.work)(&Worker { setting, plan, number, shared }) {
                        Err(error) => error.to_string(),
                        Ok(never) => match never {},
                    },
                };
                shared.fail(number, &message);
                1
            })
            .map_err(|error| format!("start worker {number}: {error}"))?;
            group.workers.push((number, pid));
        }
        let pids = group.workers.iter().map(|(_, pid)| *pid);
        group.tasks = TaskSum::open(Path::new("/proc"), pids);
        Ok(group)
    }

    /// Reaps workers that ended; returns the reason of the first.
    pub(crate) fn dead_worker(&mut self) -> Option<(String, Exit)> {
        let exit_of = |pid: u32| wait(pid, false).ok().flatten();
        let mut workers = self.workers.iter().enumerate();
        let (position, exit) =
            workers.find_map(|(position, (_, pid))| Some((position, exit_of(*pid)?)))?;
        let (worker, _) = self.workers.remove(position);
        let text = self.shared.failure(worker).unwrap_or_else(|| exit.to_string());
        Some((format!("worker {worker} of {}: {text}", self.load.workload.name), exit))
    }

    pub(crate) fn warm(&self) -> bool {
        let totals = self.totals();
        (self.load.workload.is_warm)(&self.progress(&totals, &totals))
    }

    pub(crate) fn begin_span(&mut self) {
        self.span = (self.totals(), monotonic_ns());
    }

    /// Load volume, elapsed ns, and totals by name since the span began.
    pub(crate) fn delivered(&self) -> (LoadVolume, u64, Values) {
        let now = self.totals();
        let span: Vec<u64> = now.iter().zip(&self.span.0).map(|(now, then)| now - then).collect();
        let progress = self.progress(&span, &now);
        ((self.load.load.volume)(&progress), progress.elapsed_ns, self.named(&span))
    }

    fn progress<'p>(&'p self, totals: &'p [u64], since_start: &'p [u64]) -> Progress<'p> {
        let LoadPlan { setting, plan, .. } = self.load;
        let elapsed_ns = monotonic_ns() - self.span.1;
        Progress { setting, plan, totals, since_start, elapsed_ns }
    }

    pub(crate) fn counters(&self) -> Values {
        self.named(&self.totals())
    }

    fn named(&self, totals: &[u64]) -> Values {
        let names = self.load.workload.measures.iter().map(|name| (*name).into());
        names.zip(totals.iter().copied()).collect()
    }

    fn totals(&self) -> Vec<u64> {
        (0..self.load.workload.measures.len()).map(|slot| self.shared.total(slot)).collect()
    }
}

impl Drop for LoadGroup<'_> {
    fn drop(&mut self) {
        let _ = end(self.workers.drain(..).map(|(_, pid)| pid));
        (self.load.load.finish)(&self.load.setting);
    }
}
