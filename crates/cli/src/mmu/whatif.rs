//! `thrashlab mmu whatif`: every remedy for a workload, alone and together.

use clap::Args;
use experiment::typed::{Seeds, seeds};
use experiment::{in_parallel, size_of};
use jobs::MemoryJob;
use model::JobSpec;
use model::units::format_size;
use report::{Gain, Tried, WhatIf, whatif_document};
use sun4::{REMEDIES, Remedy, Setup, Workload, simulate};

use super::simulator::SimulatorArgs;
use super::work::Work;
use super::{place, simulator};
use crate::output::{OutputArgs, show};
use crate::{Result, wrong};

/// A remedy is bought if it gains this much; two that differ by less are equally good.
const LEAST_GAIN: f64 = 1.01;
const CONFIDENCE: f64 = 0.95;

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

/// A machine with a workload, and the elapsed times of all seeds in ns.
#[derive(Clone)]
struct State {
    setup: Setup,
    workload: Workload,
    elapsed_ns: Vec<f64>,
}

/// A remedy and the state that it leads to.
type Treated = (&'static Remedy, State);

struct Trial<'a> {
    seeds: &'a [u64],
    jobs: usize,
    untreated: Workload,
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
    let trial = Trial { seeds: &args.seeds, jobs: args.sim.jobs(), untreated: workload.clone() };
    let elapsed_ns = trial.times(&[(setup.clone(), workload.clone())]).remove(0);
    let first = State { setup, workload, elapsed_ns };
    let (alone, left_out) = trial.alone(&first);
    let found = WhatIf {
        place: place(&mmu),
        program: name,
        seeds: args.seeds.clone(),
        elapsed_ns: stats::median(&first.elapsed_ns).unwrap_or(0.0),
        alone,
        together: trial.together(&first),
        left_out,
    };
    show(&whatif_document(&found), &args.output)
}

/// A program with its size in words, and its work.
fn of_size(job: &JobSpec) -> Result<(String, Workload), String> {
    let size = size_of(&job.name).and_then(|size| job.params.get(size)).copied().unwrap_or(0);
    let work = MemoryJob::new(job)?;
    Ok((format!("{} of {}", job.name, format_size(size)), Workload::of_job(&work)?))
}

impl Trial<'_> {
    /// Elapsed times in ns of each machine and workload with all seeds.
    fn times(&self, all: &[(Setup, Workload)]) -> Vec<Vec<f64>> {
        let seeds = self.seeds.len();
        let time = |index: usize| {
            let (setup, workload) = &all[index / seeds];
            simulate(setup, workload, self.seeds[index % seeds]).elapsed_ns.max(1) as f64
        };
        let times = in_parallel(all.len() * seeds, self.jobs, time);
        times.chunks(seeds).map(<[f64]>::to_vec).collect()
    }

    /// The states after each of these remedies; and remedies that change nothing, with reasons.
    fn treated(
        &self,
        state: &State,
        remedies: &[&'static Remedy],
    ) -> (Vec<Treated>, Vec<(String, String)>) {
        let (mut treated, mut left_out) = (Vec::new(), Vec::new());
        for remedy in remedies {
            let (mut setup, mut workload) = (state.setup.clone(), state.workload.clone());
            match remedy.apply(&mut setup, &mut workload, &self.untreated) {
                Ok(true) => treated.push((*remedy, (setup, workload))),
                Ok(false) => {
                    let why = format!("{} changes nothing here", remedy.settings);
                    left_out.push((remedy.name.to_owned(), why));
                }
                Err(why) => left_out.push((remedy.name.to_owned(), why)),
            }
        }
        let (remedies, all): (Vec<_>, Vec<_>) = treated.into_iter().unzip();
        let times = self.times(&all);
        let states = all.into_iter().zip(times).map(|((setup, workload), elapsed_ns)| State {
            setup,
            workload,
            elapsed_ns,
        });
        (remedies.into_iter().zip(states).collect(), left_out)
    }

    /// Each remedy alone, the greatest gain first.
    fn alone(&self, first: &State) -> (Vec<Tried>, Vec<(String, String)>) {
        let (treated, left_out) = self.treated(first, &REMEDIES.iter().collect::<Vec<_>>());
        let mut alone: Vec<Tried> =
            treated.iter().map(|(remedy, state)| tried(remedy, first, first, state)).collect();
        // A stable sort: of equal ones the cheapest stays first.
        alone.sort_by(|one, other| other.gain.ratio.total_cmp(&one.gain.ratio));
        (alone, left_out)
    }

    /// One remedy after the other: the one that gains most, of equals the cheapest, until none gains
    /// enough.
    fn together(&self, first: &State) -> Vec<Tried> {
        let (mut state, mut bought) = (first.clone(), Vec::new());
        let mut open: Vec<&'static Remedy> = REMEDIES.iter().collect();
        loop {
            let (treated, _) = self.treated(&state, &open);
            // What may be chance alone is not bought.
            let sure = |gain: Gain| if gain.low > 1.0 { gain.ratio } else { 0.0 };
            let gains: Vec<f64> =
                treated.iter().map(|(_, with)| sure(gain(&state, with))).collect();
            let most = gains.iter().copied().fold(0.0, f64::max);
            if most <= LEAST_GAIN {
                return bought;
            }
            let best = gains.iter().position(|gain| *gain * LEAST_GAIN >= most);
            let Some((remedy, next)) = best.and_then(|best| treated.into_iter().nth(best)) else {
                return bought;
            };
            bought.push(tried(remedy, first, &state, &next));
            open.retain(|other| other.name != remedy.name);
            state = next;
        }
    }
}

fn tried(remedy: &Remedy, first: &State, before: &State, with: &State) -> Tried {
    Tried {
        name: remedy.name.clone(),
        about: remedy.about.clone(),
        settings: remedy.settings.clone(),
        price: remedy.price.name().to_owned(),
        elapsed_ns: stats::median(&with.elapsed_ns).unwrap_or(0.0),
        gain: gain(before, with),
        total: gain(first, with),
    }
}

fn gain(before: &State, with: &State) -> Gain {
    let found = stats::hodges_lehmann_ratio(&with.elapsed_ns, &before.elapsed_ns, CONFIDENCE);
    // Times are positive and there is at least one, so there is a ratio.
    found.map_or(Gain { ratio: 1.0, low: 0.0, high: f64::INFINITY }, |found| Gain {
        ratio: found.ratio,
        low: found.low,
        high: found.high,
    })
}
