//! The driver of a history: the measures of a suite for each kernel, with as many seeds as each cell
//! needs.
//!
//! A round has a number of seeds. The first one is of all cells, and each further one only of the
//! cells whose comparison with a neighbour is still open. A kernel is set up for its own cells and
//! left again, so a kernel that does not boot is a row of the result, and forty kernels take the
//! memory of one.

mod folder;
mod suite;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use analysis::history::{
    FIRST_SEEDS, HISTORY_SCHEMA, History, HistoryData, HistoryKernel, HistorySettings,
    HistorySuite, Step, StepFunctions, StepKind,
};
use kernels::{OrderedKernel, compare_names};
use render::format::counted;
use stats::ChangeScan;

use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::event::Event;
use crate::laboratory::Laboratory;
use crate::plan::{Plan, PlanError, plan_text};
use crate::run_result::run_of;

pub use folder::{history_folder, read_history};
pub use suite::Suite;
use suite::{KERNEL, MEASURE};

/// Position of the factors in the plan.
const KERNELS: usize = 0;
const MEASURES: usize = 1;

/// The kernels of a history as they were requested.
pub struct RequestedKernels<'a> {
    /// The texts that named them.
    pub typed: &'a [String],
    /// What they named.
    pub found: Vec<OrderedKernel>,
    /// Settings of the machine (`NAME=VALUE`) with which each kernel is measured as well.
    pub variants: &'a [String],
}

/// Makes the cells of a plan (TOML) elsewhere, and puts them into the store that the driver reads.
pub type Fleet<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// A history under way.
pub struct KernelHistory {
    suite: Suite,
    data: HistoryData,
    folder: PathBuf,
    scan: ChangeScan,
    /// Kernels that are measured, but cannot be set up today.
    unavailable: BTreeSet<String>,
}

impl KernelHistory {
    /// A history of these kernels in a folder, which continues the one that it holds. `typed` are
    /// the options that name the suite. Fails when the folder holds another history.
    pub fn open(
        suite: Suite,
        typed: &str,
        settings: HistorySettings,
        kernels: RequestedKernels<'_>,
        folder: &Path,
    ) -> Result<Self> {
        let former = folder::read_if_any(folder)?;
        if let Some(former) = former.as_ref().filter(|it| it.suite.text != suite.text) {
            return Err(ExperimentError::WrongUse(format!(
                "{} holds the history of another suite ({}); name another folder with --output",
                folder.display(),
                former.suite.name
            )));
        }
        let mut data = former.unwrap_or_default();
        data.schema = HISTORY_SCHEMA;
        env!("CARGO_PKG_VERSION").clone_into(&mut data.thrashlab);
        let (name, text) = (suite.name.clone(), suite.text.clone());
        let folder_of_suite = suite.folder.display().to_string();
        data.suite = HistorySuite { name, typed: typed.to_owned(), text, folder: folder_of_suite };
        data.settings = settings;
        let measures = suite.measures();
        let others = data.measures.iter().filter(|it| !measures.contains(it)).cloned();
        data.measures = measures.iter().cloned().chain(others.collect::<Vec<_>>()).collect();
        let new = kernels.typed.iter().filter(|it| !data.requested.contains(it)).cloned();
        data.requested.extend(new.collect::<Vec<_>>());
        merge(&mut data.kernels, kernels.found, kernels.variants);
        let unavailable = BTreeSet::new();
        let folder = folder.to_owned();
        Ok(Self { suite, data, folder, scan: ChangeScan::default(), unavailable })
    }

    /// What was measured so far.
    pub fn data(&self) -> &HistoryData {
        &self.data
    }

    /// How many cells there are, in a sentence.
    pub fn budget(&self) -> String {
        let (kernels, measures) = (self.data.kernels.len(), self.suite.measures().len());
        let (cells, seeds) = (kernels * measures, self.data.settings.seeds);
        let first = FIRST_SEEDS.min(seeds);
        format!(
            "{}, {}: {} of each at first ({} runs), at most {seeds} where kernels may differ ({} runs)",
            counted(kernels, "kernel"),
            counted(measures, "measure"),
            counted(first as usize, "seed"),
            cells * first as usize,
            cells * seeds as usize
        )
    }

    /// Runs what is missing, round by round, and returns what it shows. The folder has the data after
    /// each kernel. With a fleet, it makes the cells of a round before they are read from its store.
    /// Fails when no kernel can run, or the user stopped it.
    pub fn run(
        &mut self,
        driver: &mut Driver<'_>,
        mut fleet: Option<&mut Fleet<'_>>,
    ) -> Result<History> {
        if fleet.is_some() {
            self.suite.needs_no_folder()?;
        }
        for (number, seeds) in History::rounds(&self.data).into_iter().enumerate() {
            let is_first = number == 0;
            let wanted = self.wanted(seeds, is_first);
            if wanted.is_empty() {
                continue;
            }
            if let Some(fleet) = &mut fleet {
                self.on_fleet(&wanted, seeds, fleet, driver)?;
            }
            for (kernel, measures) in &wanted {
                self.kernel_round(*kernel, measures, seeds, driver)?;
                folder::write(&self.data, &self.suite, &self.folder)?;
            }
            if is_first && self.data.cells.is_empty() {
                let mut problems = self.data.kernels.iter().filter_map(|it| it.problem.as_ref());
                let why = problems.next().map_or("no run was executed", String::as_str);
                return Err(ExperimentError::NotMeasured(format!("no kernel could run: {why}")));
            }
            let text = self.progress(seeds);
            (driver.on_event)(&Event::Look { text: &text });
        }
        Ok(self.history())
    }

    /// The runs of both kernels of a step with the same seeds, at most so many pairs. Empty
    /// for other steps than those of time.
    pub fn pairs(&self, step: &Step, most: usize) -> Result<Vec<[PathBuf; 2]>> {
        let is_of_time = matches!(step.kind, StepKind::Slower | StepKind::Faster);
        let (Some(measure), Some(before), true) = (step.measure, step.before, is_of_time) else {
            return Ok(Vec::new());
        };
        let runs = |kernel| self.plan_of(&[kernel], &[measure], self.data.settings.seeds).runs();
        let path = |run_id: &str| -> Result<Option<PathBuf>> {
            Ok(run_of(&self.folder, run_id)?.map(|(path, _)| path))
        };
        let mut pairs = Vec::new();
        for ((_, one), (_, other)) in runs(before).into_iter().zip(runs(step.after)) {
            if pairs.len() == most {
                break;
            }
            let both = path(&one.run_id)?.zip(path(&other.run_id)?);
            pairs.extend(both.map(<[PathBuf; 2]>::from));
        }
        Ok(pairs)
    }

    /// Remembers the functions behind a step. Fails when the folder cannot be written.
    pub fn add_functions(&mut self, functions: StepFunctions) -> Result<()> {
        self.data.functions.push(functions);
        folder::write(&self.data, &self.suite, &self.folder)
    }

    /// What the data show.
    pub fn history(&mut self) -> History {
        History::of(&self.data, &mut self.scan)
    }

    /// The kernels that lack runs of a round, each with its measures.
    fn wanted(&mut self, seeds: u32, is_first: bool) -> Vec<(usize, Vec<usize>)> {
        let measures = self.suite.measures().len();
        let open: BTreeSet<(usize, usize)> = match is_first {
            true => BTreeSet::new(),
            false => self.history().open_cells().into_iter().collect(),
        };
        let lacks = |kernel: usize, measure: usize| {
            let names = (&self.data.kernels[kernel].name, &self.data.measures[measure]);
            let cell = self.data.cell(names.0, names.1);
            let has_died = cell.is_some_and(|cell| cell.failures().1);
            let runs = cell.map_or(0, |cell| cell.runs.len());
            let is_asked = is_first || open.contains(&(kernel, measure));
            runs < seeds as usize && is_asked && (is_first || !has_died)
        };
        let can_run = |kernel: &usize| {
            let it = &self.data.kernels[*kernel];
            it.problem.is_none() && !self.unavailable.contains(&it.name)
        };
        let of_kernel = |kernel: usize| {
            let lacking: Vec<usize> = (0..measures).filter(|it| lacks(kernel, *it)).collect();
            (!lacking.is_empty()).then_some((kernel, lacking))
        };
        (0..self.data.kernels.len()).filter(can_run).filter_map(of_kernel).collect()
    }

    /// Has a fleet make the cells of a round, in a plan for all kernels that lack the same measures. What
    /// does not boot is left out here, and reported when it has its turn.
    fn on_fleet(
        &self,
        wanted: &[(usize, Vec<usize>)],
        seeds: u32,
        fleet: &mut Fleet<'_>,
        driver: &mut Driver<'_>,
    ) -> Result<()> {
        let mut groups: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
        for (kernel, measures) in wanted {
            match self.set_up(&self.plan_of(&[*kernel], measures, seeds), driver) {
                Ok(mut lab) => lab.machines.close(driver),
                Err(ExperimentError::Plan(PlanError::Problems(_))) => continue,
                Err(error) => return Err(error),
            }
            groups.entry(measures).or_default().push(*kernel);
        }
        for (measures, kernels) in groups {
            fleet(&plan_text(&written(self.plan_of(&kernels, measures, seeds))))?;
        }
        Ok(())
    }

    /// Runs some measures of a kernel with seeds from 1 on.
    fn kernel_round(
        &mut self,
        kernel: usize,
        measures: &[usize],
        seeds: u32,
        driver: &mut Driver<'_>,
    ) -> Result<()> {
        let plan = self.plan_of(&[kernel], measures, seeds);
        let mut lab = match self.set_up(&plan, driver) {
            Ok(lab) => lab,
            Err(ExperimentError::Plan(PlanError::Problems(problems))) => {
                self.no_machine(kernel, problems, driver);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let carried = lab.make_missing(&self.folder, driver);
        lab.machines.close(driver);
        let carried = carried?;
        for order in lab.orders() {
            let Some((_, run)) = run_of(&self.folder, &order.run_id)? else { continue };
            let measure = lab.cells[order.cell].named.iter().find(|(name, _)| name == MEASURE);
            let Some((_, measure)) = measure else { continue };
            let name = &self.data.kernels[kernel].name.clone();
            self.data
                .add(name, measure, &self.suite.responses, &run)
                .map_err(|why| ExperimentError::WrongUse(self.other_instrument(&why)))?;
        }
        for (run, why) in &carried.refused {
            driver.note_once(format!("{run}: {why}"));
        }
        match carried.interrupted {
            true => Err(ExperimentError::Interrupted),
            false => Ok(()),
        }
    }

    /// The laboratory of a plan. Its first measure is set up alone before: a kernel that does not
    /// boot would be booted for each of them.
    fn set_up(&self, plan: &Plan, driver: &mut Driver<'_>) -> Result<Laboratory> {
        let mut first = plan.clone();
        first.factors[MEASURES].levels.truncate(1);
        if plan.factors[MEASURES].levels.len() > 1 {
            Laboratory::set_up(&first, &self.suite.folder, driver)?;
        }
        Laboratory::set_up(plan, &self.suite.folder, driver)
    }

    /// The plan of some kernels and measures.
    fn plan_of(&self, kernels: &[usize], measures: &[usize], seeds: u32) -> Plan {
        let kernels: Vec<HistoryKernel> =
            kernels.iter().map(|kernel| self.data.kernels[*kernel].clone()).collect();
        let mut plan = self.suite.plan(&kernels, seeds);
        let names: Vec<&String> = measures.iter().map(|it| &self.data.measures[*it]).collect();
        plan.factors[MEASURES].levels.retain(|level| names.contains(&&level.name));
        debug_assert_eq!(plan.factors[KERNELS].name, KERNEL);
        plan
    }

    /// Remembers that a kernel has no machine: a row of its own, unless it was measured before.
    fn no_machine(&mut self, kernel: usize, problems: Vec<String>, driver: &mut Driver<'_>) {
        let Some(problem) = problems.into_iter().next() else { return };
        let kernel = &mut self.data.kernels[kernel];
        let problem = problem.split_once(": ").map_or(problem.clone(), |(_, why)| why.to_owned());
        driver.note_once(format!("{}: {problem}", kernel.name));
        match self.data.cells.iter().any(|cell| cell.kernel == kernel.name) {
            true => drop(self.unavailable.insert(kernel.name.clone())),
            false => kernel.problem = Some(problem),
        }
    }

    fn other_instrument(&self, why: &str) -> String {
        let folder = self.folder.display();
        format!(
            "{folder}: {why}; its figures do not belong to one history: begin another one with --output"
        )
    }

    /// How far it is, in a sentence.
    fn progress(&mut self, seeds: u32) -> String {
        let history = self.history();
        let (steps, open) = (history.steps.len(), history.open().count());
        let (seeds, steps) = (counted(seeds as usize, "seed"), counted(steps, "step"));
        format!("after {seeds}: {steps}, {open} of {} open", history.comparisons.len())
    }
}

/// A plan as a file may have it: what has one level only is a factor of none.
fn written(mut plan: Plan) -> Plan {
    let (fixed, factors) =
        plan.factors.into_iter().partition::<Vec<_>, _>(|factor| factor.levels.len() == 1);
    let levels = fixed.into_iter().flat_map(|factor| factor.levels);
    plan.base.extend(levels.flat_map(|level| level.settings));
    Plan { factors, ..plan }
}

/// Adds kernels and their variants in the order of their versions. One that is known keeps its name.
fn merge(known: &mut Vec<HistoryKernel>, kernels: Vec<OrderedKernel>, variants: &[String]) {
    for new in kernels.into_iter().map(history_kernel).flat_map(|it| with_variants(it, variants)) {
        let is_it = |it: &&mut HistoryKernel| {
            let is_same = !new.blake3.is_empty() && it.blake3 == new.blake3;
            it.name == new.name || is_same && it.settings == new.settings
        };
        match known.iter_mut().find(is_it) {
            // What failed before is tried again.
            Some(it) if it.problem.is_some() => *it = new,
            Some(_) => {}
            None => known.push(new),
        }
    }
    known.sort_by(|one, other| compare_names(&one.name, &other.name));
}

/// A kernel, followed by its variants.
fn with_variants(kernel: HistoryKernel, variants: &[String]) -> Vec<HistoryKernel> {
    let variant = |setting: &String| HistoryKernel {
        name: format!("{} {setting}", kernel.name),
        settings: vec![setting.clone()],
        ..kernel.clone()
    };
    let variants: Vec<HistoryKernel> = variants.iter().map(variant).collect();
    [kernel].into_iter().chain(variants).collect()
}

fn history_kernel(kernel: OrderedKernel) -> HistoryKernel {
    let typed = kernel.arg.to_string();
    match kernel.found {
        Ok(found) => HistoryKernel {
            name: kernel.name,
            typed,
            release: found.release,
            blake3: found.image_hash,
            settings: Vec::new(),
            facts: found
                .facts
                .words
                .iter()
                .map(|(name, it)| ((*name).to_owned(), it.clone()))
                .collect(),
            problem: None,
        },
        Err(error) => HistoryKernel {
            name: kernel.name,
            typed,
            problem: Some(format!("not available: {error}")),
            ..HistoryKernel::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, hash: &str) -> HistoryKernel {
        let (name, blake3) = (name.to_owned(), hash.to_owned());
        HistoryKernel { name, blake3, ..HistoryKernel::default() }
    }

    fn missing(name: &str) -> OrderedKernel {
        let arg: kernels::KernelArg = format!("/no/{name}").parse().unwrap();
        let found = kernels::locate(&arg, Path::new("/no"));
        OrderedKernel { name: name.to_owned(), arg, found }
    }

    #[test]
    fn kernels_are_ordered_and_what_failed_is_tried_again() {
        let mut known = vec![kernel("6.1.190-1", "a"), kernel("6.12.100-1", "b")];
        known[1].problem = Some("does not boot".to_owned());
        let new = ["6.1.192-1", "6.12.100-1", "6.1.190-1", "5.10.223-1"].map(missing);
        merge(&mut known, new.into(), &[]);
        let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["5.10.223-1", "6.1.190-1", "6.1.192-1", "6.12.100-1"]);
        assert_eq!((known[1].blake3.as_str(), known[1].problem.is_none()), ("a", true));
        assert!(known[3].problem.as_ref().unwrap().starts_with("not available: "));
        merge(&mut known, vec![missing("6.1.190-1")], &["lru_gen=off".to_owned()]);
        assert_eq!((known.len(), known[2].name.as_str()), (5, "6.1.190-1 lru_gen=off"));
        let data = HistoryData { kernels: known, ..HistoryData::default() };
        assert_eq!(data.variants(), ["lru_gen=off"], "what an update measures of a new kernel");
    }

    #[test]
    fn a_plan_for_a_fleet_can_be_read_and_has_the_same_cells() {
        let suite = Suite::built_in("quick").unwrap().with_measures(&["touch".to_owned()]).unwrap();
        let plan = suite.plan(&[kernel("a", ""), kernel("b", "")], 4);
        let text = plan_text(&written(plan.clone()));
        let read = crate::plan::parse_plan(&text).unwrap();
        assert_eq!((plan.factors.len(), read.factors.len()), (2, 1));
        let cells = |plan: &Plan| -> Vec<_> {
            let cells = plan.cells(Path::new("")).unwrap().into_iter();
            cells.map(|cell| crate::CellPlan { named: Vec::new(), ..cell }).collect()
        };
        assert_eq!(cells(&plan), cells(&read));
    }

    #[test]
    fn a_folder_holds_one_suite() {
        let folder = tempfile::tempdir().unwrap();
        let open = |suite: &str| {
            let suite = Suite::built_in(suite).unwrap();
            let kernels = vec![missing("6.1-1")];
            let settings = HistorySettings::default();
            let kernels = RequestedKernels { typed: &[], found: kernels, variants: &[] };
            KernelHistory::open(suite, "", settings, kernels, folder.path())
        };
        let history = open("quick").unwrap();
        assert!(history.budget().starts_with("1 kernel, 5 measures: 4 seeds"));
        folder::write(&history.data, &history.suite, folder.path()).unwrap();
        assert_eq!(read_history(folder.path()).unwrap(), history.data);
        assert!(open("quick").is_ok());
        let error = open("default").err().unwrap().to_string();
        assert!(error.contains("another suite (quick)") && error.contains("--output"), "{error}");
    }
}
