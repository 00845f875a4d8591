//! A load with its parameters for one subject.

use counters::SUMMED_TASKS_MAX;
use model::{LoadSpec, Missed};
use workloads::{Load, Plan, Setting, Workload};

use crate::assignment::Assignment;
use crate::error::AgentError;

/// A load with what it was resolved to for this subject.
pub(crate) struct LoadPlan {
    pub(crate) workload: &'static Workload,
    pub(crate) load: Load,
    pub(crate) setting: Setting,
    pub(crate) plan: Plan,
}

/// The subject as workloads see it.
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
    }
}

impl LoadPlan {
    /// Resolves a load; `kept_bytes` of the disk are for what is measured.
    pub(crate) fn new(
        assignment: &Assignment,
        workload: &'static Workload,
        kept_bytes: u64,
    ) -> Result<Self, AgentError> {
        let mut setting = setting(assignment);
        setting.free_disk_bytes = setting.free_disk_bytes.saturating_sub(kept_bytes);
        if setting.intensity == 0.0 && !workloads::may_have_no_dose(workload.name) {
            let why = "an intensity of 0 is for noload and for what provokes a condition";
            return Err(AgentError::Unsupported(why.to_owned()));
        }
        let not_a_load = || AgentError::Unsupported(format!("{} is no load", workload.name));
        let load = *workload.as_load().ok_or_else(not_a_load)?;
        let plan = (load.plan)(&setting).map_err(AgentError::Unsupported)?;
        Ok(Self { workload, load, setting, plan })
    }

    /// What is not counted of its workers, and why. What a single process lacks is reported where
    /// the prober's counters are opened.
    pub(crate) fn missed(&self) -> Option<Missed> {
        let workers = self.plan.workers;
        (workers > SUMMED_TASKS_MAX).then(|| Missed {
            capability: "load_task_stat".to_owned(),
            reason: format!(
                "the load has {workers} processes; only those of at most {SUMMED_TASKS_MAX} are \
                 read one by one"
            ),
        })
    }

    /// The load as the header has it.
    pub(crate) fn spec(&self, asked: &LoadSpec) -> LoadSpec {
        let params = self.plan.params.clone();
        LoadSpec { version: self.workload.version, params, ..asked.clone() }
    }
}
