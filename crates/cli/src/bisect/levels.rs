//! Steps that are levels of a plan's factor.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use agent::Waiter;
use analysis::bisect::{Measured, Target};
use analysis::{OUTCOME, Standing, Trial, from_runs};
use anyhow::{Context, anyhow};
use experiment::{
    CellPlan, ExperimentError, Laboratory, Plan, PlanError, manifest, parse_plan, parse_plan_with,
};
use model::{Manifest, ManifestFactor, Observation};
use report::Axis;
use store::results::{SUFFIX, read_run};

use super::Steps;
use crate::Failure;
use crate::bisect_args::BisectArgs;
use crate::laboratory::failure;
use crate::progress::Progress;

/// What is measured if nothing is named: the first of these that a run has.
const USUAL_RESPONSES: [&str; 4] = ["delay_ns", "touch_ns", "cpu_ns", "faults"];

/// Steps that are levels of a plan's factor; the other factors stay at their first level.
pub(super) struct PlanSteps<'a> {
    args: &'a BisectArgs,
    waiter: &'a Waiter,
    plan: Plan,
    text: String,
    factor: usize,
    plan_folder: PathBuf,
    folder: PathBuf,
    is_exact: bool,
    target: Target,
}

impl<'a> PlanSteps<'a> {
    pub(super) fn new(args: &'a BisectArgs, waiter: &'a Waiter) -> Result<Self, Failure> {
        let path = args.plan.clone().unwrap_or_default();
        let text = fs::read_to_string(&path)
            .with_context(|| format!("read the plan {}", path.display()))
            .map_err(Failure::WrongUse)?;
        let wrong = |error: PlanError| Failure::WrongUse(anyhow!("{}: {error}", path.display()));
        let plan = match &args.git {
            None => parse_plan(&text).map_err(wrong)?,
            Some(range) => {
                let factor = args.factor.as_deref().ok_or_else(|| {
                    Failure::WrongUse(anyhow!("--git needs the --factor whose levels commits are"))
                })?;
                parse_plan_with(&text, factor, &commits(range, &args.repo)?).map_err(wrong)?
            }
        };
        let factor = chosen(&plan, args.factor.as_deref()).map_err(Failure::WrongUse)?;
        let plan_folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let cells = plan.cells(&plan_folder).map_err(wrong)?;
        let wanted = args.response.iter().chain(&plan.responses).next();
        let target = match wanted.map(String::as_str) {
            Some(OUTCOME) => Target::Failure,
            _ => Target::Change,
        };
        let default = || store::results::default_folder().join(format!("{}-bisect", plan.name));
        let steps = Self {
            folder: args.output.clone().unwrap_or_else(default),
            is_exact: cells.iter().all(experiment::CellPlan::is_deterministic),
            target,
            args,
            waiter,
            text,
            factor,
            plan_folder,
            plan,
        };
        steps.check_folder()?;
        Ok(steps)
    }

    /// Fails if the folder has something else. Other levels are no other bisection: of commits, the
    /// range may become narrower.
    fn check_folder(&self) -> Result<(), Failure> {
        let Some(found) = self.manifest()? else {
            return crate::experiment::no_runs(&self.folder);
        };
        let factors = found.factors.iter().map(|factor| &factor.name);
        let is_ours = found.name == self.plan.name
            && factors.eq(self.plan.factors.iter().map(|factor| &factor.name));
        if is_ours { Ok(()) } else { Err(crate::experiment::of_another(&self.folder, &found)) }
    }

    /// The plan of a step: the other factors at their first level, or at all of them where any
    /// failure counts.
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

    /// The seed with which a step has not been measured yet.
    fn next_seed(&self, step: usize) -> Result<u64, Failure> {
        let factor = &self.plan.factors[self.factor];
        let name = &factor.levels[step].name;
        let manifest = self.manifest()?;
        let runs = manifest.iter().flat_map(|manifest| &manifest.runs);
        let of_step = runs.filter(|run| run.levels.get(&factor.name) == Some(name));
        let first = self.plan.seeds.first().copied().unwrap_or(1);
        Ok(of_step.map(|run| run.seed).max().map_or(first, |last| last + 1))
    }

    /// The manifest of everything that was measured.
    fn remember(&self, lab: &Laboratory, plan: &Plan) -> Result<Vec<String>, Failure> {
        let mut now = manifest(plan, lab.cells(), &self.text);
        let names: Vec<String> = now.runs.iter().map(|run| run.run_id.clone()).collect();
        now.factors = self
            .plan
            .factors
            .iter()
            .zip(&plan.factors)
            .enumerate()
            .map(|(index, (all, kept))| {
                let levels = if index == self.factor { &all.levels } else { &kept.levels };
                let levels = levels.iter().map(|level| level.name.clone()).collect();
                ManifestFactor { name: all.name.clone(), levels }
            })
            .collect();
        let former = self.manifest()?;
        let written = crate::experiment::with_former(now, former.as_ref());
        store::manifest::write(&written, &self.folder).context("write the manifest")?;
        Ok(names)
    }

    fn manifest(&self) -> Result<Option<Manifest>, Failure> {
        store::manifest::read(&self.folder).context("read the manifest").map_err(Failure::WrongUse)
    }

    /// The values of runs, or why there are none.
    fn values(&self, names: &[String]) -> Result<Measured, Failure> {
        let mut runs = Vec::new();
        for name in names {
            let path = self.folder.join(format!("{name}{SUFFIX}"));
            if path.exists() {
                runs.push((name.clone(), read_run(&path).context("read a run")?));
            }
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
                // Nothing but its end was asked for.
                (Standing::Counts, Target::Failure) => {
                    values.push(0.0);
                    continue;
                }
                (Standing::Counts, Target::Change) => {}
            }
            match self.value(trial) {
                Some(value) if value.is_lower_bound => return Ok(Measured::Failed(remark())),
                Some(value) => values.push(value.value),
                None => return Ok(Measured::Skip(self.nothing(trial))),
            }
        }
        Ok(match values.len() == names.len() {
            true => Measured::Values(values),
            false => Measured::Skip("no run was made".to_owned()),
        })
    }

    fn response(&self, trial: &Trial) -> Option<String> {
        let named = self.args.response.iter().chain(&self.plan.responses).cloned();
        let usual = USUAL_RESPONSES.map(str::to_owned);
        let has = |name: &String| trial.samples(self.args.part.as_deref(), name).is_some();
        match &self.args.response {
            Some(response) => Some(response.clone()),
            None => named.chain(usual).find(has),
        }
    }

    fn value(&self, trial: &Trial) -> Option<Observation> {
        stats::bounded_median(trial.samples(self.args.part.as_deref(), &self.response(trial)?)?)
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

/// The factor that is meant.
fn chosen(plan: &Plan, name: Option<&str>) -> anyhow::Result<usize> {
    let names: Vec<&str> = plan.factors.iter().map(|factor| factor.name.as_str()).collect();
    match name {
        Some(name) => names
            .iter()
            .position(|known| *known == name)
            .ok_or_else(|| anyhow!("the plan has no factor {name:?}; it has {}", names.join(", "))),
        None if names.len() == 1 => Ok(0),
        None => {
            Err(anyhow!("the plan has the factors {}; name one with --factor", names.join(", ")))
        }
    }
}

/// The commits of a range in the order of their history, the good end among them.
fn commits(range: &str, repo: &Path) -> Result<Vec<String>, Failure> {
    let wrong = |why: String| Failure::WrongUse(anyhow!("--git {range}: {why}"));
    let (good, bad) = range.split_once("..").ok_or_else(|| wrong("it is not GOOD..BAD".into()))?;
    let git = |arguments: &[&str]| -> Result<Vec<String>, Failure> {
        let output = Command::new("git")
            .arg("-C")
            .arg(repo)
            .args(arguments)
            .output()
            .map_err(|error| wrong(format!("start git: {error}")))?;
        if !output.status.success() {
            return Err(wrong(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    };
    let mut names =
        git(&["rev-parse", "--verify", "--end-of-options", &format!("{good}^{{commit}}")])?;
    let between = format!("{good}..{bad}");
    names.extend(git(&["rev-list", "--reverse", "--first-parent", "--end-of-options", &between])?);
    Ok(names)
}

impl Steps for PlanSteps<'_> {
    fn axis(&self) -> Axis {
        let factor = &self.plan.factors[self.factor];
        let response = self.args.response.iter().chain(&self.plan.responses).next();
        let response = response.map_or("measurement", String::as_str);
        Axis {
            name: factor.name.clone(),
            steps: factor.levels.iter().map(|level| level.name.clone()).collect(),
            response: match &self.args.part {
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
        // Elsewhere each level takes its time again, and of commits there may be thousands.
        let is_cheap = self.is_exact && self.args.git.is_none();
        let may = is_cheap && self.args.response.is_none() && self.target == Target::Change;
        if may {
            self.target = Target::Failure;
        }
        may
    }

    fn at_hand(&self) -> Result<Vec<(usize, f64)>, Failure> {
        let Some(manifest) = self.manifest()? else { return Ok(Vec::new()) };
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
            let (Some(step), Ok(file)) =
                (step, read_run(&self.folder.join(format!("{}{SUFFIX}", run.run_id))))
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
            if let Some(value) = self.value(trial).filter(|value| !value.is_lower_bound) {
                found.push((trial.started_unix_ns, step, value.value));
            }
        }
        found.sort_by_key(|(started, ..)| *started);
        Ok(found.into_iter().map(|(_, step, value)| (step, value)).collect())
    }

    fn measure(&mut self, step: usize, progress: &mut Progress) -> Result<Measured, Failure> {
        let mut plan = self.of_step(step);
        if !self.is_exact && self.target == Target::Change {
            plan.seeds = vec![self.next_seed(step)?];
        }
        let lab_args = &self.args.lab;
        let set = lab_args.set_up(&plan, &self.plan_folder, self.waiter, progress);
        let mut lab = match set {
            Ok(lab) => lab,
            Err(ExperimentError::Plan(PlanError::Problems(problems))) => {
                return Ok(Measured::Skip(problems.join("; ")));
            }
            Err(error) => return Err(failure(error, self.waiter)),
        };
        let names = self.remember(&lab, &plan)?;
        let carried = lab_args
            .carry_out(&mut lab, &self.folder, self.waiter, progress)
            .map_err(|error| failure(error, self.waiter))?;
        if carried.interrupted {
            return Err(Failure::Interrupted);
        }
        match carried.refused.values().next() {
            Some(why) => Ok(Measured::Skip(why.clone())),
            None => self.values(&names),
        }
    }
}
