//! Steps that are levels of a plan's factor.

use std::path::{Path, PathBuf};

use analysis::bisect::{Axis, Measured, Target};
use analysis::{Dataset, OUTCOME, Standing, Trial, from_runs};
use clap::Args;
use kernel_build::commits;
use model::Observation;

use super::Steps;
use crate::carry_out::manifest;
use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::experiment::with_former;
use crate::laboratory::Laboratory;
use crate::plan::{CellPlan, Plan, PlanError, PlanLevel, parse_plan, parse_plan_with, plan_text};
use crate::results_folder::{manifest_of, named_or, open, read_plan, write_manifest, wrong_plan};
use crate::run_result::run_of;

/// Default response: the first of these that a run has.
const USUAL_RESPONSES: [&str; 4] = ["delay_ns", "touch_ns", "cpu_ns", "faults"];

/// Which levels of which plan are the steps, and what is measured of them.
#[derive(Args, Clone, Debug, Default)]
pub struct StepsOfPlan {
    /// The plan (TOML); its factor's levels, in their order, are the steps
    #[arg(value_name = "PLAN", conflicts_with = "run")]
    pub(super) plan: Option<PathBuf>,

    /// The factor whose levels are the steps [default: the plan's only one]
    #[arg(long, value_name = "FACTOR", requires = "plan", conflicts_with_all = ["run", "kernels"])]
    factor: Option<String>,

    /// What is measured, such as faults or cpu_ns [default: the first one that the plan names];
    /// `outcome` finds the first step with a failing run, at any level of the other factors; in
    /// guests this is also tried if the ends do not differ
    #[arg(long, value_name = "RESPONSE", conflicts_with = "run")]
    response: Option<String>,

    /// Measure this part of the whole, such as a command of a session
    #[arg(long, value_name = "PART", conflicts_with = "run")]
    part: Option<String>,

    /// Use the commits GOOD..BAD, including GOOD, as the steps instead of the factor's levels
    #[arg(long, value_name = "GOOD..BAD", requires = "plan", conflicts_with_all = ["run", "kernels"])]
    git: Option<String>,

    /// The repository of --git
    #[arg(long, value_name = "DIR", default_value = ".", requires = "git", conflicts_with = "run")]
    repo: PathBuf,

    /// Folder for the run files [default: named after the plan, in the user's data directory]
    #[arg(long, short, value_name = "DIR", conflicts_with = "run", display_order = 13)]
    output: Option<PathBuf>,
}

/// Steps that are levels of a plan's factor; the other factors stay at their first level.
pub struct LevelSteps {
    request: StepsOfPlan,
    plan: Plan,
    /// Base folder of the plan's paths.
    plan_folder: PathBuf,
    text: String,
    factor: usize,
    folder: PathBuf,
    is_exact: bool,
    target: Target,
}

impl LevelSteps {
    /// The steps of a request. Fails when the plan is unreadable or invalid, or the folder holds
    /// another plan. Different levels are the same bisection: a range of commits may get narrower.
    pub fn new(request: StepsOfPlan) -> Result<Self> {
        let path = request.plan.as_deref().unwrap_or(Path::new(""));
        let (text, plan_folder) = read_plan(path)?;
        let wrong = |error| wrong_plan(path, error);
        let plan = match (&request.git, &request.factor) {
            (None, _) => parse_plan(&text).map_err(wrong)?,
            (Some(range), Some(factor)) => {
                let wrong_range = |why| ExperimentError::WrongUse(format!("--git {range}: {why}"));
                let levels = commits(&request.repo, range).map_err(wrong_range)?;
                let levels: Vec<String> = levels.into_iter().map(|commit| commit.hash).collect();
                parse_plan_with(&text, factor, &levels).map_err(wrong)?
            }
            (Some(_), None) => {
                return Err(ExperimentError::WrongUse(
                    "--git needs the --factor whose levels commits are".to_owned(),
                ));
            }
        };
        let factor = chosen(&plan, request.factor.as_deref()).map_err(ExperimentError::WrongUse)?;
        Self::of_plan(request, plan, plan_folder, text, factor)
    }

    /// The steps of a plan along one of its factors, by index. Fails as [`Self::new`].
    pub(super) fn of_plan(
        request: StepsOfPlan,
        plan: Plan,
        plan_folder: PathBuf,
        text: String,
        factor: usize,
    ) -> Result<Self> {
        let path = request.plan.as_deref().unwrap_or(Path::new(&plan.name));
        let cells = plan.cells(&plan_folder).map_err(|error| wrong_plan(path, error))?;
        let wanted = request.response.iter().chain(&plan.responses).next();
        let target = match wanted.map(String::as_str) {
            Some(OUTCOME) => Target::Failure,
            _ => Target::Change,
        };
        let folder = named_or(request.output.as_deref(), &format!("{}-bisect", plan.name));
        open(&folder, |found| {
            let factors = found.factors.iter().map(|factor| &factor.name);
            found.name == plan.name && factors.eq(plan.factors.iter().map(|factor| &factor.name))
        })?;
        let is_exact = cells.iter().all(CellPlan::is_deterministic);
        Ok(Self { request, plan, plan_folder, text, factor, folder, is_exact, target })
    }

    /// Measures a level that may be none of the steps. Fails as [`Steps::measure`].
    pub(super) fn measure_level(
        &mut self,
        level: &PlanLevel,
        driver: &mut Driver<'_>,
    ) -> Result<Measured> {
        let levels = &mut self.plan.factors[self.factor].levels;
        let index = levels.iter().position(|known| known.name == level.name);
        let index = index.unwrap_or_else(|| {
            levels.push(level.clone());
            levels.len() - 1
        });
        self.text = plan_text(&self.plan);
        self.measure(index, driver)
    }

    /// The plan of a step: the other factors at their first level, or at all levels if any failure
    /// counts.
    fn of_step(&self, step: usize) -> Plan {
        let mut plan = self.plan.at_level(self.factor, step);
        if self.target == Target::Failure {
            return plan;
        }
        for (index, factor) in plan.factors.iter_mut().enumerate() {
            if index != self.factor {
                factor.levels.truncate(1);
            }
        }
        plan
    }

    /// The first seed with which a step has not been measured.
    fn next_seed(&self, step: usize) -> Result<u64> {
        let factor = &self.plan.factors[self.factor];
        let name = &factor.levels[step].name;
        let manifest = manifest_of(&self.folder)?;
        let runs = manifest.iter().flat_map(|manifest| &manifest.runs);
        let of_step = runs.filter(|run| run.levels.get(&factor.name) == Some(name));
        let first = self.plan.seeds.first().copied().unwrap_or(1);
        Ok(of_step.map(|run| run.seed).max().map_or(first, |last| last + 1))
    }

    fn record(&self, plan: &Plan) -> Result<Vec<String>> {
        let mut now = manifest(plan, &self.text);
        let names: Vec<String> = now.runs.iter().map(|run| run.run_id.clone()).collect();
        let all = self.plan.factors[self.factor].levels.iter();
        now.factors[self.factor].levels = all.map(|level| level.name.clone()).collect();
        let former = manifest_of(&self.folder)?;
        write_manifest(&with_former(now, former.as_ref()), &self.folder)?;
        Ok(names)
    }

    fn values(&self, names: &[String]) -> Result<Measured> {
        let mut runs = Vec::new();
        for name in names {
            runs.extend(run_of(&self.folder, name)?.map(|(_, run)| (name.clone(), run)));
        }
        let set = from_runs("", &runs);
        let mut values = Vec::new();
        for trial in &set.trials {
            let remark = || format!("{}: {}", trial.name, trial.remark().unwrap_or_default());
            match (trial.standing(), self.target) {
                (Standing::Excluded, _) => return Ok(Measured::Skip(remark())),
                (Standing::Failed, _) => return Ok(Measured::Failed(remark())),
                _ if trial.failed() == Some(true) && self.target == Target::Failure => {
                    return Ok(Measured::Failed(remark()));
                }
                // Only its ending was requested.
                (Standing::Counts, Target::Failure) => {
                    values.push(0.0);
                    continue;
                }
                (Standing::Counts, Target::Change) => {}
            }
            match self.value(&set, trial) {
                Some(value) if value.is_lower_bound => return Ok(Measured::Failed(remark())),
                Some(value) => values.push(value.value),
                None => return Ok(Measured::Skip(self.nothing(trial))),
            }
        }
        Ok(match values.len() == names.len() {
            true => Measured::Values(values),
            false => Measured::Skip("no run was executed".to_owned()),
        })
    }

    fn response(&self, set: &Dataset, trial: &Trial) -> Option<String> {
        let named = self.request.response.iter().chain(&self.plan.responses).cloned();
        let usual = set.usual.iter().cloned().chain(USUAL_RESPONSES.map(str::to_owned));
        let has = |name: &String| trial.samples(self.request.part.as_deref(), name).is_some();
        match &self.request.response {
            Some(response) => Some(response.clone()),
            None => named.chain(usual).find(has),
        }
    }

    fn value(&self, set: &Dataset, trial: &Trial) -> Option<Observation> {
        let response = self.response(set, trial)?;
        stats::bounded_median(trial.samples(self.request.part.as_deref(), &response)?)
    }

    fn nothing(&self, trial: &Trial) -> String {
        let has: Vec<String> = trial
            .values
            .iter()
            .map(|values| match &values.part {
                None => values.response.clone(),
                Some(part) => format!("{} of {part}", values.response),
            })
            .collect();
        format!("{} has no such response; it has {}", trial.name, has.join(", "))
    }
}

fn chosen(plan: &Plan, name: Option<&str>) -> Result<usize, String> {
    let names: Vec<&str> = plan.factors.iter().map(|factor| factor.name.as_str()).collect();
    match name {
        Some(name) => names
            .iter()
            .position(|known| *known == name)
            .ok_or_else(|| format!("the plan has no factor {name:?}; it has {}", names.join(", "))),
        None if names.len() == 1 => Ok(0),
        None => {
            Err(format!("the plan has the factors {}; name one with --factor", names.join(", ")))
        }
    }
}

impl Steps for LevelSteps {
    fn axis(&self) -> Axis {
        let factor = &self.plan.factors[self.factor];
        let response = self.request.response.iter().chain(&self.plan.responses).next();
        let response = response.map_or("measurement", String::as_str);
        Axis {
            name: factor.name.clone(),
            steps: factor.levels.iter().map(|level| level.name.clone()).collect(),
            response: match &self.request.part {
                None => response.to_owned(),
                Some(part) => format!("{response} of {part}"),
            },
        }
    }

    fn is_exact(&self) -> bool {
        self.is_exact
    }

    fn target(&self) -> Target {
        self.target
    }

    fn seek_failures(&mut self) -> bool {
        // Elsewhere each level takes its time again, and there may be thousands of commits.
        let is_cheap = self.is_exact && self.request.git.is_none();
        let may = is_cheap && self.request.response.is_none() && self.target == Target::Change;
        if may {
            self.target = Target::Failure;
        }
        may
    }

    fn at_hand(&self) -> Result<Vec<(usize, f64)>> {
        let Some(manifest) = manifest_of(&self.folder)? else { return Ok(Vec::new()) };
        let factor = &self.plan.factors[self.factor];
        let mut cells = Vec::new();
        for step in 0..factor.levels.len() {
            let of_step = self.of_step(step).cells(&self.plan_folder);
            cells.push(of_step.ok().and_then(|cells| cells.into_iter().next()));
        }
        let mut found = Vec::new();
        for run in &manifest.runs {
            let level = run.levels.get(&factor.name);
            let step = factor.levels.iter().position(|known| Some(&known.name) == level);
            let (Some(step), Ok(Some((_, file)))) = (step, run_of(&self.folder, &run.run_id))
            else {
                continue;
            };
            let is_of = |cell: &CellPlan| {
                file.header.as_ref().is_some_and(|header| cell.describes(&header.spec))
            };
            if !cells[step].as_ref().is_some_and(is_of) {
                continue;
            }
            let set = from_runs("", &[(run.run_id.clone(), file)]);
            let counts = |trial: &&Trial| trial.standing() == Standing::Counts;
            let Some(trial) = set.trials.first().filter(counts) else { continue };
            if let Some(value) = self.value(&set, trial).filter(|value| !value.is_lower_bound) {
                found.push((trial.started_unix_ns, step, value.value));
            }
        }
        found.sort_by_key(|(started, ..)| *started);
        Ok(found.into_iter().map(|(_, step, value)| (step, value)).collect())
    }

    fn repeatable_run(&self, step: usize) -> Option<PathBuf> {
        let manifest = manifest_of(&self.folder).ok().flatten().filter(|_| self.is_exact)?;
        let factor = &self.plan.factors[self.factor];
        let level = Some(&factor.levels[step].name);
        let run = manifest.runs.iter().find(|run| run.levels.get(&factor.name) == level)?;
        run_of(&self.folder, &run.run_id).ok().flatten().map(|(path, _)| path)
    }

    fn measure(&mut self, step: usize, driver: &mut Driver<'_>) -> Result<Measured> {
        let mut plan = self.of_step(step);
        if !self.is_exact && self.target == Target::Change {
            plan.seeds = vec![self.next_seed(step)?];
        }
        let mut lab = match Laboratory::set_up(&plan, &self.plan_folder, driver) {
            Err(ExperimentError::Plan(PlanError::Problems(problems))) => {
                return Ok(Measured::Skip(problems.join("; ")));
            }
            lab => lab?,
        };
        let names = self.record(&plan)?;
        let carried = lab.carry_out(&self.folder, driver)?;
        match carried.refused.into_values().next() {
            _ if carried.interrupted => Err(ExperimentError::Interrupted),
            Some(why) => Ok(Measured::Skip(why)),
            None => self.values(&names),
        }
    }
}
