//! `thrashlab mmu run`: a program, a trace or a command on a simulated machine.

mod command_run;
mod program_run;
mod trace_run;

use std::path::PathBuf;

use clap::Args;
use experiment::typed::{Seeds, Setting, range, seeds};
use experiment::{TypedJob, in_parallel};
use model::units::parse_size_bytes;
use report::whole_run_document;
use serde_json::json;
use simulated::Machine;
use sun4::{Outcome, simulate};

use super::simulator::SimulatorArgs;
use super::work::{Whole, Work};
use super::{place, simulator};
use crate::output::{OutputArgs, show};
use crate::start::StartArgs;
use crate::{OrWrong, Result, complain, wrong};

const EXAMPLES: &str = "\
Examples:
  thrashlab mmu run vmtest --machine sparcstation1 --hat old --range 2M..32M \\
      --seeds 10 --compare reference:sun4/vmtest-sparcstation1-old-hat
                        the table of 1990, row by row
  thrashlab mmu run vmtest:24M --hat new --set pmegs=256
                        another machine
  thrashlab mmu run vmtest:process_size=4M --range 8M..32M --seeds 5 \\
      --run-files results
                        run files, for sweep --from, compare, show
  thrashlab mmu run xterms --hat old --seeds 10
                        several users (xterms, shells, lisp, database, a *.toml)
  thrashlab mmu run t.tlt --machine sparcstation1 --set copies=8
                        eight of a recorded program at the same time
  thrashlab mmu run --machine zen4 t.tlt  misses and walks of a recorded program
  thrashlab mmu run --machine zen4 -- gzip -9 < big > /dev/null
                        the same without a trace file

What is simulated and how certain it is: docs/mmu.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// A program (vmtest, vmtest:24M, vmtest:process_size=4M,loops=100), a mix of several users
    /// (xterms, shells, lisp, database or a description, *.toml), or the file of a trace
    #[arg(required_unless_present = "words", conflicts_with = "words")]
    what: Option<String>,

    #[command(flatten)]
    sim: SimulatorArgs,

    /// Sizes of the program, such as 2M..32M [default: those of the table of --compare, else the
    /// program's own]
    #[arg(long, value_name = "FIRST..LAST", value_parser = sizes)]
    range: Option<(u64, u64)>,

    /// Distance from one size to the next [default: 2M as in 1990 up to 32M, else in equal ratios]
    #[arg(long, value_name = "SIZE", requires = "range", value_parser = parse_size_bytes)]
    step: Option<u64>,

    /// Seeds: 10 (1 to 10), 3..7 or 1,2,7
    #[arg(long, value_name = "SEEDS", default_value = "1", value_parser = seeds)]
    seeds: Seeds,

    /// A table to compare it with: reference:NAME, a folder of runs or a CSV
    #[arg(long, value_name = "WHAT")]
    compare: Option<String>,

    /// Folder for the run files of the program [default: not kept]
    #[arg(long, value_name = "DIR")]
    run_files: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    command: StartArgs,
}

impl RunArgs {
    /// Refuses what is for programs with a size; it must not be passed over in silence.
    fn refuse_what_programs_have(&self) -> Result<()> {
        let given = [
            ("--range", self.range.is_some()),
            ("--compare", self.compare.is_some()),
            ("--run-files", self.run_files.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(wrong!("{option} is for programs that have a size: vmtest, touch"))
            }
            None => Ok(()),
        }
    }
}

pub(crate) fn run(args: &RunArgs) -> Result<()> {
    let name = &args.sim.machine;
    let text = experiment::machine_text(name).map_err(wrong)?;
    let machine = Machine::parse(&text).or_wrong(format!("machine {name}"))?;
    let Some(what) = &args.what else {
        return command_run::run_command(&machine, args);
    };
    match (machine, what.parse::<TypedJob>()) {
        (Machine::Sun4(_), _) => {
            let mut settings = args.sim.set.clone();
            match Work::find(what, &mut settings)? {
                Work::Program(program) => program_run::run_program(args, &program),
                Work::Whole(whole) => run_whole(args, &whole, &settings),
            }
        }
        (Machine::Tlb(machine), Err(_)) => trace_run::run_trace(&machine, args, what),
        (Machine::Tlb(_), Ok(program)) => Err(wrong!(
            "{} runs on Sun-4s; for {name} record a trace of it: thrashlab trace record",
            program.name
        )),
    }
}

/// Simulates a mix of several users or a trace on a Sun-4 with every seed: what it counts.
fn run_whole(args: &RunArgs, whole: &Whole, settings: &[Setting]) -> Result<()> {
    args.refuse_what_programs_have()?;
    let (mmu, _) = simulator::machine(&args.sim.settings(None, settings))?;
    let setup = simulated::mmu_setup(&mmu).map_err(wrong)?;
    let seeds = &args.seeds;
    let simulated = |index: usize| simulate(&setup, &whole.workload, seeds[index]);
    let outcomes: Vec<Outcome> = in_parallel(seeds.len(), args.sim.jobs(), simulated);
    whole.note.iter().for_each(|note| complain(note));
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
    let document = whole_run_document(place(&mmu), &whole.name, seeds, &counts);
    show(&document.with_data(data), &args.output)
}

/// Reads the sizes of a program, the smaller one first.
fn sizes(text: &str) -> Result<(u64, u64), String> {
    match range(text, parse_size_bytes)? {
        (first, last) if first <= last => Ok((first, last)),
        _ => Err(format!("{text:?} goes downwards: write it the other way round")),
    }
}
