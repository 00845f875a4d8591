//! The measurements of a sweep: batch after batch, until the search has its answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use agent::Waiter;
use analysis::sweep::{Batch, Curve, Search, find};
use anyhow::{Context, anyhow};
use experiment::{ExperimentError, Laboratory, Plan, PlanError, SweepPlan, parse_sweep};
use model::{
    EndStatus, Line, MANIFEST_SCHEMA, Manifest, ManifestFactor, ManifestRun, ManifestSweep,
};
use store::results::{SUFFIX, read_run};
use store::{CurveOptions, Curves};

use super::asked::Asked;
use crate::Failure;
use crate::laboratory::failure;
use crate::progress::Progress;
use crate::sweep_args::SweepArgs;

/// Where the run goes that calibrates the loops: it is no measurement of a level.
const CALIBRATION: &str = "calibration.jsonl";
/// What of a pass says how often each process looped.
const LOOPS: &str = "loops";
/// The parameter that is the same in all runs of one laboratory.
const SWAP: &str = "swap";

/// A sweep under way.
pub(super) struct Sweep<'a> {
    args: &'a SweepArgs,
    asked: &'a Asked,
    waiter: &'a Waiter,
    /// The sweep, with loops once they are calibrated.
    pub(super) plan: SweepPlan,
    search: Search,
    /// Where the runs go.
    pub(super) folder: PathBuf,
    /// What the folder had before: runs that this search may not ask for.
    former: Option<Manifest>,
    /// What this search has asked for.
    runs: Vec<ManifestRun>,
    refused: BTreeMap<String, String>,
}

impl<'a> Sweep<'a> {
    /// A sweep in its folder, which holds nothing else.
    pub(super) fn new(
        args: &'a SweepArgs,
        asked: &'a Asked,
        waiter: &'a Waiter,
    ) -> Result<Self, Failure> {
        let plan = asked.plan.clone();
        let search = plan.search().map_err(|error| Failure::WrongUse(error.into()))?;
        let default = || store::results::default_folder().join(&plan.name);
        let mut sweep = Self {
            folder: args.output.clone().unwrap_or_else(default),
            search,
            former: None,
            runs: Vec::new(),
            refused: BTreeMap::new(),
            args,
            asked,
            waiter,
            plan,
        };
        sweep.former = store::manifest::read(&sweep.folder)
            .map_err(|error| Failure::WrongUse(error.into()))?;
        match &sweep.former {
            None => crate::experiment::no_runs(&sweep.folder)?,
            Some(former) => sweep.plan = sweep.going_on(former)?,
        }
        Ok(sweep)
    }

    /// The plan with what the folder's sweep has calibrated, if that is this one.
    fn going_on(&self, former: &Manifest) -> Result<SweepPlan, Failure> {
        let other = || crate::experiment::of_another(&self.folder, former);
        let draft = former.sweep.as_ref().and_then(|_| parse_sweep(&former.plan).ok());
        let before = draft.and_then(|draft| draft.finish().ok()).ok_or_else(other)?;
        let mut plan = self.plan.clone();
        if let Some(loops) = before.loops().filter(|_| plan.needs_loops()) {
            plan = plan.with_loops(loops);
        }
        if plan.measures_as(&before) { Ok(plan) } else { Err(other()) }
    }

    /// Measures until the search of each row is at its end.
    pub(super) fn until_known(&mut self, progress: &mut Progress) -> Result<(), Failure> {
        if self.plan.needs_loops() {
            self.calibrate(progress)?;
        }
        let rows = self.plan.rows();
        let mut open: Vec<usize> = (0..rows.len()).collect();
        // By turns, so that a drift falls on all rows alike.
        while !open.is_empty() {
            for row in std::mem::take(&mut open) {
                let curve = self.curve(row)?;
                let Some(batch) = self.search.next(&curve) else { continue };
                if !self.ask(row, &batch) {
                    continue;
                }
                self.measure(row, &batch, progress)?;
                let curve = self.curve(row)?;
                let mut found = find(&curve, &self.plan.settings.find);
                found.ended_by_budget = self.search.ended_by_budget(&curve);
                let label = if rows.len() > 1 { format!("{}: ", rows[row]) } else { String::new() };
                progress.say(&format!("{label}{}", report::sweep_so_far(&curve, &found)));
                open.push(row);
            }
        }
        Ok(())
    }

    /// Everything that was asked for, as curves.
    pub(super) fn curves(&self) -> Result<Curves, Failure> {
        let options = CurveOptions::default();
        let manifest = self.manifest(self.runs.clone());
        let curves = store::curve::curves_of_manifest(&self.folder, &manifest, &options);
        Ok(curves.context("read the runs")?)
    }

    fn curve(&self, row: usize) -> Result<Curve, Failure> {
        let mut rows = self.curves()?.rows;
        let mut curve = rows.swap_remove(row).1;
        // Nothing was measured yet: only the plan knows.
        curve.deterministic = self.asked.deterministic;
        Ok(curve)
    }

    /// The manifest of these runs.
    fn manifest(&self, runs: Vec<ManifestRun>) -> Manifest {
        let number = |level: &String| self.plan.quantity.parse(level).unwrap_or(f64::NAN);
        let of_run = |run: &ManifestRun| run.levels.get(&self.plan.over).cloned();
        let mut levels: Vec<String> = runs.iter().filter_map(of_run).collect();
        levels.sort_by(|one, other| number(one).total_cmp(&number(other)));
        levels.dedup();
        if self.plan.range.first > self.plan.range.last {
            levels.reverse();
        }
        let mut factors = vec![ManifestFactor { name: self.plan.over.clone(), levels }];
        factors.extend(
            self.plan
                .by
                .iter()
                .map(|by| ManifestFactor { name: by.name.clone(), levels: self.plan.rows() }),
        );
        Manifest {
            schema: MANIFEST_SCHEMA,
            thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.plan.name.clone(),
            factors,
            responses: self.plan.response.iter().cloned().collect(),
            aliases: Vec::new(),
            runs,
            sweep: Some(ManifestSweep {
                unit: self.plan.quantity.unit().to_owned(),
                refused: self.refused.clone(),
            }),
            plan: self.plan.text(),
        }
    }

    /// Writes the manifest, with what the folder had before.
    fn remember(&self) -> Result<(), Failure> {
        let is_new =
            |former: &&ManifestRun| !self.runs.iter().any(|run| run.run_id == former.run_id);
        let former = self.former.iter().flat_map(|former| &former.runs).filter(is_new);
        let all = self.runs.iter().chain(former).cloned().collect();
        let written = store::manifest::write(&self.manifest(all), &self.folder);
        Ok(written.context("write the manifest")?)
    }

    /// Lets Irlam's program find out how often it has to loop.
    fn calibrate(&mut self, progress: &mut Progress) -> Result<(), Failure> {
        self.remember()?;
        progress.say("calibrating the loops, so that all levels do equal work for each process");
        let plan = self.plan.calibration();
        let mut lab = self.set_up(&plan, progress).map_err(|error| failure(error, self.waiter))?;
        let run_id = plan.runs(lab.cells()).remove(0).run_id;
        self.carry_out(&mut lab, progress)?;
        let file = self.folder.join(format!("{run_id}{SUFFIX}"));
        let run = read_run(&file).context("read the run that calibrates the loops")?;
        let loops = run.lines.iter().rev().find_map(|line| match line {
            Line::Pass(pass) => pass.usage.get(LOOPS).copied(),
            _ => None,
        });
        let loops = loops.filter(|_| run.status() == EndStatus::Complete).ok_or_else(|| {
            let file = file.display();
            Failure::NotMeasured(anyhow!("the loops were not calibrated: see {file}"))
        })?;
        fs::rename(&file, self.folder.join(CALIBRATION)).context("keep the calibration")?;
        progress.say(&format!("{loops} loops"));
        self.plan = self.plan.clone().with_loops(loops);
        Ok(())
    }

    /// Makes the runs of a batch that are not there yet.
    fn measure(
        &mut self,
        row: usize,
        batch: &Batch,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let deterministic = self.asked.deterministic;
        self.remember()?;
        for part in self.parts(batch) {
            let plan = self.plan.plan(row, &part, deterministic);
            match self.set_up(&plan, progress) {
                Ok(mut lab) => self.carry_out(&mut lab, progress)?,
                Err(ExperimentError::Plan(PlanError::Problems(problems)))
                    if self.is_worth_trying(&problems, row)? =>
                {
                    self.level_by_level(row, &part, progress)?;
                }
                Err(error) => return Err(failure(error, self.waiter)),
            }
        }
        self.remember()
    }

    /// Whether some levels may be had though not all can: not where all fail for the same reason
    /// before anything was measured.
    fn is_worth_trying(&self, problems: &[String], row: usize) -> Result<bool, Failure> {
        let reason = |problem: &String| {
            problem.split_once(": ").map_or(problem.clone(), |(_, reason)| reason.to_owned())
        };
        let first = problems.first().map(reason);
        let is_one = problems.iter().all(|problem| Some(reason(problem)) == first);
        let measured = self.curve(row)?.points.iter().any(|point| point.cost.is_some());
        let levels = self.search.coarse_levels().len();
        Ok(measured || !is_one || problems.len() < levels)
    }

    /// Adds the runs of a batch to what was asked for; `false` if all of them were.
    fn ask(&mut self, row: usize, batch: &Batch) -> bool {
        let before = self.runs.len();
        for run in self.plan.runs(row, batch, self.asked.deterministic) {
            if !self.runs.iter().any(|known| known.run_id == run.run_id) {
                self.runs.push(run);
            }
        }
        self.runs.len() > before
    }

    /// Pieces of a batch that can be had at the same time.
    fn parts(&self, batch: &Batch) -> Vec<Batch> {
        if self.plan.over != SWAP {
            return vec![batch.clone()];
        }
        let part = |(pass, level)| Batch {
            levels: vec![level],
            first_pass: pass,
            passes: 1,
            purpose: batch.purpose,
        };
        batch.measurements().map(part).collect()
    }

    /// Some levels of a batch cannot be had: finds out which, and makes the runs of the others.
    fn level_by_level(
        &mut self,
        row: usize,
        batch: &Batch,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let deterministic = self.asked.deterministic;
        let mut batch = batch.clone();
        for level in std::mem::take(&mut batch.levels) {
            let alone = Batch { levels: vec![level], ..batch.clone() };
            match self.set_up(&self.plan.plan(row, &alone, deterministic), progress) {
                Ok(mut lab) => {
                    lab.strike(self.waiter);
                    batch.levels.push(level);
                }
                Err(ExperimentError::Plan(PlanError::Problems(problems))) => {
                    let why = problems.join("; ");
                    progress
                        .say(&format!("{} cannot be had: {why}", self.plan.quantity.format(level)));
                    let runs = self.plan.runs(row, &alone, deterministic);
                    self.refused.extend(runs.into_iter().map(|run| (run.run_id, why.clone())));
                }
                Err(error) => return Err(failure(error, self.waiter)),
            }
        }
        if batch.levels.is_empty() {
            return Ok(());
        }
        let plan = self.plan.plan(row, &batch, deterministic);
        let mut lab = self.set_up(&plan, progress).map_err(|error| failure(error, self.waiter))?;
        self.carry_out(&mut lab, progress)
    }

    fn set_up(&self, plan: &Plan, progress: &Progress) -> Result<Laboratory, ExperimentError> {
        self.args.lab.set_up(plan, &self.asked.plan_folder, self.waiter, progress)
    }

    fn carry_out(&mut self, lab: &mut Laboratory, progress: &mut Progress) -> Result<(), Failure> {
        let carried = self
            .args
            .lab
            .carry_out(lab, &self.folder, self.waiter, progress)
            .map_err(|error| failure(error, self.waiter))?;
        self.refused.extend(carried.refused);
        match carried.interrupted {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    }
}
