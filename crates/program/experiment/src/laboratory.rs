//! The laboratory: everything the cells of a plan need is set up before the first run, so that all
//! problems are reported together at the start.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use remote::RemoteError;
use vm::VmError;

use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::machines::{CellTarget, Machines};
use crate::plan::{CellPlan, Plan, PlanError, in_words};

/// Most lines shown of a failed build command.
const SHOWN_LINES: usize = 8;

/// A plan with everything that its cells need.
pub struct Laboratory {
    pub(crate) plan: Plan,
    pub(crate) cells: Vec<CellPlan>,
    /// One per cell.
    pub(crate) places: Vec<CellTarget>,
    pub(crate) machines: Machines,
}

impl Laboratory {
    /// Runs the build commands, sets up the machines, and tries every setting. Paths and build
    /// commands start in `folder`. Everything unavailable is one [`PlanError::Problems`].
    pub(crate) fn set_up(plan: &Plan, folder: &Path, driver: &mut Driver<'_>) -> Result<Self> {
        let mut problems = build(plan, folder, driver);
        let (cells, wrong) = plan.resolved(folder)?;
        // Continue with the other cells, to report all problems at once.
        problems.extend(wrong);
        let (mut machines, mut places) = (Machines::default(), Vec::new());
        let purpose = folder.join(&plan.name);
        for cell in &cells {
            match machines.place(cell, &purpose, driver) {
                Ok(place) => places.push(place),
                Err(
                    error @ (ExperimentError::Stage(_)
                    | ExperimentError::Vm(VmError::Interrupted)
                    | ExperimentError::Remote(RemoteError::Interrupted)),
                ) => return Err(error),
                Err(why) => problems.push(format!("{}: {why}", in_words(&cell.named))),
            }
        }
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        match problems.is_empty() {
            true => Ok(Self { plan: plan.clone(), cells, places, machines }),
            false => Err(PlanError::Problems(problems).into()),
        }
    }

    /// Host memory of the largest guest, in bytes; `None` without a guest.
    pub fn largest_guest_bytes(&self) -> Option<u64> {
        self.machines.largest_guest_bytes()
    }
}

/// Runs the build commands of all levels; returns those that failed.
fn build(plan: &Plan, folder: &Path, driver: &mut Driver<'_>) -> Vec<String> {
    let (mut done, mut problems) = (BTreeSet::new(), Vec::new());
    for factor in &plan.factors {
        for level in &factor.levels {
            let Some(command) = &level.build else { continue };
            if !done.insert(command) {
                continue;
            }
            driver.note(&format!("{} {}: {command}", factor.name, level.name));
            if let Err(why) = run_build(command, folder) {
                problems.push(format!("factor {}, level {}: {why}", factor.name, level.name));
            }
        }
    }
    problems
}

/// Runs a build command in a folder; the error is its output.
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
    let told = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n    ");
    Err(format!("{command:?} failed ({}):\n    {told}", output.status))
}
