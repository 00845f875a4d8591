//! The laboratory: everything that the cells of a plan need, made before the first run, so that
//! whatever cannot be had is found then, and all of it at once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use agent::Waiter;
use keep::Cells;
use model::{MmuSpec, Spec, SubjectSpec, VmSpec};
use remote::{RemoteError, RemoteOptions, Session};
use subject::{Asked, Stage, StageError, StageOptions};
use vm::{Stop, Vm, VmError, VmOptions};

use crate::error::ExperimentError;
use crate::plan::{CellPlan, Plan, PlanError};
use crate::simulated::simulated_key;
use crate::subject_arg::{self, RemoteArg, SubjectArg};

/// Most lines of a failed build command that are told.
const TOLD_LINES: usize = 8;

/// What a laboratory needs to know.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// The folder of the plan: where its paths and build commands begin.
    pub folder: PathBuf,
    /// How guests are run.
    pub guests: VmOptions,
    /// Where the files of loads and probes go on this host, and on others.
    pub work_dir: Option<PathBuf>,
    /// How sessions on other hosts are held; purpose, work directory and swap are the plan's.
    pub remote: RemoteOptions,
    /// Where finished simulations are taken from and kept; they are not, if missing.
    pub simulated: Option<Cells>,
}

/// Where a cell's runs take place.
pub(crate) enum Place {
    /// On the stage.
    Stage(SubjectSpec),
    /// In the session of this index.
    Remote(usize, SubjectSpec),
    /// In the machine of this index.
    Guest(usize),
    /// On a simulated machine.
    Simulator(Box<MmuSpec>),
}

/// What the cells of a plan need, ready.
pub struct Laboratory {
    pub(crate) plan: Plan,
    pub(crate) cells: Vec<CellPlan>,
    /// One a cell.
    pub(crate) places: Vec<Place>,
    pub(crate) stage: Option<Stage>,
    /// Sessions on other hosts, with the swap file that they have there.
    pub(crate) sessions: Vec<(Option<u64>, Session)>,
    pub(crate) machines: Vec<(VmSpec, Vm)>,
    pub(crate) simulated: Option<Cells>,
}

/// Collects problems, each once.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: String) {
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }
}

impl Laboratory {
    /// Builds what levels are to be built from, sets the stage, boots the machines, and tries every
    /// setting.
    ///
    /// # Errors
    /// All that cannot be had, as [`PlanError::Problems`]; or that the user stopped it.
    pub fn set_up(
        plan: &Plan,
        options: &LabOptions,
        waiter: &Waiter,
        stop: Stop<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, ExperimentError> {
        let mut problems = Problems::default();
        build(plan, options, say, &mut problems);
        let (cells, wrong) = plan.resolved(&options.folder)?;
        // The other cells are tried all the same, so that all problems are told at once.
        wrong.into_iter().for_each(|problem| problems.add(problem));
        let mut lab = Self {
            plan: plan.clone(),
            cells,
            places: Vec::new(),
            stage: None,
            sessions: Vec::new(),
            machines: Vec::new(),
            simulated: options.simulated.clone(),
        };
        lab.set_stage(options, waiter, say, &mut problems)?;
        for index in 0..lab.cells.len() {
            let cell = lab.cells[index].clone();
            let made = match &cell.subject {
                Some(SubjectArg::Vm(request)) => {
                    lab.machine(&subject_arg::vm_spec(request), options, stop, say)
                }
                Some(SubjectArg::Mmu(mmu)) => Ok(Place::Simulator(mmu.clone())),
                Some(SubjectArg::Remote(remote)) => {
                    lab.on_remote(&cell, remote, options, waiter, say)
                }
                Some(SubjectArg::Here(asked)) => lab.on_stage(&cell, Some(asked), say),
                None => lab.on_stage(&cell, None, say),
            };
            match made {
                Ok(place) => lab.places.push(place),
                Err(
                    error @ (ExperimentError::Vm(VmError::Interrupted)
                    | ExperimentError::Remote(RemoteError::Interrupted)),
                ) => return Err(error),
                Err(why) => problems.add(format!("{}: {why}", asked_by(&cell))),
            }
        }
        match problems.0.is_empty() {
            true => Ok(lab),
            false => Err(PlanError::Problems(problems.0).into()),
        }
    }

    /// The cells of the plan.
    #[must_use]
    pub fn cells(&self) -> &[CellPlan] {
        &self.cells
    }

    /// Memory that the largest machine takes of this host, in bytes; `None` without a machine.
    #[must_use]
    pub fn largest_machine_bytes(&self) -> Option<u64> {
        self.machines.iter().map(|(spec, _)| spec.machine.ram_bytes()).max()
    }

    /// Whether a finished simulation is kept.
    pub(crate) fn has_simulated(&self, spec: &Spec) -> bool {
        let key = simulated_key(spec);
        self.simulated.as_ref().zip(key.ok()).is_some_and(|(cells, key)| cells.get(&key).is_some())
    }

    /// Removes what was made on this host and others; what cannot be removed is named with the
    /// reason.
    pub fn strike(&mut self, waiter: &Waiter) -> Vec<String> {
        let mut left = self.stage.as_mut().map_or_else(Vec::new, Stage::remove_all);
        left.extend(self.sessions.iter_mut().flat_map(|(_, session)| session.close(waiter)));
        left
    }

    /// The stage, if any cell runs on this host.
    fn set_stage(
        &mut self,
        options: &LabOptions,
        waiter: &Waiter,
        say: &mut dyn FnMut(&str),
        problems: &mut Problems,
    ) -> Result<(), ExperimentError> {
        let is_elsewhere =
            |cell: &CellPlan| !matches!(cell.subject, None | Some(SubjectArg::Here(_)));
        if self.cells.iter().all(is_elsewhere) {
            return Ok(());
        }
        let here = self.cells.iter().filter(|cell| !is_elsewhere(cell));
        let sizes: BTreeSet<Option<u64>> = here.map(|cell| cell.swap_bytes).collect();
        if sizes.len() > 1 {
            problems.add(
                "swap: the swap file of this host is the same in all cells; vary it in a guest \
                 (subject.swap) instead"
                    .to_owned(),
            );
        }
        let options = StageOptions {
            work_dir: options.work_dir.clone(),
            swap_bytes: sizes.into_iter().flatten().next(),
            ..StageOptions::default()
        };
        let stage = Stage::set(&options, waiter)?;
        for removed in &stage.swept.removed {
            say(&format!("removed what a killed run had left: {removed}"));
        }
        for left in &stage.swept.failed {
            say(&format!("what a killed run had left cannot be removed: {left}"));
        }
        self.stage = Some(stage);
        Ok(())
    }

    /// A place on the stage for a cell whose settings can all be had.
    fn on_stage(
        &mut self,
        cell: &CellPlan,
        asked: Option<&Asked>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Place, ExperimentError> {
        let Some(stage) = &mut self.stage else {
            return Err(ExperimentError::Place("there is no stage".to_owned()));
        };
        let (subject, note) = subject::resolve(asked, stage).map_err(ExperimentError::Place)?;
        if let Some(note) = note {
            say(&note);
        }
        let problems = stage.try_parameters(&cell.sysctls);
        match problems.is_empty() {
            true => Ok(Place::Stage(subject)),
            false => {
                let problems: Vec<String> = problems.iter().map(StageError::to_string).collect();
                Err(ExperimentError::Place(problems.join("; ")))
            }
        }
    }

    /// A place in a session on another host for a cell whose settings can all be had there.
    fn on_remote(
        &mut self,
        cell: &CellPlan,
        remote: &RemoteArg,
        options: &LabOptions,
        waiter: &Waiter,
        say: &mut dyn FnMut(&str),
    ) -> Result<Place, ExperimentError> {
        let index = self.session(cell, remote, options, waiter, say)?;
        let asked = remote.subject.as_ref();
        let (subject, note) = self.sessions[index].1.prepare(asked, &cell.sysctls, waiter, say)?;
        if let Some(note) = note {
            say(&format!("{}: {note}", remote.address));
        }
        Ok(Place::Remote(index, subject))
    }

    /// The session on a host, opened unless an earlier cell has the same.
    fn session(
        &mut self,
        cell: &CellPlan,
        remote: &RemoteArg,
        options: &LabOptions,
        waiter: &Waiter,
        say: &mut dyn FnMut(&str),
    ) -> Result<usize, ExperimentError> {
        let swap_bytes = cell.swap_bytes;
        let known = self.sessions.iter().position(|(_, known)| *known.address() == remote.address);
        if let Some(index) = known {
            return match self.sessions[index].0 == swap_bytes {
                true => Ok(index),
                false => Err(ExperimentError::Place(format!(
                    "swap: the swap file of {} is the same in all cells",
                    remote.address
                ))),
            };
        }
        let options = RemoteOptions {
            purpose: options.folder.join(&self.plan.name),
            work_dir: options.work_dir.clone(),
            swap_bytes,
            ..options.remote.clone()
        };
        let session = Session::open(&remote.address, &options, waiter, say)?;
        self.sessions.push((swap_bytes, session));
        Ok(self.sessions.len() - 1)
    }

    /// The machine of a cell, booted unless an earlier cell has the same.
    fn machine(
        &mut self,
        (spec, note): &(VmSpec, Option<String>),
        options: &LabOptions,
        stop: Stop<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Place, ExperimentError> {
        if let Some(index) = self.machines.iter().position(|(other, _)| other == spec) {
            return Ok(Place::Guest(index));
        }
        if let Some(note) = note {
            say(note);
        }
        let overlay = spec.overlay.as_ref().map_or_else(String::new, |path| format!(", {path}"));
        say(&format!("{} with {}{overlay}", spec.machine.name, spec.kernel));
        let vm = Vm::prepare(spec, &options.guests, stop)?;
        self.machines.push((spec.clone(), vm));
        Ok(Place::Guest(self.machines.len() - 1))
    }
}

/// Which levels ask for what a cell needs.
fn asked_by(cell: &CellPlan) -> String {
    let levels: Vec<String> =
        cell.named.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
    levels.join(", ")
}

/// Runs the build commands of all levels.
fn build(plan: &Plan, options: &LabOptions, say: &mut dyn FnMut(&str), problems: &mut Problems) {
    let mut done = BTreeSet::new();
    for factor in &plan.factors {
        for level in &factor.levels {
            let Some(command) = &level.build else { continue };
            if !done.insert(command) {
                continue;
            }
            say(&format!("{} {}: {command}", factor.name, level.name));
            if let Err(why) = run_build(command, &options.folder) {
                problems.add(format!("factor {}, level {}: {why}", factor.name, level.name));
            }
        }
    }
}

/// Runs a build command in a folder.
///
/// # Errors
/// What it said, if it failed.
fn run_build(command: &str, folder: &Path) -> Result<(), String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .output()
        .map_err(|error| format!("start {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    let told = lines[lines.len().saturating_sub(TOLD_LINES)..].join("\n    ");
    Err(format!("{command:?} failed ({}):\n    {told}", output.status))
}
