//! `thrashlab mmu run`: a program, a trace or a command on a simulated machine.

mod command_run;
mod program_run;
mod trace_run;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use experiment::{Machine, Seeds, in_parallel, seeds};
use model::units::parse_size_bytes;
use report::whole_run_document;
use serde_json::json;
use sun4::{Outcome, simulate};

use super::place;
use super::program::ProgramText;
use super::work::{Whole, Work};
use crate::output::{OutputArgs, show};
use crate::{Failure, OrWrong, complain, guests, wrong};

const EXAMPLES: &str = "\
Examples:
  thrashlab mmu run vmtest --machine sparcstation1 --hat old --range 2M..32M --seeds 10 \\
      --compare reference:sun4/vmtest-sparcstation1-old-hat
                                        the table of 1990, row by row
  thrashlab mmu run vmtest:24M --hat new --set pmegs=256
                                        another machine
  thrashlab mmu run vmtest:process_size=4M --range 8M..32M --seeds 1..5 -o results
                                        run files, for sweep --from, compare, show
  thrashlab mmu run xterms --hat old --seeds 10
                                        several users (xterms, shells, lisp, database, a *.toml)
  thrashlab mmu run t.tlt --machine sparcstation1 --set copies=8
                                        eight of a recorded program at the same time
  thrashlab mmu run --machine zen4 t.tlt
                                        misses and walks of a recorded program
  thrashlab mmu run --machine zen4 -- gzip -9 < big > /dev/null
                                        the same without a trace file

What is simulated and how sure it is: docs/mmu.md.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// A program (vmtest, vmtest:24M, vmtest:process_size=4M,loops=100), a mix of several users
    /// (xterms, shells, lisp, database or a description, *.toml), or the file of a trace
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    what: Option<String>,

    /// The machine: a name (thrashlab mmu machines) or a description (*.toml)
    #[arg(long, value_name = "NAME", default_value = "sparcstation1")]
    machine: String,

    /// The system of a Sun-4: old, new, netbsd or linux [default: old]
    #[arg(long, value_name = "SYSTEM")]
    hat: Option<String>,

    /// A setting of machine or system (victim=lru-visit), or a parameter of the program
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,

    /// Of a program its sizes, from where to where, such as 2M..32M [default: those of the table
    /// that it is compared with, else the program's own]
    #[arg(long, value_name = "FIRST..LAST", value_parser = range)]
    range: Option<(u64, u64)>,

    /// From one size to the next [default: 2M as in 1990 up to 32M, else in equal ratios]
    #[arg(long, value_name = "SIZE", requires = "range", value_parser = parse_size_bytes)]
    step: Option<u64>,

    /// How many seeds, or which: 10, 3..7
    #[arg(long, value_name = "SEEDS", default_value = "1", value_parser = count_or_range)]
    seeds: Seeds,

    /// A table beside it: reference:NAME, a folder of runs or a CSV
    #[arg(long, value_name = "WHAT")]
    compare: Option<String>,

    /// Folder for the run files
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Guests or simulations at a time [default: one a CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// A command whose references are simulated while it runs
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl RunArgs {
    /// Refuses what is for programs with a size; it must not be passed over in silence.
    fn refuse_what_programs_have(&self) -> Result<(), Failure> {
        let given = [
            ("--range", self.range.is_some()),
            ("--compare", self.compare.is_some()),
            ("--output", self.output.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(wrong!("{option} is for programs that have a size: vmtest, touch"))
            }
            None => Ok(()),
        }
    }
}

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let text = experiment::machine_text(&args.machine).map_err(crate::wrong)?;
    let machine = Machine::parse(&text).or_wrong(format!("machine {}", args.machine))?;
    let Some(what) = &args.what else {
        return command_run::run_command(&machine, &args.set, &args.command, args.json);
    };
    match (machine, what.parse::<ProgramText>()) {
        (Machine::Sun4(_), _) => {
            let mut settings = args.set.clone();
            match Work::find(what, &mut settings)? {
                Work::Program(program) => program_run::run_program(args, &program),
                Work::Whole(whole) => run_whole(args, &whole, settings),
            }
        }
        (Machine::Tlb(machine), Err(_)) => trace_run::run_trace(&machine, args, what),
        (Machine::Tlb(_), Ok(program)) => Err(wrong!(
            "{} runs on Sun-4s; for {} record a trace of it: thrashlab trace record",
            program.name,
            args.machine
        )),
    }
}

/// Simulates a mix of several users or a trace on a Sun-4 with every seed: what it counts.
fn run_whole(
    args: &RunArgs,
    whole: &Whole,
    settings: Vec<(String, String)>,
) -> Result<(), Failure> {
    args.refuse_what_programs_have()?;
    let mmu = program_run::machine(args, settings).map_err(wrong)?;
    let setup = experiment::mmu_setup(&mmu).map_err(wrong)?;
    let seeds = &args.seeds;
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
    let document = whole_run_document(place(&mmu), &whole.name, seeds, &counts);
    show(&document.with_data(data), &OutputArgs::printed(args.json))
}

pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as victim=lru-visit".to_owned()),
    }
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let (first, last) =
        text.split_once("..").ok_or("write FIRST..LAST, such as 2M..32M".to_owned())?;
    let size = |text: &str| parse_size_bytes(text);
    match (size(first)?, size(last)?) {
        (first, last) if first <= last => Ok((first, last)),
        _ => Err(format!("{text:?} goes downwards: write it the other way round")),
    }
}

/// Reads `10`, which is the seeds from 1 to 10, and `3..7`.
pub(super) fn count_or_range(text: &str) -> Result<Seeds, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("at least one seed".to_owned()),
        Ok(count) => seeds(&format!("1..{count}")),
        Err(_) => seeds(text),
    }
}
