//! The driver of a sweep: batch after batch, until the search is done.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use analysis::sweep::{Batch, Curve, Purpose, Search, find};
use curves::{CurveOptions, Curves};
use model::{
    EndStatus, Line, MANIFEST_SCHEMA, Manifest, ManifestFactor, ManifestRun, ManifestSweep,
};
use results::run_files::{SUFFIX, read_run};

use super::text::parse_sweep_with;
use super::{SearchArgs, SweepPlan, parse_sweep};
use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::event::Event;
use crate::job::set_folder;
use crate::laboratory::Laboratory;
use crate::plan::{CellPlan, PlanError};
use crate::results_folder::{
    current_folder, named_or, open, read_plan, write_manifest, wrong_plan,
};
use crate::typed::Setting;

/// File of the calibration run, which is not a measurement of a level.
const CALIBRATION: &str = "calibration.jsonl";
/// How the file names of runs end that were observed, and do not count as measurements of a level either.
const OBSERVED_RUN: &str = ".jsonl";
/// Key of the loops per process in a pass.
const LOOPS: &str = "loops";
/// The parameter fixed within a laboratory.
const SWAP: &str = "swap";

/// A sweep in progress.
pub struct Sweep {
    /// The sweep, with loops once they are calibrated.
    pub plan: SweepPlan,
    /// Results folder.
    pub folder: PathBuf,
    /// Base folder of the plan's paths.
    plan_folder: PathBuf,
    /// Whether all its measurements are exactly repeatable.
    deterministic: bool,
    search: Search,
    /// The folder's earlier runs, which this search may not request.
    former: Option<Manifest>,
    /// Runs that this search requested.
    runs: Vec<ManifestRun>,
    refused: BTreeMap<String, String>,
}

impl Sweep {
    /// A sweep of these settings; a command of this machine runs in the current folder. Fails when
    /// it is incomplete or contradictory.
    pub fn new(mut base: Vec<Setting>, search: SearchArgs, output: Option<&Path>) -> Result<Self> {
        set_folder(&mut base, &current_folder()?).map_err(ExperimentError::WrongUse)?;
        let plan = SweepPlan::new(None, base, search);
        let sweep = plan.and_then(|plan| Self::of_plan(plan, PathBuf::new(), output));
        sweep.map_err(|error| ExperimentError::WrongUse(error.to_string()))
    }

    /// The sweep of a plan's file, with further settings and typed options, which are stronger.
    /// Fails when the plan is unreadable, incomplete or invalid.
    pub fn of_file(
        path: &Path,
        base: Vec<Setting>,
        typed: &SearchArgs,
        output: Option<&Path>,
    ) -> Result<Self> {
        let (text, plan_folder) = read_plan(path)?;
        let plan = parse_sweep_with(&text, base, typed);
        let sweep = plan.and_then(|plan| Self::of_plan(plan, plan_folder, output));
        sweep.map_err(|error| wrong_plan(path, error))
    }

    /// A sweep that is planned already; paths of the plan begin in `plan_folder`. Fails when no
    /// level can be set.
    fn of_plan(
        plan: SweepPlan,
        plan_folder: PathBuf,
        output: Option<&Path>,
    ) -> Result<Self, PlanError> {
        let cells = plan.cells(&plan_folder)?;
        Ok(Self {
            folder: named_or(output, &plan.name),
            plan_folder,
            deterministic: cells.iter().all(CellPlan::is_deterministic),
            search: plan.search()?,
            former: None,
            runs: Vec::new(),
            refused: BTreeMap::new(),
            plan,
        })
    }

    /// Continues with the folder's runs of this sweep, if any. Fails when it holds another one.
    pub fn open(&mut self) -> Result<()> {
        let mut plan = self.plan.clone();
        self.former = open(&self.folder, |former| {
            let text = former.sweep.as_ref().map(|_| former.plan.as_str());
            let before = text.and_then(|text| parse_sweep(text).ok());
            let Some(before) = before else { return false };
            if let Some(loops) = before.loops().filter(|_| plan.needs_loops()) {
                plan = plan.clone().with_loops(loops);
            }
            plan.measures_as(&before)
        })?;
        self.plan = plan;
        Ok(())
    }

    /// Measures until each row's search is done. Fails when something is unavailable or cannot be
    /// measured, or the user stopped it.
    pub fn run(&mut self, driver: &mut Driver<'_>) -> Result<()> {
        if self.plan.needs_loops() {
            self.calibrate(driver)?;
        }
        let rows = self.plan.rows();
        let mut open: Vec<usize> = (0..rows.len()).collect();
        // In turn, so that drift affects all rows alike.
        while !open.is_empty() {
            for row in std::mem::take(&mut open) {
                let Some(batch) = self.search.next(&self.curve(row)?) else { continue };
                if !self.ask(row, &batch) {
                    continue;
                }
                self.measure(row, &batch, driver)?;
                let curve = self.curve(row)?;
                let mut found = find(&curve, &self.plan.settings.find);
                found.ended_by_budget = self.search.ended_by_budget(&curve);
                let (row_name, curve, found) = (rows[row].as_str(), &curve, &found);
                (driver.on_event)(&Event::Curve { row: row_name, curve, found });
                open.push(row);
            }
        }
        Ok(())
    }

    /// All requested runs, as curves.
    pub fn curves(&self) -> Result<Curves> {
        let manifest = self.manifest(self.runs.clone());
        store::curve::curves_of_manifest(&self.folder, &manifest, &CurveOptions::default())
            .map_err(|error| ExperimentError::NotMeasured(format!("read the runs: {error}")))
    }

    /// Makes one more run at a level, which is kept under [`SweepPlan::observed_name`]; returns the path that it
    /// had while it was made. Fails when it cannot be made, or the user stopped it.
    pub fn observe(&mut self, level: f64, driver: &mut Driver<'_>) -> Result<PathBuf> {
        let measured = self.curve(0)?;
        let last_pass = measured.points.iter().map(|point| point.pass).max().unwrap_or(0);
        let (levels, purpose) = (vec![level], Purpose::Verify);
        let batch = Batch { levels, first_pass: last_pass + 1, passes: 1, purpose };
        let run_id = self.plan.plan(0, &batch, self.deterministic).runs().remove(0).1.run_id;
        let lab = self.set_up(0, &batch, driver)?;
        self.carry_out(lab, driver)?;
        let file = self.folder.join(format!("{run_id}{SUFFIX}"));
        let kept = self.folder.join(format!("{}{OBSERVED_RUN}", self.plan.observed_name(level)));
        fs::rename(&file, kept).map_err(|error| {
            ExperimentError::NotMeasured(format!("keep the observed run: {error}"))
        })?;
        Ok(file)
    }

    fn curve(&self, row: usize) -> Result<Curve> {
        let mut curve = self.curves()?.rows.swap_remove(row).1;
        // Without measurements only the plan knows.
        curve.deterministic = self.deterministic;
        Ok(curve)
    }

    /// The manifest of these runs.
    fn manifest(&self, runs: Vec<ManifestRun>) -> Manifest {
        let plan = &self.plan;
        let number = |level: &String| plan.quantity.parse(level).unwrap_or(f64::NAN);
        let of_run = |run: &ManifestRun| run.levels.get(&plan.over).cloned();
        let mut levels: Vec<String> = runs.iter().filter_map(of_run).collect();
        levels.sort_by(|one, other| number(one).total_cmp(&number(other)));
        levels.dedup();
        if plan.range.first > plan.range.last {
            levels.reverse();
        }
        let by = plan.by.iter();
        let by = by.map(|by| ManifestFactor { name: by.name.clone(), levels: plan.rows() });
        let over = ManifestFactor { name: plan.over.clone(), levels };
        Manifest {
            schema: MANIFEST_SCHEMA,
            thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
            name: plan.name.clone(),
            factors: std::iter::once(over).chain(by).collect(),
            responses: plan.response.iter().cloned().collect(),
            aliases: Vec::new(),
            runs,
            sweep: Some(ManifestSweep {
                unit: plan.quantity.unit().to_owned(),
                refused: self.refused.clone(),
            }),
            ab: None,
            plan: plan.text(),
        }
    }

    /// Writes the manifest, including the folder's earlier runs.
    fn record(&self) -> Result<()> {
        let is_new =
            |former: &&ManifestRun| !self.runs.iter().any(|run| run.run_id == former.run_id);
        let former = self.former.iter().flat_map(|former| &former.runs).filter(is_new);
        let all = self.runs.iter().chain(former).cloned().collect();
        write_manifest(&self.manifest(all), &self.folder)
    }

    /// Lets Irlam's program calibrate its loops.
    fn calibrate(&mut self, driver: &mut Driver<'_>) -> Result<()> {
        self.record()?;
        driver.note("calibrating the loops, so that all levels do equal work for each process");
        let plan = self.plan.calibration();
        let lab = Laboratory::set_up(&plan, &self.plan_folder, driver)?;
        let run_id = plan.runs().remove(0).1.run_id;
        self.carry_out(lab, driver)?;
        let file = self.folder.join(format!("{run_id}{SUFFIX}"));
        let run = read_run(&file)?;
        let loops = run.lines.iter().rev().find_map(|line| match line {
            Line::Pass(pass) => pass.usage.get(LOOPS).copied(),
            _ => None,
        });
        let not_measured = |why: String| ExperimentError::NotMeasured(why);
        let loops = loops.filter(|_| run.status() == EndStatus::Complete).ok_or_else(|| {
            not_measured(format!("the loops were not calibrated: see {}", file.display()))
        })?;
        fs::rename(&file, self.folder.join(CALIBRATION))
            .map_err(|error| not_measured(format!("keep the calibration: {error}")))?;
        driver.note(&format!("{loops} loops"));
        self.plan = self.plan.clone().with_loops(loops);
        Ok(())
    }

    /// Executes the missing runs of a batch.
    fn measure(&mut self, row: usize, batch: &Batch, driver: &mut Driver<'_>) -> Result<()> {
        self.record()?;
        for part in self.parts(batch) {
            match self.set_up(row, &part, driver) {
                Ok(lab) => self.carry_out(lab, driver)?,
                Err(ExperimentError::Plan(PlanError::Problems(problems)))
                    if self.is_worth_trying(&problems, row)? =>
                {
                    self.level_by_level(row, part, driver)?;
                }
                Err(error) => return Err(error),
            }
        }
        self.record()
    }

    /// Whether some levels may be available though not all are: not if all fail for the same
    /// reason before any measurement.
    fn is_worth_trying(&self, problems: &[String], row: usize) -> Result<bool> {
        let reasons = problems
            .iter()
            .map(|problem| problem.split_once(": ").map_or(problem.as_str(), |(_, reason)| reason));
        let is_one = reasons.collect::<BTreeSet<_>>().len() <= 1;
        let measured = self.curve(row)?.points.iter().any(|point| point.cost.is_some());
        Ok(measured || !is_one || problems.len() < self.search.coarse_levels().len())
    }

    /// Requests the runs of a batch; `false` if all were requested before.
    fn ask(&mut self, row: usize, batch: &Batch) -> bool {
        let before = self.runs.len();
        for (_, run) in self.plan.plan(row, batch, self.deterministic).runs() {
            if !self.runs.iter().any(|known| known.run_id == run.run_id) {
                self.runs.push(run);
            }
        }
        self.runs.len() > before
    }

    /// Parts of a batch that one laboratory can measure.
    fn parts(&self, batch: &Batch) -> Vec<Batch> {
        if self.plan.over != SWAP {
            return vec![batch.clone()];
        }
        let part = |(first_pass, level)| Batch {
            levels: vec![level],
            first_pass,
            passes: 1,
            ..batch.clone()
        };
        batch.measurements().map(part).collect()
    }

    /// Some levels of a batch are unavailable: finds them, and executes the runs of the others.
    fn level_by_level(
        &mut self,
        row: usize,
        mut batch: Batch,
        driver: &mut Driver<'_>,
    ) -> Result<()> {
        for level in std::mem::take(&mut batch.levels) {
            let alone = Batch { levels: vec![level], ..batch.clone() };
            match self.set_up(row, &alone, driver) {
                Ok(mut lab) => {
                    lab.machines.close(driver);
                    batch.levels.push(level);
                }
                Err(ExperimentError::Plan(PlanError::Problems(problems))) => {
                    let why = problems.join("; ");
                    let level = self.plan.quantity.format(level);
                    driver.note_once(format!("{level} is unavailable: {why}"));
                    let runs = self.plan.plan(row, &alone, self.deterministic).runs();
                    self.refused.extend(runs.into_iter().map(|(_, run)| (run.run_id, why.clone())));
                }
                Err(error) => return Err(error),
            }
        }
        match batch.levels.is_empty() {
            true => Ok(()),
            false => {
                let lab = self.set_up(row, &batch, driver)?;
                self.carry_out(lab, driver)
            }
        }
    }

    fn set_up(&self, row: usize, batch: &Batch, driver: &mut Driver<'_>) -> Result<Laboratory> {
        let mut plan = self.plan.plan(row, batch, self.deterministic);
        // Other searches need no run file for that.
        if self.plan.settings.find.price.is_some() {
            plan.base.extend(self.plan.patience(batch, &self.curve(row)?));
        }
        Laboratory::set_up(&plan, &self.plan_folder, driver)
    }

    fn carry_out(&mut self, mut lab: Laboratory, driver: &mut Driver<'_>) -> Result<()> {
        let carried = lab.carry_out(&self.folder, driver)?;
        self.refused.extend(carried.refused);
        match carried.interrupted {
            true => Err(ExperimentError::Interrupted),
            false => Ok(()),
        }
    }
}

/// Whether a job, a probe or a load has this name.
pub fn parameter_of(name: &str) -> Result<&'static str> {
    let kinds: [(&str, Vec<&str>); 3] = [
        ("job", workloads::jobs().map(|job| job.name).collect()),
        ("probe", workloads::probes().map(|probe| probe.name).collect()),
        ("load", workloads::loads_and_provocations().map(|load| load.name).collect()),
    ];
    let found = kinds.iter().find(|(_, names)| names.contains(&name));
    found.map(|(parameter, _)| *parameter).ok_or_else(|| {
        let names: Vec<&str> = kinds.iter().flat_map(|(_, names)| names).copied().collect();
        ExperimentError::WrongUse(format!(
            "neither job, probe nor load is named {name:?}, and a plan's name ends in .toml; there \
             are {}",
            names.join(", ")
        ))
    })
}
