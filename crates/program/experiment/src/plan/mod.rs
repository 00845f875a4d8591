//! A plan: what is varied, what is fixed, how often, in which order.

mod cell;
mod parameter;
mod read;
mod runs;

use std::collections::BTreeSet;
use std::path::Path;

use crate::plan::parameter::CellDraft;
use crate::typed::Setting;

pub use cell::CellPlan;
pub(crate) use cell::{check_volume, in_words, label};
pub(crate) use parameter::job_name;
pub(crate) use parameter::short;
pub use parameter::{PARAMETERS, is_parameter};
pub(crate) use read::{FactorFile, factor, scalar, settings, settings_table};
pub use read::{PlanError, parse_plan};
pub(crate) use read::{parse_plan_along, parse_plan_with, plan_text};

/// Default number of blocks: the fewest with which a signed rank test can reach 5 %.
const DEFAULT_BLOCKS: u32 = 6;

/// An experiment as its author wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    pub(crate) design: Design,
    /// One per block, which is a pass through all cells.
    pub seeds: Vec<u64>,
    pub(crate) order: Order,
    /// The responses of interest; empty = all of the measure.
    pub(crate) responses: Vec<String>,
    /// Settings of all cells.
    pub base: Vec<Setting>,
    /// What is varied.
    pub factors: Vec<PlanFactor>,
    /// Number of its first cell in run names: 1, unless it is part of another plan.
    pub(crate) first_cell: usize,
}

/// The order of the runs within a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Random, a function of this seed.
    Random(u64),
    /// Along the levels of the first factor: up in even blocks, down in odd ones, so that
    /// after-effects of a level show as a difference between directions.
    UpAndDown { first_block: u32 },
}

/// Which combinations of levels are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    Full,
    /// A fraction, of two levels per factor, with at least this resolution.
    Fraction(stats::Resolution),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFactor {
    pub(crate) name: String,
    /// In order; the first is the reference.
    pub levels: Vec<PlanLevel>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanLevel {
    pub(crate) name: String,
    pub settings: Vec<Setting>,
    /// A command that builds what it needs, run by `sh -c` in the plan's folder.
    pub(crate) build: Option<String>,
}

impl Plan {
    /// The plan of one factor, all responses, with a block per seed in random order.
    pub(crate) fn of_factor(
        name: &str,
        base: Vec<Setting>,
        factor: PlanFactor,
        seeds: Vec<u64>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            design: Design::Full,
            seeds,
            order: Order::Random(0),
            responses: Vec::new(),
            base,
            factors: vec![factor],
            first_cell: 1,
        }
    }

    /// The level combinations to run: for each cell the index of each factor's level. Fails, with
    /// the reason, when there is no such fraction.
    pub fn combinations(&self) -> Result<Vec<Vec<usize>>, PlanError> {
        let counts: Vec<usize> = self.factors.iter().map(|factor| factor.levels.len()).collect();
        match self.design {
            Design::Full => Ok(stats::full_factorial(&counts)),
            Design::Fraction(resolution) => self.fraction(resolution).map(|found| found.cells),
        }
    }

    pub(crate) fn fraction(
        &self,
        resolution: stats::Resolution,
    ) -> Result<stats::FractionalFactorial, PlanError> {
        if let Some(factor) = self.factors.iter().find(|factor| factor.levels.len() != 2) {
            return Err(PlanError::Wrong(format!(
                "a fraction needs two levels of each factor; {} has another number",
                factor.name
            )));
        }
        stats::two_level_fraction(self.factors.len(), resolution)
            .map_err(|error| PlanError::Wrong(error.to_string()))
    }

    /// The cells. The error lists every unknown setting or bad value once, with its level.
    pub fn cells(&self, folder: &Path) -> Result<Vec<CellPlan>, PlanError> {
        match self.resolved(folder)? {
            (cells, problems) if problems.is_empty() => Ok(cells),
            (_, problems) => Err(PlanError::Problems(problems)),
        }
    }

    /// The cells that can be resolved, and all problems of the others, each once.
    pub(crate) fn resolved(
        &self,
        folder: &Path,
    ) -> Result<(Vec<CellPlan>, Vec<String>), PlanError> {
        let (mut cells, mut problems) = (Vec::new(), Vec::new());
        for levels in self.combinations()? {
            match self.cell(&levels, folder) {
                Ok(cell) => cells.push(cell),
                Err(found) => problems.extend(found),
            }
        }
        let mut seen = BTreeSet::new();
        problems.retain(|problem: &String| seen.insert(problem.clone()));
        Ok((cells, problems))
    }

    fn cell(&self, levels: &[usize], folder: &Path) -> Result<CellPlan, Vec<String>> {
        let mut problems = Vec::new();
        let mut draft = CellDraft::default();
        let mut apply = |origin: &str, settings: &[Setting]| {
            for setting in settings {
                if let Err(why) = draft.set(setting) {
                    problems.push(format!("{origin}: {}: {why}", setting.0));
                }
            }
        };
        apply("base", &self.base);
        for (factor, level) in self.factors.iter().zip(levels) {
            let level = &factor.levels[*level];
            apply(&format!("factor {}, level {}", factor.name, level.name), &level.settings);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let named = self.named(levels);
        let place = in_words(&named);
        let cell = draft.resolve(named, folder).and_then(CellPlan::check);
        cell.map_err(|why| vec![format!("{place}: {why}")])
    }

    /// Each factor and its level by name.
    fn named(&self, levels: &[usize]) -> Vec<(String, String)> {
        let named = self.factors.iter().zip(levels);
        named.map(|(it, level)| (it.name.clone(), it.levels[*level].name.clone())).collect()
    }

    /// The plan with one factor held at one level. Runs are numbered by that level, as names of
    /// levels may coincide once they are parts of file names.
    pub(crate) fn at_level(&self, factor: usize, level: usize) -> Self {
        let mut plan = self.clone();
        plan.first_cell = level + 1;
        plan.factors[factor].levels = vec![self.factors[factor].levels[level].clone()];
        plan
    }

    /// The plan of an A/A test: its first cell twice, as two identical arms.
    pub(crate) fn against_itself(&self) -> Self {
        let mut base = self.base.clone();
        for factor in &self.factors {
            base.extend(factor.levels.first().into_iter().flat_map(|level| level.settings.clone()));
        }
        let firsts = self.factors.iter().filter_map(|factor| factor.levels.first());
        let builds: Vec<&str> = firsts.filter_map(|level| level.build.as_deref()).collect();
        let build = (!builds.is_empty()).then(|| builds.join(" && "));
        let arm = |name: &str| PlanLevel {
            name: name.to_owned(),
            settings: Vec::new(),
            build: build.clone(),
        };
        let levels = vec![arm("first"), arm("second")];
        Self {
            name: format!("{}-aa", self.name),
            design: Design::Full,
            base,
            factors: vec![PlanFactor { name: AA_FACTOR.to_owned(), levels }],
            ..self.clone()
        }
    }
}

/// The factor of an A/A test.
pub const AA_FACTOR: &str = "arm";

#[cfg(test)]
mod tests;
