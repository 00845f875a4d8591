//! A history of kernels: the steps of each measure along the ordered kernels.
//!
//! A measure has a value per seed and kernel. Two questions are asked of it. *Neighbours*: do two
//! kernels that follow each other differ, beyond the margin? *Change points*: is there a change
//! anywhere, even if no two neighbours show it? Both use ranks only, as delays under load may have
//! any distribution, and both are asked again after more seeds.
//!
//! **Invariant:** the chance of any wrong claim in a whole history, over all comparisons, change
//! points and looks, is at most α: half of it is divided among the comparisons of neighbours, a
//! quarter among the change points of levels, and a quarter among those of spreads. The number of
//! comparisons is rounded up to a power of two kernels, so that one more kernel seldom changes the
//! level of the others.

mod audit;
mod changes;
mod data;
mod pairs;
mod steps;

use serde::Serialize;
use stats::ChangeScan;

pub use audit::{ConfigChange, NOT_RECORDED, StateChange, StateValue};
pub use data::{
    HISTORY_SCHEMA, HistoryCell, HistoryData, HistoryKernel, HistoryRun, HistorySettings,
    HistorySuite, StepFunctions,
};
pub use pairs::{FIRST_SEEDS, Pair, PairRatio, PairState};
pub use steps::{Evidence, Step, StepKind};

use changes::ChangeTest;
use pairs::PairTest;
use steps::{Axis, deaths, without_cells};

/// What a history shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// The steps, along the kernels.
    pub steps: Vec<Step>,
    /// The comparisons of neighbours, measure by measure.
    pub comparisons: Vec<NeighbourPair>,
    /// How many changes are certain and smaller than the margin.
    pub smaller: usize,
}

/// Two neighbours under one measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeighbourPair {
    /// Index of the measure.
    pub measure: usize,
    /// Index of the first kernel.
    pub before: usize,
    /// Index of the second kernel.
    pub after: usize,
    /// The comparison.
    #[serde(flatten)]
    pub pair: Pair,
}

impl History {
    /// What the data show. `scan` keeps what it computes from one call to the next.
    pub fn of(data: &HistoryData, scan: &mut ChangeScan) -> Self {
        let (pairs, changes) = tests(data);
        let mut history = Self { steps: without_cells(data), comparisons: Vec::new(), smaller: 0 };
        for (measure, name) in data.measures.iter().enumerate() {
            let cells: Vec<Option<&HistoryCell>> =
                data.kernels.iter().map(|kernel| data.cell(&kernel.name, name)).collect();
            history.steps.extend(deaths(data, measure, &cells));
            let axis = axis(measure, &cells, &pairs);
            let found = axis.steps(data, &changes, scan);
            history.steps.extend(found.steps);
            history.smaller += found.smaller;
            let ends = axis.kernels.windows(2).map(|ends| (ends[0], ends[1]));
            history.comparisons.extend(
                ends.zip(axis.pairs).map(|((before, after), pair)| NeighbourPair {
                    measure,
                    before,
                    after,
                    pair,
                }),
            );
        }
        history.steps.sort_by_key(|step| (step.after, step.measure));
        history
    }

    /// The numbers of seeds after which something can be decided, ascending; the last one is the most.
    pub fn rounds(data: &HistoryData) -> Vec<u32> {
        let (pairs, changes) = tests(data);
        let mut rounds: Vec<u32> = pairs.seeds().chain(changes.seeds()).collect();
        rounds.push(FIRST_SEEDS.min(data.settings.seeds));
        rounds.sort_unstable();
        rounds.dedup();
        rounds
    }

    /// The cells that need more seeds, as indices of kernel and measure: those whose comparison with
    /// a neighbour is open.
    pub fn open_cells(&self) -> Vec<(usize, usize)> {
        let open = self.open().flat_map(|it| [(it.before, it.measure), (it.after, it.measure)]);
        let mut cells: Vec<(usize, usize)> = open.collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// The comparisons that are undecided, and that no change point explains.
    pub fn open(&self) -> impl Iterator<Item = &NeighbourPair> {
        self.comparisons.iter().filter(|it| {
            let is_step = |step: &Step| {
                (step.measure, step.before, step.after)
                    == (Some(it.measure), Some(it.before), it.after)
                    && step.between.is_none()
            };
            matches!(it.pair.state, PairState::Open { .. }) && !self.steps.iter().any(is_step)
        })
    }
}

/// The tests of a history, each with its share of α.
fn tests(data: &HistoryData) -> (PairTest, ChangeTest) {
    let settings = data.settings;
    let measures = data.measures.len().max(1) as f64;
    let room = data.kernels.len().max(2).next_power_of_two() as f64;
    let of_pairs = settings.alpha / 2.0 / measures / room;
    let pairs = PairTest::new(settings.margin, of_pairs, settings.seeds);
    (pairs, ChangeTest::new(settings.alpha / 4.0 / measures, settings.seeds))
}

/// The kernels that have values and never died, with the comparisons of neighbours. What is left of
/// one that dies with some seeds says little, and its death is a step of its own.
fn axis<'a>(measure: usize, cells: &[Option<&'a HistoryCell>], test: &PairTest) -> Axis<'a> {
    let alive = |cell: &&HistoryCell| !cell.runs.is_empty() && !cell.failures().1;
    let known = cells.iter().enumerate().filter_map(|(kernel, cell)| Some((kernel, (*cell)?)));
    let (kernels, cells): (Vec<usize>, Vec<&HistoryCell>) =
        known.filter(|(_, cell)| alive(cell)).unzip();
    let pairs = cells.windows(2).map(|two| test.compare(two[0], two[1])).collect();
    Axis { measure, kernels, cells, pairs }
}

#[cfg(test)]
mod tests;
