//! A mix of several users or a trace on a Sun-4: what it counts, over its seeds.

use experiment::in_parallel;
use report::{WholeRun, whole_run_document};
use serde_json::json;
use sun4::{Outcome, simulate};

use super::{RunArgs, program_run};
use crate::mmu::work::Whole;
use crate::mmu::{place, wrong};
use crate::output::{OutputArgs, show};
use crate::{Failure, complain, guests};

/// Simulates it with every seed.
pub(super) fn run_whole(
    args: &RunArgs,
    whole: &Whole,
    settings: Vec<(String, String)>,
) -> Result<(), Failure> {
    args.refuse_what_programs_have()?;
    let mmu = program_run::machine(args, settings).map_err(wrong)?;
    let setup = experiment::mmu_setup(&mmu).map_err(wrong)?;
    let seeds = &args.seeds.0;
    let jobs = args.jobs.map_or_else(guests::cpus, usize::from);
    let outcomes: Vec<Outcome> =
        in_parallel(seeds.len(), jobs, |index| simulate(&setup, &whole.workload, seeds[index]));
    if let Some(note) = &whole.note {
        complain(note);
    }
    let counts: Vec<_> = outcomes.iter().map(Outcome::counts).collect();
    let runs = seeds.iter().zip(&counts);
    let runs: Vec<_> =
        runs.map(|(seed, counts)| json!({ "seed": seed, "counts": counts })).collect();
    let data = json!({
        "schema": 1,
        "machine": mmu.machine,
        "settings": mmu.settings,
        "workload": whole.name,
        "note": whole.note,
        "runs": runs,
    });
    let run =
        WholeRun { place: place(&mmu), name: whole.name.clone(), seeds: seeds.clone(), counts };
    show(&whole_run_document(&run).with_data(data), &OutputArgs::printed(args.json))
}
