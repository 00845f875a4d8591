//! `thrashlab mmu whatif`: every remedy for a workload, alone and together.

use clap::Args;
use experiment::typed::{Seeds, seeds};
use experiment::{in_parallel, size_of};
use jobs::MemoryJob;
use model::JobSpec;
use model::units::format_size;
use report::{WhatIfView, whatif_document};
use sun4::{Setup, WhatIf, Workload, simulate};

use super::simulator::SimulatorArgs;
use super::work::Work;
use super::{place, simulator};
use crate::output::{OutputArgs, show};
use crate::{Result, wrong};

const EXAMPLES: &str = "\
Examples:
  thrashlab mmu whatif --machine sparcstation1 vmtest:24M
  thrashlab mmu whatif xterms
  thrashlab mmu whatif vmtest:process_size=4M,size=24M --set contexts=16 \\
      --seeds 20 --json

What each remedy is: docs/mmu.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WhatifArgs {
    /// The program: vmtest:24M, vmtest:process_size=4M,size=24M; a mix of several users: xterms,
    /// shells, lisp, database or a description (*.toml); or a trace
    program: String,

    #[command(flatten)]
    sim: SimulatorArgs,

    /// Seeds: 10 (1 to 10), 3..7 or 1,2,7
    #[arg(long, value_name = "SEEDS", default_value = "10", value_parser = seeds)]
    seeds: Seeds,

    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn whatif(args: &WhatifArgs) -> Result<()> {
    let mut settings = args.sim.set.clone();
    let (mmu, name, workload) = match Work::find(&args.program, &mut settings)? {
        Work::Program(program) => {
            let settings = args.sim.settings(Some(&program), &settings);
            let (mmu, job) = simulator::machine_and_program(&settings)?;
            let (name, workload) = of_size(&job).map_err(wrong)?;
            (mmu, name, workload)
        }
        Work::Whole(whole) => {
            let (mmu, _) = simulator::machine(&args.sim.settings(None, &settings))?;
            (mmu, whole.name, whole.workload)
        }
    };
    let setup = simulated::mmu_setup(&mmu).map_err(wrong)?;
    let seeds = &args.seeds;
    let times = |all: &[(Setup, Workload)]| {
        let time = |index: usize| {
            let (setup, workload) = &all[index / seeds.len()];
            simulate(setup, workload, seeds[index % seeds.len()]).elapsed_ns.max(1) as f64
        };
        let times = in_parallel(all.len() * seeds.len(), args.sim.jobs(), time);
        times.chunks(seeds.len()).map(<[f64]>::to_vec).collect()
    };
    let gains = &WhatIf::find(setup, workload, &times);
    let view = WhatIfView { place: place(&mmu), program: name, seeds, gains };
    show(&whatif_document(&view), &args.output)
}

/// A program with its size in words, and its work.
fn of_size(job: &JobSpec) -> Result<(String, Workload), String> {
    let size = size_of(&job.name).and_then(|size| job.params.get(size)).copied().unwrap_or(0);
    let work = MemoryJob::new(job)?;
    Ok((format!("{} of {}", job.name, format_size(size)), Workload::of_job(&work)?))
}
