//! Steps: what changed between two kernels, how, and with what evidence.

use serde::Serialize;
use stats::ChangeScan;

use super::audit::{ConfigChange, StateChange, configurations, states};
use super::changes::{ChangeTest, FoundChange, spread};
use super::data::{HistoryCell, HistoryData, StepFunctions};
use super::pairs::{Pair, PairRatio, PairState};
use crate::explained::{Explained, ExplainedDifference, difference};

/// Confidence of the differences of parts.
const CONFIDENCE: f64 = 0.95;

/// A step of a measure along the kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Index of the measure; `None` if the kernel does not even boot.
    pub measure: Option<usize>,
    /// Index of the kernel before it; `None` if there is none.
    pub before: Option<usize>,
    /// Index of the kernel after it.
    pub after: usize,
    /// First and last kernel between which it certainly lies, where that is wider.
    pub between: Option<(usize, usize)>,
    /// What changed.
    pub kind: StepKind,
    /// The ratio of costs, of spreads for those kinds; above 1 = worse.
    pub ratio: Option<PairRatio>,
    /// What it is based on.
    pub evidence: Evidence,
    /// The states that differ before the measured part.
    pub states: Vec<StateChange>,
    /// The facts of the configurations that differ.
    pub configurations: Vec<ConfigChange>,
    /// The difference of the mean delays, part by part, if they were explained.
    pub explained: Option<ExplainedDifference>,
    /// The functions that account for it, if both kernels were profiled.
    pub functions: Option<StepFunctions>,
    /// What the kernel printed, or how the runs failed.
    pub cause: Option<String>,
    /// Failed runs and runs of the kernel after it, if some failed.
    pub failed: Option<(usize, usize)>,
}

/// What changed in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// The kernel dies, or does not boot.
    Died,
    /// The kernel before it died, and this one does not.
    Recovered,
    /// Runs fail more often.
    Failing,
    /// Runs fail less often.
    Succeeding,
    /// It costs more.
    Slower,
    /// It costs less.
    Faster,
    /// The spread over seeds is larger.
    MoreVariable,
    /// The spread over seeds is smaller.
    LessVariable,
}

/// What a step is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// What happened: a kernel that dies with a seed dies with it each time.
    Fact,
    /// The comparison of two neighbours.
    Neighbours,
    /// A change point of all kernels' values.
    ChangePoint,
}

/// The axis of one measure: the kernels that have values, and their comparisons.
pub(super) struct Axis<'a> {
    pub(super) measure: usize,
    /// Indices of the kernels.
    pub(super) kernels: Vec<usize>,
    pub(super) cells: Vec<&'a HistoryCell>,
    /// The comparisons of neighbours, one fewer than kernels.
    pub(super) pairs: Vec<Pair>,
}

/// Steps of a measure, and how many changes are smaller than the margin.
pub(super) struct FoundSteps {
    pub(super) steps: Vec<Step>,
    pub(super) smaller: usize,
}

impl Axis<'_> {
    /// The steps of this measure: of neighbours, and where these show none, change points.
    pub(super) fn steps(
        &self,
        data: &HistoryData,
        test: &ChangeTest,
        scan: &mut ChangeScan,
    ) -> FoundSteps {
        let mut found = FoundSteps { steps: Vec::new(), smaller: 0 };
        for (position, pair) in self.pairs.iter().enumerate() {
            let Some(kind) = pair_kind(pair) else { continue };
            let mut step = self.step(data, position, kind, Evidence::Neighbours);
            step.ratio = pair.ratio;
            found.steps.push(step);
        }
        for change in test.levels(&self.cells, scan) {
            if self.is_known(&change) {
                continue;
            }
            match level_kind(&change, data.settings.margin) {
                Some(kind) => found.steps.push(self.change_step(data, &change, kind)),
                None => found.smaller += 1,
            }
        }
        for change in test.spreads(&self.cells, scan) {
            match self.spread_kind(&change, data.settings.margin) {
                Some(kind) => found.steps.push(self.change_step(data, &change, kind)),
                None => found.smaller += 1,
            }
        }
        found
    }

    /// Whether neighbours show a step in this direction within the interval.
    fn is_known(&self, change: &FoundChange) -> bool {
        let kinds = self.pairs[change.place.first..change.place.last].iter().filter_map(pair_kind);
        let is_up = |kind| matches!(kind, StepKind::Slower | StepKind::Failing);
        kinds.into_iter().any(|kind| is_up(kind) == (change.place.z > 0.0))
    }

    /// The spreads on both sides, if the larger one is beyond the margin.
    fn spread_kind(&self, change: &FoundChange, margin: f64) -> Option<StepKind> {
        let place = change.place;
        let sides = [place.first..=place.before, place.before + 1..=place.last];
        let largest = sides.map(|side| spread(&self.cells[side]).unwrap_or(0.0));
        let is_large = largest[0].max(largest[1]) > margin;
        is_large.then_some(match place.z > 0.0 {
            true => StepKind::MoreVariable,
            false => StepKind::LessVariable,
        })
    }

    fn change_step(&self, data: &HistoryData, change: &FoundChange, kind: StepKind) -> Step {
        let place = change.place;
        let mut step = self.step(data, place.before, kind, Evidence::ChangePoint);
        step.ratio = change.ratio;
        let is_wide = place.last - place.first > 1;
        step.between = is_wide.then(|| (self.kernels[place.first], self.kernels[place.last]));
        step
    }

    /// A step between two neighbours, without its ratio.
    fn step(
        &self,
        data: &HistoryData,
        position: usize,
        kind: StepKind,
        evidence: Evidence,
    ) -> Step {
        let [one, other] = [position, position + 1].map(|at| self.cells[at]);
        let [before, after] = [position, position + 1].map(|at| self.kernels[at]);
        let failed = other.failures().0;
        let causes = other.runs.iter().filter_map(|run| run.failure.clone());
        Step {
            measure: Some(self.measure),
            before: Some(before),
            after,
            between: None,
            kind,
            ratio: None,
            evidence,
            states: states(one, other),
            configurations: configurations(&data.kernels[before], &data.kernels[after]),
            explained: explained([one, other]),
            functions: data.functions_of(&one.measure, [&one.kernel, &other.kernel]).cloned(),
            cause: causes.into_iter().next(),
            failed: (failed > 0).then_some((failed, other.runs.len())),
        }
    }
}

/// Steps of one measure at which kernels begin or cease to die. `cells` are those of all kernels.
pub(super) fn deaths(
    data: &HistoryData,
    measure: usize,
    cells: &[Option<&HistoryCell>],
) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut former: Option<(usize, bool)> = None;
    for (kernel, cell) in cells.iter().enumerate() {
        let Some(cell) = cell else { continue };
        let is_dead = cell.failures().1;
        let was_dead = former.is_some_and(|(_, dead)| dead);
        if is_dead != was_dead {
            let kind = if is_dead { StepKind::Died } else { StepKind::Recovered };
            let before = former.map(|(before, _)| before);
            let died = cell.runs.iter().filter(|run| run.has_died);
            let mut step = bare(data, before, kernel, kind);
            step.measure = Some(measure);
            step.cause = died.clone().find_map(|run| run.failure.clone());
            step.failed = is_dead.then(|| (died.count(), cell.runs.len()));
            steps.push(step);
        }
        former = Some((kernel, is_dead));
    }
    steps
}

/// Kernels of which no cell could run.
pub(super) fn without_cells(data: &HistoryData) -> Vec<Step> {
    let all = data.kernels.iter().enumerate();
    all.filter_map(|(index, kernel)| {
        let problem = kernel.problem.clone()?;
        let before = index.checked_sub(1);
        Some(Step { cause: Some(problem), ..bare(data, before, index, StepKind::Died) })
    })
    .collect()
}

/// A step that is a fact.
fn bare(data: &HistoryData, before: Option<usize>, after: usize, kind: StepKind) -> Step {
    let kernel = &data.kernels[after];
    let changed = before.map(|before| configurations(&data.kernels[before], kernel));
    Step {
        measure: None,
        before,
        after,
        between: None,
        kind,
        ratio: None,
        evidence: Evidence::Fact,
        states: Vec::new(),
        configurations: changed.unwrap_or_default(),
        explained: None,
        functions: None,
        cause: None,
        failed: None,
    }
}

fn pair_kind(pair: &Pair) -> Option<StepKind> {
    match (&pair.state, pair.ratio) {
        (PairState::Failing { is_second: true }, _) => Some(StepKind::Failing),
        (PairState::Failing { is_second: false }, _) => Some(StepKind::Succeeding),
        (PairState::Different, Some(found)) if found.ratio > 1.0 => Some(StepKind::Slower),
        (PairState::Different, _) => Some(StepKind::Faster),
        _ => None,
    }
}

/// What a change of the level is; `None` if it is within the margin.
fn level_kind(change: &FoundChange, margin: f64) -> Option<StepKind> {
    let is_up = change.place.z > 0.0;
    match change.ratio {
        None if is_up => Some(StepKind::Failing),
        None => Some(StepKind::Succeeding),
        Some(found) if is_up && found.ratio > 1.0 + margin => Some(StepKind::Slower),
        Some(found) if !is_up && found.ratio < 1.0 / (1.0 + margin) => Some(StepKind::Faster),
        Some(_) => None,
    }
}

/// The difference of the mean delays of two cells, part by part.
fn explained(cells: [&HistoryCell; 2]) -> Option<ExplainedDifference> {
    let parts = cells.map(|cell| -> Vec<&Explained> {
        cell.runs.iter().filter_map(|run| run.parts.as_ref()).collect()
    });
    let owned = parts.map(|all| all.into_iter().cloned().collect::<Vec<Explained>>());
    let sides = owned.each_ref().map(|all| all.chunks(1).collect::<Vec<_>>());
    difference(sides.each_ref().map(Vec::as_slice), false, CONFIDENCE)
}
