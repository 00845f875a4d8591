//! Workloads, as programs and processes of a scene.

mod image;
mod mix;
mod touch;
mod trace;
mod vmtest;

use jobs::{MemoryJob, TouchPlan, VmtestPlan};

use super::program::Scene;
use super::setup::Setup;
pub use mix::{MIXES, Mix};
pub use trace::TraceProgram;

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Irlam's program.
    Vmtest(VmtestPlan),
    /// The general memory job.
    Touch(TouchPlan),
    /// A machine with several users.
    Mix(Mix),
    /// A recorded program.
    Trace(TraceProgram),
}

impl Workload {
    /// The workload of a memory job, or why it cannot be simulated.
    pub fn of_job(job: &MemoryJob) -> Result<Self, String> {
        match job {
            MemoryJob::Vmtest(plan) => {
                let most_bytes = vmtest::MOST_PROCESS_BYTES;
                if plan.process_bytes > most_bytes {
                    return Err(format!(
                        "process_size={} does not fit into a Sun-4's address space: at most \
                         {most_bytes} bytes",
                        plan.process_bytes
                    ));
                }
                if plan.step_bytes == 0 {
                    return Err("step=0 would never end: take 4096".to_owned());
                }
                Ok(Self::Vmtest(plan.clone()))
            }
            MemoryJob::Touch(plan) => touch::check(plan).map(|()| Self::Touch(plan.clone())),
        }
    }

    /// Its programs and processes; the seed determines all that is random.
    pub(crate) fn scene(&self, setup: &Setup, seed: u64) -> Scene {
        let scene = match self {
            Self::Vmtest(plan) => vmtest::scene(plan, setup),
            Self::Touch(plan) => touch::scene(plan, setup, seed),
            Self::Mix(mix) => mix::scene(mix, setup, seed),
            Self::Trace(program) => Ok(trace::scene(program, setup)),
        };
        // Checked when it was read.
        scene.unwrap_or_default()
    }
}
