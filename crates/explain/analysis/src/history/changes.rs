//! Change points of one measure along the axis of kernels: of the level, and of the spread.

use stats::{Change, ChangeScan, Look, hodges_lehmann_ratio, looks_of_any_test, median, narrowest};

use super::data::HistoryCell;
use super::pairs::{FIRST_SEEDS, PairRatio};

/// Looks at change points come at these numbers of seeds, and at the most.
const EARLY_LOOKS: [u32; 2] = [FIRST_SEEDS, 2 * FIRST_SEEDS];

/// A change point of a measure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundChange {
    /// Where it is, as positions in the axis.
    pub(super) place: Change,
    /// The ratio of what follows to what precedes, up to the next change points; `None` where one
    /// side only fails.
    pub(super) ratio: Option<PairRatio>,
}

/// When change points are looked for, and at which levels.
#[derive(Clone, Debug)]
pub(super) struct ChangeTest {
    looks: Vec<Look>,
    /// All levels together.
    level: f64,
}

impl ChangeTest {
    /// The test of one measure, which may be wrong with this chance, of at most `seeds` seeds.
    pub(super) fn new(level: f64, seeds: u32) -> Self {
        let mut looks: Vec<Look> = Vec::new();
        let mut spent = 0.0;
        for look in looks_of_any_test(FIRST_SEEDS.min(seeds), seeds, level) {
            spent += look.level;
            if look.blocks == seeds || EARLY_LOOKS.contains(&look.blocks) {
                looks.push(Look { blocks: look.blocks, level: spent });
                spent = 0.0;
            }
        }
        Self { looks, level }
    }

    /// The numbers of seeds at which it looks.
    pub(super) fn seeds(&self) -> impl Iterator<Item = u32> {
        self.looks.iter().map(|look| look.blocks)
    }

    /// Changes of the level.
    pub(super) fn levels(&self, axis: &[&HistoryCell], scan: &mut ChangeScan) -> Vec<FoundChange> {
        let found = self.scanned(scan, |seeds| axis.iter().map(|cell| cell.costs(seeds)).collect());
        let ratios = |sides: [&[&HistoryCell]; 2]| {
            let [left, right] = sides.map(pooled);
            let found = hodges_lehmann_ratio(&left, &right, 1.0 - self.level)?;
            Some(PairRatio { ratio: found.ratio, low: found.low, high: found.high })
        };
        with_segments(axis, &found, ratios)
    }

    /// Changes of the spread over seeds, whose ratio is that of the typical distances of two seeds.
    pub(super) fn spreads(&self, axis: &[&HistoryCell], scan: &mut ChangeScan) -> Vec<FoundChange> {
        let found = self.scanned(scan, |seeds| {
            axis.iter().map(|cell| distances(&cell.costs(seeds)?)).collect()
        });
        let ratios = |sides: [&[&HistoryCell]; 2]| {
            let [left, right] = sides.map(spread);
            let ratio = right? / left?;
            Some(PairRatio { ratio, low: ratio, high: ratio })
        };
        with_segments(axis, &found, ratios)
    }

    fn scanned(
        &self,
        scan: &mut ChangeScan,
        groups: impl Fn(usize) -> Vec<Option<Vec<f64>>>,
    ) -> Vec<Change> {
        let of_look = |look: &Look| {
            let groups = groups(look.blocks as usize);
            let size = groups.iter().flatten().map(Vec::len).next().unwrap_or(0);
            scan.intervals(&groups, size, look.level)
        };
        narrowest(&self.looks.iter().flat_map(of_look).collect::<Vec<_>>())
    }
}

/// Changes with the ratios of the stretches on both sides, each up to the next change.
fn with_segments(
    axis: &[&HistoryCell],
    found: &[Change],
    ratios: impl Fn([&[&HistoryCell]; 2]) -> Option<PairRatio>,
) -> Vec<FoundChange> {
    let segment = |(index, place): (usize, &Change)| {
        let from = index.checked_sub(1).map_or(0, |former| found[former].before + 1);
        let to = found.get(index + 1).map_or(axis.len(), |next| next.before + 1);
        let sides = [&axis[from..=place.before], &axis[place.before + 1..to]];
        FoundChange { place: *place, ratio: ratios(sides) }
    };
    found.iter().enumerate().map(segment).collect()
}

/// All finite costs of some cells.
fn pooled(cells: &[&HistoryCell]) -> Vec<f64> {
    let costs = cells.iter().flat_map(|cell| cell.costs(cell.runs.len()).unwrap_or_default());
    costs.filter(|cost| cost.is_finite()).collect()
}

/// How far apart the logarithms of the first and second, third and fourth cost are, and so on;
/// `None` if a run failed.
///
/// Each seed is in one distance only. Distances from the median of all would depend on each other, and
/// where costs have two modes, equal kernels would be called different in 13 % of all cases at 5 %.
fn distances(costs: &[f64]) -> Option<Vec<f64>> {
    let of = |pair: &[f64]| Some((pair[0].ln() - pair[1].ln()).abs()).filter(|it| it.is_finite());
    costs.chunks_exact(2).map(of).collect()
}

impl HistoryCell {
    /// The typical distance of two seeds, as a part of a cost; `None` if a run failed.
    pub fn spread(&self) -> Option<f64> {
        spread(&[self])
    }
}

/// The typical distance of two seeds of these cells, as a part of a cost.
pub(super) fn spread(cells: &[&HistoryCell]) -> Option<f64> {
    let all = cells.iter().filter_map(|cell| distances(&cell.costs(cell.runs.len())?));
    let all: Vec<f64> = all.flatten().collect();
    Some(median(&all)?.exp_m1())
}
