//! A job on a simulated machine at given levels of a parameter: a sweep without a search.

use std::path::Path;

use model::{Manifest, ManifestRun, ManifestSweep, SubjectSpec};

use crate::carry_out::manifest;
use crate::parallel::in_parallel;
use crate::plan::{Design, Order, Plan, PlanFactor, PlanLevel};
use crate::sweep::{SearchArgs, SweepPlan};
use crate::typed::Setting;
use crate::{PlanError, SubjectArg};
use simulated::simulated_run;

/// The levels of one parameter, each simulated with every seed.
pub struct SimulatedLevels(Plan);

/// A simulated run: the index of its level, how its manifest lists it, and its file.
pub type SimulatedRun = (usize, ManifestRun, Vec<u8>);

impl SimulatedLevels {
    /// The levels of `over` on what `base` describes.
    pub fn new(
        name: String,
        base: Vec<Setting>,
        over: &str,
        levels: &[String],
        seeds: &[u64],
    ) -> Self {
        let level = |level: &String| PlanLevel {
            name: level.clone(),
            settings: vec![(over.to_owned(), level.clone())],
            build: None,
        };
        let levels = levels.iter().map(level).collect();
        Self(Plan {
            name,
            design: Design::Full,
            seeds: seeds.to_vec(),
            order: Order::UpAndDown { first_block: 0 },
            responses: Vec::new(),
            base,
            factors: vec![PlanFactor { name: over.to_owned(), levels }],
            first_cell: 1,
        })
    }

    /// All runs with their cells, level by level and seed by seed.
    fn runs(&self) -> Vec<(usize, ManifestRun)> {
        let mut runs = self.0.runs();
        runs.sort_by_key(|(cell, run)| (*cell, run.block));
        runs
    }

    /// Simulates all runs, in this order, several at a time. Fails when a level cannot be
    /// set or simulated.
    pub fn simulate(&self, jobs: usize) -> Result<Vec<SimulatedRun>, PlanError> {
        let cells = self.0.cells(Path::new(""))?;
        let runs = self.runs();
        let make = |index: usize| {
            let (cell, run): &(usize, ManifestRun) = &runs[index];
            let Some(SubjectArg::Mmu(mmu)) = &cells[*cell].subject else {
                return Err(PlanError::Wrong("it is not simulated".to_owned()));
            };
            let spec = cells[*cell].spec(SubjectSpec::Mmu(mmu.clone()), run.seed, 0, 0);
            let bytes = simulated_run(&spec, &run.run_id).map_err(PlanError::Wrong)?;
            Ok((*cell, run.clone(), bytes))
        };
        in_parallel(runs.len(), jobs, make).into_iter().collect()
    }

    /// The manifest of these runs. The plan is that of an equivalent sweep; empty for a single
    /// level.
    pub fn manifest(&self) -> Manifest {
        let plan = &self.0;
        let PlanFactor { name: over, levels } = &plan.factors[0];
        let ends = levels.first().zip(levels.last());
        let search = SearchArgs {
            over: Some(over.clone()),
            range: ends.map(|(first, last)| format!("{}..{}", first.name, last.name)),
            passes: Some(plan.seeds.len() as u32),
            ..SearchArgs::default()
        };
        let sweep = SweepPlan::new(Some(plan.name.clone()), plan.base.clone(), search);
        let text = sweep.map_or_else(|_| String::new(), |plan| plan.text());
        let sweep = Some(ManifestSweep { unit: "bytes".to_owned(), refused: Default::default() });
        let runs = self.runs().into_iter().map(|(_, run)| run).collect();
        Manifest { sweep, runs, ..manifest(plan, &text) }
    }
}
