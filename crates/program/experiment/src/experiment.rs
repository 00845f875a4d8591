//! The driver of an experiment: a plan of factors becomes runs, including those of an earlier
//! invocation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use model::{Manifest, ManifestAb, ManifestRun};

use crate::carry_out::{RunTally, aliases, factors, manifest};
use crate::cell_list::bound_to_host;
use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::laboratory::Laboratory;
use crate::plan::{Plan, parse_plan};
use crate::results_folder::{named_or, open, read_plan, write_manifest, wrong_plan};
use crate::typed::{Seeds, seeds};

/// Typed options, which override the plan.
#[derive(Args, Clone, Debug)]
pub struct PlanChanges {
    /// Run the first cell against itself: any difference is noise
    #[arg(long, display_order = 3)]
    pub aa: bool,

    /// Blocks, each a pass through all cells [default: the plan's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub blocks: Option<u32>,

    /// Seeds of the blocks: 20 (1 to 20), 5..9 or 1,2,7 [default: the plan's]
    #[arg(long, value_name = "SEEDS", conflicts_with = "blocks", value_parser = seeds)]
    pub seeds: Option<Seeds>,
}

/// An experiment under way.
pub struct Experiment {
    /// Its plan, with what was typed.
    pub plan: Plan,
    /// Results folder.
    pub folder: PathBuf,
    /// Base folder of the plan's paths.
    plan_folder: PathBuf,
    text: String,
    /// The looks of a comparison that is looked at as it grows.
    pub(crate) ab: Option<ManifestAb>,
    /// The folder's earlier manifest.
    former: Option<Manifest>,
}

impl Experiment {
    /// Reads a plan. Fails when it is unreadable or invalid.
    pub fn new(path: &Path, changes: &PlanChanges, output: Option<&Path>) -> Result<Self> {
        let (text, plan_folder) = read_plan(path)?;
        let mut plan = parse_plan(&text).map_err(|error| wrong_plan(path, error))?;
        if let Some(blocks) = changes.blocks {
            let further = (1..).filter(|seed| !plan.seeds.contains(seed));
            let seeds = plan.seeds.iter().copied().chain(further);
            plan.seeds = seeds.take(blocks as usize).collect();
        }
        if let Some(seeds) = &changes.seeds {
            plan.seeds.clone_from(seeds);
        }
        if changes.aa {
            plan = plan.against_itself();
        }
        Ok(Self {
            folder: named_or(output, &plan.name),
            plan_folder,
            plan,
            text,
            ab: None,
            former: None,
        })
    }

    /// An experiment of a plan that was built here, with its text. Its paths begin in the current
    /// folder.
    pub(crate) fn of_plan(plan: Plan, text: String, folder: PathBuf) -> Self {
        Self { plan, text, folder, plan_folder: PathBuf::new(), ab: None, former: None }
    }

    /// The resolved manifest of the plan. The error names what cannot be set.
    pub fn planned(&self) -> Result<Manifest> {
        let cells = self.plan.cells(&self.plan_folder);
        cells.map_err(|error| ExperimentError::WrongUse(error.to_string()))?;
        Ok(manifest(&self.plan, &self.text))
    }

    /// Continues with the folder's runs of this experiment, if any; more blocks do not make another plan.
    /// Fails when it holds another experiment.
    pub fn open(&mut self) -> Result<()> {
        let Self { plan, folder, .. } = self;
        let is_same =
            |former: &Manifest| former.name == plan.name && former.factors == factors(plan);
        self.former = open(folder, is_same)?;
        Ok(())
    }

    /// Fails if only this host can run some cells. The error names the cells and reasons.
    pub fn may_go_elsewhere(&self) -> Result<()> {
        // What cannot be set at all is reported at set-up.
        let cells = self.plan.cells(&self.plan_folder).unwrap_or_default();
        let reasons = bound_to_host(&cells);
        match reasons.is_empty() {
            true => Ok(()),
            false => {
                Err(ExperimentError::WrongUse(format!("not on a fleet: {}", reasons.join("; "))))
            }
        }
    }

    /// Sets up everything the plan needs. Fails as [`Laboratory::set_up`].
    pub fn set_up(&self, driver: &mut Driver<'_>) -> Result<Laboratory> {
        let lab = Laboratory::set_up(&self.plan, &self.plan_folder, driver)?;
        for line in aliases(&self.plan) {
            driver.note(&format!("confounded in this fraction: {line}"));
        }
        Ok(lab)
    }

    /// Executes the runs missing from the folder.
    pub fn run(&self, lab: &mut Laboratory, driver: &mut Driver<'_>) -> Result<RunTally> {
        self.record(&lab.plan)?;
        lab.carry_out(&self.folder, driver)
    }

    /// Writes the manifest of a plan as it is carried out, with the folder's earlier runs.
    pub(crate) fn record(&self, plan: &Plan) -> Result<()> {
        let planned = Manifest { ab: self.ab.clone(), ..manifest(plan, &self.text) };
        let manifest = with_former(planned, self.former.as_ref());
        match self.former.as_ref() == Some(&manifest) {
            true => Ok(()),
            false => write_manifest(&manifest, &self.folder),
        }
    }

    /// The plan as its author wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the folder has earlier runs.
    pub(crate) fn has_former(&self) -> bool {
        self.former.is_some()
    }
}

/// The manifest with the additional runs of a former one: more blocks, other seeds. Each block has
/// its own seed, so a seed that only the former has gets a new block.
pub(crate) fn with_former(mut manifest: Manifest, former: Option<&Manifest>) -> Manifest {
    let mut blocks: BTreeMap<u64, u32> =
        manifest.runs.iter().map(|run| (run.seed, run.block)).collect();
    for run in former.into_iter().flat_map(|former| &former.runs) {
        if !manifest.runs.iter().any(|other| other.run_id == run.run_id) {
            let next = blocks.values().max().map_or(0, |last| last + 1);
            let block = *blocks.entry(run.seed).or_insert(next);
            manifest.runs.push(ManifestRun { block, ..run.clone() });
        }
    }
    manifest
}
