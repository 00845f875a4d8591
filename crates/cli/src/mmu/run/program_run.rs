//! A program on a Sun-4: its sizes and seeds, in the columns of 1990, beside a published table.

mod levels;
mod published;
mod results;

use std::collections::BTreeMap;

use analysis::published::Beside;
use analysis::sweep::{Curve, End, Point, Settings, find, of_run};
use anyhow::Context;
use experiment::{TimingChanges, in_parallel, load_spec, simulated_run, timing};
use model::units::{exact_size, format_size};
use model::{BASELINE, JobSpec, Measure, MmuSpec, Run, Spec, SubjectSpec};
use report::{ProgramRunView, place_of, program_run_document};
use serde_json::json;

use super::RunArgs;
use crate::mmu::program::ProgramText;
use crate::output::{OutputArgs, show};
use crate::wrong;
use crate::{Failure, guests};
use published::Published;

struct Asked {
    mmu: MmuSpec,
    /// The parameter that is varied, such as `vmtest.size`.
    parameter: String,
    /// Each size in bytes with the program of that size.
    levels: Vec<(u64, JobSpec)>,
    seeds: Vec<u64>,
}

struct Made {
    level: u64,
    run_id: String,
    seed: u64,
    block: u32,
    bytes: Vec<u8>,
    run: Run,
}

pub(super) fn run_program(args: &RunArgs, program: &ProgramText) -> Result<(), Failure> {
    let (of_program, of_machine): (Vec<_>, Vec<_>) =
        args.set.iter().cloned().partition(|(name, _)| program.has(name));
    let mmu = machine(args, of_machine).map_err(wrong)?;
    let published = match &args.compare {
        Some(what) => Some(Published::read(what, &mmu)?),
        None => None,
    };
    let base = program.job(&of_program).map_err(wrong)?;
    let sizes = levels::levels(args, &base, program.size, published.as_ref()).map_err(wrong)?;
    let job = |size: u64| {
        let size_text = (program.size.to_owned(), exact_size(size));
        let all: Vec<_> = of_program.iter().cloned().chain([size_text]).collect();
        program.job(&all).map(|job| (size, job))
    };
    let asked = Asked {
        mmu,
        parameter: format!("{}.{}", program.name, program.size),
        levels: sizes.into_iter().map(job).collect::<Result<_, _>>().map_err(wrong)?,
        seeds: args.seeds.clone(),
    };
    let jobs = args.jobs.map_or_else(guests::cpus, usize::from);
    let made = asked.simulate(jobs)?;
    if let Some(folder) = &args.output {
        results::write(folder, &asked, &made)?;
    }
    tell(args, &asked, &made, published.as_ref())
}

pub(super) fn machine(args: &RunArgs, settings: Vec<(String, String)>) -> Result<MmuSpec, String> {
    let mut all = vec![("machine".to_owned(), args.machine.clone())];
    all.extend(settings);
    all.extend(args.hat.iter().map(|hat| ("hat".to_owned(), hat.clone())));
    experiment::mmu_spec(&all)
}

impl Asked {
    fn spec(&self, job: &JobSpec, seed: u64) -> Result<Spec, String> {
        Ok(Spec {
            subject: SubjectSpec::Mmu(Box::new(self.mmu.clone())),
            load: load_spec(BASELINE, 1.0),
            measure: Measure::Job(Box::new(job.clone())),
            timing: timing(None, None, &TimingChanges::default())?,
            sysctls: BTreeMap::new(),
            seed,
            block: 0,
            order: 0,
        })
    }

    /// All runs, size by size, seed by seed.
    fn simulate(&self, jobs: usize) -> Result<Vec<Made>, Failure> {
        let pairs: Vec<(usize, usize)> = (0..self.levels.len())
            .flat_map(|level| (0..self.seeds.len()).map(move |seed| (level, seed)))
            .collect();
        let make = |index: usize| -> Result<Made, Failure> {
            let (at, block) = pairs[index];
            let (level, job) = &self.levels[at];
            let seed = self.seeds[block];
            let run_id = format!("01-{}-seed{seed}", exact_size(*level));
            let spec = self.spec(job, seed).map_err(wrong)?;
            let bytes = simulated_run(&spec, &run_id).map_err(wrong)?;
            let run = Run::parse(&bytes).context("read a simulated run")?;
            Ok(Made { level: *level, run_id, seed, block: block as u32, bytes, run })
        };
        in_parallel(pairs.len(), jobs, make).into_iter().collect()
    }

    fn curve(&self, made: &[Made]) -> Curve {
        let point = |made: &Made| Point {
            level: made.level as f64,
            name: made.run_id.clone(),
            pass: made.block,
            ..of_run(&made.run, None).point
        };
        Curve {
            name: "simulated".to_owned(),
            parameter: self.parameter.clone(),
            level_unit: "bytes".to_owned(),
            response: "touch_ns".to_owned(),
            cost_unit: "ns".to_owned(),
            points: made.iter().map(point).collect(),
            deterministic: true,
            notes: Vec::new(),
        }
    }

    /// The program in words; its size is a column.
    fn program(&self) -> String {
        let Some((_, job)) = self.levels.first() else { return String::new() };
        let process = job.params.get("process_size").copied().map(format_size);
        let process = process.map_or_else(String::new, |size| format!(", {size} a process"));
        let loops = match job.params.get("loops") {
            Some(0) | None => String::new(),
            Some(loops) => format!(", {loops} loops"),
        };
        format!("{}{process}{loops}", job.name)
    }
}

/// Prints the result; a condition that is not met is [`Failure::NotSo`].
fn tell(
    args: &RunArgs,
    asked: &Asked,
    made: &[Made],
    published: Option<&Published>,
) -> Result<(), Failure> {
    let curve = asked.curve(made);
    let settings = Settings { plateau: Some(End::Low), ..Settings::default() };
    let found = find(&curve, &settings);
    let headers: Vec<_> = made.iter().filter_map(|made| made.run.header.clone()).collect();
    let place = place_of(&headers);
    let beside = published.map(|table| {
        let beside = Beside::new(&curve, &found, &table.curve, &table.conditions);
        (table.title.clone(), beside)
    });
    let data = json!({
        "place": place,
        "program": asked.program(),
        "machine": asked.mmu,
        "seeds": asked.seeds,
        "curve": curve,
        "found": found,
        "published": beside.as_ref().map(|(title, _)| title),
        "beside": beside.as_ref().map(|(_, beside)| beside),
        "accepted": beside.as_ref().map(|(_, beside)| beside.holds()),
    });
    let view = ProgramRunView {
        place,
        program: asked.program(),
        seeds: asked.seeds.clone(),
        curve: &curve,
        found: &found,
        beside: beside.as_ref().map(|(title, beside)| (title.clone(), beside)),
        least_rise: settings.knee.least_rise,
    };
    show(&program_run_document(&view).with_data(data), &OutputArgs::printed(args.json))?;
    match beside {
        Some((_, beside)) if !beside.holds() => Err(Failure::NotSo),
        _ => Ok(()),
    }
}
