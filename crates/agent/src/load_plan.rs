//! A load with its parameters for one subject.

use counters::SUMMED_TASKS_MAX;
use model::{LoadSpec, Missed};

use crate::assignment::Assignment;
use crate::error::AgentError;

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

    /// The load as the header tells it.
    pub(crate) fn spec(&self, asked: &LoadSpec) -> LoadSpec {
        let params = self.plan.params.clone();
        LoadSpec { version: self.desc.version, params, ..asked.clone() }
    }
}
