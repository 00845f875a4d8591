//! Comparisons of neighbours: one measure of two kernels that follow each other.
//!
//! Each comparison is looked at after some numbers of seeds, with levels that sum to its share of α.
//! So however many there are, however long each continues and why, the chance that any of them
//! claims a difference or an equivalence wrongly is at most the sum of the shares. Only ranks decide:
//! a chaotic measure may have two modes, and a few values that agree by chance look certain to t.

use model::Observation;
use serde::Serialize;
use stats::{
    Arms, CellResult, Look, Method, Pairing, Proportions, Settings, Verdict, looks_of_any_test,
    minimum_two_sided_p,
};

use super::data::{HistoryCell, HistoryRun, cost};

/// Seeds of every cell before anything is compared.
pub const FIRST_SEEDS: u32 = 4;

/// What is known of two neighbours.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum PairState {
    /// All values are the same, seed by seed.
    Equal,
    /// All values of both kernels lie within the margin. This is a fact about these seeds, and no
    /// claim about others.
    Within,
    /// The ratio is within the margin.
    Equivalent,
    /// The ratio is not 1, and the estimate is beyond the margin.
    Different,
    /// One of them fails more often.
    Failing {
        /// Whether it is the second one.
        is_second: bool,
    },
    /// Neither was shown.
    Open {
        /// Seeds of each kernel that would probably decide it; `None` if nobody can know.
        needs: Option<u64>,
    },
}

/// Two neighbours under one measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// What is known.
    #[serde(flatten)]
    pub state: PairState,
    /// The ratio with its interval, if it was tested; above 1 = worse.
    pub ratio: Option<PairRatio>,
    /// Number of seeds that both have.
    pub seeds: usize,
}

/// A ratio of costs with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairRatio {
    /// The estimate.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// When neighbours are compared, and at which levels.
#[derive(Clone, Debug)]
pub(super) struct PairTest {
    margin: f64,
    looks: Vec<Look>,
    /// All levels together.
    level: f64,
}

impl PairTest {
    /// The test of one comparison, which may be wrong with this chance, of at most `seeds` seeds.
    pub(super) fn new(margin: f64, level: f64, seeds: u32) -> Self {
        // Before that a rank test cannot reach half of the level.
        let can_decide =
            |seeds: &u32| minimum_two_sided_p(*seeds as usize, *seeds as usize) <= level / 2.0;
        let first = (FIRST_SEEDS..seeds).find(can_decide).unwrap_or(seeds);
        Self { margin, looks: looks_of_any_test(first, seeds, level), level }
    }

    /// The numbers of seeds at which it looks.
    pub(super) fn seeds(&self) -> impl Iterator<Item = u32> {
        self.looks.iter().map(|look| look.blocks)
    }

    /// Compares two cells.
    pub(super) fn compare(&self, first: &HistoryCell, second: &HistoryCell) -> Pair {
        let sides = in_common(first, second);
        let seeds = sides[0].len();
        let with = |state, ratio| Pair { state, ratio, seeds };
        let costs = [first, second].map(|cell| cell.costs(seeds).unwrap_or_default());
        if seeds > 0 && costs[0] == costs[1] {
            return with(PairState::Equal, None);
        }
        let mut last = None;
        for look in self.looks.iter().filter(|look| look.blocks as usize <= seeds) {
            let (state, found) = self.look(first, second, look);
            let ratio = found.as_ref().map(ratio);
            if let Some(state) = state {
                return with(state, ratio);
            }
            last = Some(found);
        }
        if seeds >= FIRST_SEEDS as usize && is_within(&costs, self.margin) {
            return with(PairState::Within, None);
        }
        let found = last.flatten().or_else(|| self.outlook(first, second, seeds));
        let needs = found.as_ref().and_then(|found| self.needs(found, seeds));
        with(PairState::Open { needs }, found.as_ref().map(ratio))
    }

    /// What a look decides, and its test.
    fn look(
        &self,
        first: &HistoryCell,
        second: &HistoryCell,
        look: &Look,
    ) -> (Option<PairState>, Option<CellResult>) {
        let (found, failing) = self.tested(first, second, look.blocks as usize, look.level);
        if let Some(verdict) = failing {
            let is_second = verdict == Verdict::Regression;
            return (Some(PairState::Failing { is_second }), found);
        }
        let has_failures = [first, second].iter().any(|cell| cell.failures().0 > 0);
        let by_ranks = found.as_ref().filter(|found| found.method == Method::HodgesLehmann);
        let state = match by_ranks.map(|found| found.verdict) {
            // The values of failed runs may be any.
            _ if has_failures => None,
            Some(Verdict::Regression | Verdict::Improvement) => Some(PairState::Different),
            Some(Verdict::Equivalent) => Some(PairState::Equivalent),
            _ => None,
        };
        (state, found)
    }

    /// The tests of the first seeds at a level: of the values, and of how many runs failed.
    fn tested(
        &self,
        first: &HistoryCell,
        second: &HistoryCell,
        seeds: usize,
        level: f64,
    ) -> (Option<CellResult>, Option<Verdict>) {
        let sides = [first, second].map(|cell| (cell, &cell.runs[..seeds.min(cell.runs.len())]));
        let [one, other] = sides.map(|(cell, runs)| values(cell, runs));
        let failed = |runs: &[HistoryRun]| runs.iter().filter(|run| run.failure.is_some()).count();
        let share = |runs: &[HistoryRun]| (failed(runs) as u64, runs.len() as u64);
        let proportions = Proportions { first: share(sides[0].1), second: share(sides[1].1) };
        let has_failures = proportions.first.0 + proportions.second.0 > 0;
        let proportions: Vec<_> = has_failures.then_some(proportions).into_iter().collect();
        let arms = Arms::new(one, other, Pairing::Unpaired);
        let settings = Settings { margin: self.margin, alpha: level };
        let mut judged = stats::compare(&[arms], &proportions, &settings);
        let mut failing = judged.proportions.into_iter().flatten().map(|found| found.verdict);
        let failing = failing.find(|verdict| *verdict != Verdict::CannotTell);
        (judged.cells.pop().and_then(Result::ok), failing)
    }

    /// The test before the first look, which decides nothing: how far apart they seem to be.
    fn outlook(
        &self,
        first: &HistoryCell,
        second: &HistoryCell,
        seeds: usize,
    ) -> Option<CellResult> {
        self.tested(first, second, seeds, self.level).0
    }

    /// Seeds that would probably decide it.
    fn needs(&self, found: &CellResult, seeds: usize) -> Option<u64> {
        let more = found.more_blocks?;
        Some((seeds as u64 + more).max(found.rank_needs))
    }
}

/// The runs of the seeds that both cells have: the first ones of each.
fn in_common<'a>(first: &'a HistoryCell, second: &'a HistoryCell) -> [&'a [HistoryRun]; 2] {
    let both = first.runs.iter().zip(&second.runs);
    let seeds = both.take_while(|(one, other)| one.seed == other.seed).count();
    [&first.runs[..seeds], &second.runs[..seeds]]
}

fn values(cell: &HistoryCell, runs: &[HistoryRun]) -> Vec<Observation> {
    let observed = runs.iter().filter_map(HistoryRun::observation);
    observed.map(|it| cost(it, cell.more_is_better)).collect()
}

fn ratio(found: &CellResult) -> PairRatio {
    PairRatio { ratio: found.ratio, low: found.adjusted_low, high: found.adjusted_high }
}

/// Whether all values of both sides lie within the margin.
fn is_within(costs: &[Vec<f64>; 2], margin: f64) -> bool {
    let all: Vec<f64> = costs.concat();
    let (low, high) = crate::extent(&all);
    // Two kernels with which all runs fail do not differ.
    low == high || high.is_finite() && high <= low * (1.0 + margin)
}
