//! The simulated machine as it is typed, with what runs on it.

use clap::Args;
use experiment::typed::{Setting, setting};
use experiment::{CellPlan, SubjectArg, TimingChanges, TypedJob, is_parameter};
use model::{JobSpec, Measure, MmuSpec};

use crate::{Result, guests, wrong};

#[derive(Args)]
pub(super) struct SimulatorArgs {
    /// The machine: a name (thrashlab mmu machines) or a description (*.toml)
    #[arg(long, value_name = "NAME", default_value = "sparcstation1")]
    pub(super) machine: String,

    /// The system of a Sun-4: old, new, netbsd or linux [default: old]
    #[arg(long, value_name = "SYSTEM")]
    pub(super) hat: Option<String>,

    /// A setting of machine or system (victim=lru-visit), or a parameter of the program (loops=100)
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(super) set: Vec<Setting>,

    /// Guests or simulations at a time [default: one per CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl SimulatorArgs {
    pub(super) fn jobs(&self) -> usize {
        self.jobs.map_or_else(guests::cpus, usize::from)
    }

    /// The settings of a cell with this program, by their names in plans; `set` is `--set`, or what
    /// is left of it.
    pub(super) fn settings(&self, program: Option<&TypedJob>, set: &[Setting]) -> Vec<Setting> {
        let own = |name: &str, value: &String| (name.to_owned(), value.clone());
        let mut all = vec![own("subject", &"mmu".to_owned()), own("mmu.machine", &self.machine)];
        all.extend(program.into_iter().flat_map(TypedJob::in_plan));
        let job_of =
            |name: &str| program.filter(|job| job.has(name)).map_or("mmu", |job| &job.name);
        all.extend(set.iter().map(|(name, value)| match is_parameter(name) {
            true => own(name, value),
            false => own(&format!("{}.{name}", job_of(name)), value),
        }));
        all.extend(self.hat.iter().map(|hat| own("mmu.hat", hat)));
        all
    }
}

/// The simulated machine that settings describe, and their cell.
pub(super) fn machine(settings: &[Setting]) -> Result<(MmuSpec, CellPlan)> {
    let cell = CellPlan::typed(None, TimingChanges::default(), settings).map_err(wrong)?;
    match &cell.subject {
        Some(SubjectArg::Mmu(mmu)) => Ok((*mmu.clone(), cell)),
        _ => Err(wrong!("--set subject: it is a simulated machine")),
    }
}

/// The simulated machine and the program that settings describe.
pub(super) fn machine_and_program(settings: &[Setting]) -> Result<(MmuSpec, JobSpec)> {
    let (mmu, cell) = machine(settings)?;
    match cell.check().map_err(wrong)?.measure {
        Measure::Memory(job) => Ok((mmu, *job)),
        other => Err(wrong!("{} is not a program", other.name())),
    }
}
