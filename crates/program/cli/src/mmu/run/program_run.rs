//! A program on a Sun-4: its sizes and seeds, in the columns of 1990, next to a published table.

mod levels;
mod published;
mod results;

use analysis::published::Beside;
use analysis::sweep::{Curve, End, Point, Settings, find, of_run};
use anyhow::Context;
use curves::place_of;
use experiment::{SimulatedLevels, SimulatedRun, TypedJob, size_of};
use model::units::{exact_size, format_size};
use model::{JobSpec, ManifestRun, MmuSpec, Run};
use report::{ProgramRunView, program_run_document};
use serde_json::json;

use super::RunArgs;
use crate::mmu::simulator;
use crate::output::show;
use crate::{Failure, OrWrong, Result, wrong};
use published::Published;

struct SimulationRequest {
    mmu: MmuSpec,
    job: JobSpec,
    /// The parameter that is varied, such as `vmtest.size`.
    parameter: String,
    seeds: Vec<u64>,
}

struct ProgramRun {
    /// In bytes.
    level: u64,
    listed: ManifestRun,
    bytes: Vec<u8>,
    run: Run,
}

pub(super) fn run_program(args: &RunArgs, program: &TypedJob) -> Result<()> {
    let base = args.sim.settings(Some(program), &args.sim.set);
    let (mmu, job) = simulator::machine_and_program(&base)?;
    let published = args.compare.as_ref().map(|what| Published::read(what, &mmu)).transpose()?;
    let size = size_of(&program.name).or_wrong(format!("{} has no size", program.name))?;
    let sizes = levels::levels(args, &job, size, published.as_ref()).map_err(wrong)?;
    let request = SimulationRequest {
        parameter: format!("{}.{size}", program.name),
        seeds: args.seeds.clone(),
        mmu,
        job,
    };
    let name = format!("mmu-{}", request.mmu.machine);
    let texts: Vec<String> = sizes.iter().copied().map(exact_size).collect();
    let plan = SimulatedLevels::new(name, base, &request.parameter, &texts, &args.seeds);
    let made = |(level, listed, bytes): SimulatedRun| {
        let run = Run::parse(&bytes).context("read a simulated run")?;
        Ok(ProgramRun { level: sizes[level], listed, bytes, run })
    };
    let runs = plan.simulate(args.sim.jobs()).map_err(wrong)?;
    let made = runs.into_iter().map(made).collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(folder) = &args.run_files {
        results::write(folder, &plan.manifest(), &made)?;
    }
    print_result(args, &request, &made, published.as_ref())
}

impl SimulationRequest {
    fn curve(&self, made: &[ProgramRun]) -> Curve {
        let point = |made: &ProgramRun| Point {
            level: made.level as f64,
            name: made.listed.run_id.clone(),
            pass: made.listed.block,
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
        let job = &self.job;
        let process = job.params.get("process_size").copied().map(format_size);
        let process = process.map_or_else(String::new, |size| format!(", {size} a process"));
        let loops = match job.params.get("loops") {
            Some(0) | None => String::new(),
            Some(loops) => format!(", {loops} loops"),
        };
        format!("{}{process}{loops}", job.name)
    }
}

/// Prints the result; a condition that is not met is [`Failure::CheckFailed`].
fn print_result(
    args: &RunArgs,
    request: &SimulationRequest,
    made: &[ProgramRun],
    published: Option<&Published>,
) -> Result<()> {
    let curve = request.curve(made);
    let settings = Settings { plateau: Some(End::Low), ..Settings::default() };
    let found = find(&curve, &settings);
    let headers: Vec<_> = made.iter().filter_map(|made| made.run.header.clone()).collect();
    let place = place_of(&headers);
    let beside = published.map(|table| {
        let beside = Beside::new(&curve, &found.shape, &table.curve, &table.conditions);
        (table.title.clone(), beside)
    });
    let data = json!({
        "place": place,
        "program": request.program(),
        "machine": request.mmu,
        "seeds": request.seeds,
        "curve": curve,
        "found": found,
        "published": beside.as_ref().map(|(title, _)| title),
        "beside": beside.as_ref().map(|(_, beside)| beside),
        "accepted": beside.as_ref().map(|(_, beside)| beside.holds()),
    });
    let view = ProgramRunView {
        place,
        program: request.program(),
        seeds: request.seeds.clone(),
        curve: &curve,
        found: &found,
        beside: beside.as_ref().map(|(title, beside)| (title.clone(), beside)),
        least_rise: settings.knee.least_rise,
    };
    show(&program_run_document(&view).with_data(data), &args.output)?;
    match beside {
        Some((_, beside)) if !beside.holds() => Err(Failure::CheckFailed),
        _ => Ok(()),
    }
}
