//! Which levels are measured next.

use stats::{KneeSettings, Shape};

use super::price_search::PriceSearch;
use super::{
    Batch, Boundary, Curve, PriceSettings, Priced, Purpose, Range, Row, Settings, orient, rows,
};

/// Levels that a refinement puts inside an interval, with both ends measured again: the measurements
/// for a factor in width, (k + 2) / ln(k + 1), are fewest for k of 2 to 3.
const INSIDE: usize = 3;
/// Batches after which a level is not refined again: the rest of the interval is noise, or gradual.
const MOST_REPEATS: usize = 4;

/// A search for the knee over one parameter.
///
/// 1. Coarse: levels over the whole range, and between these while they are too few for a knee
///    ([`stats::LEAST_LEVELS`]).
/// 2. Refine: levels in the knee's interval and its ends again, until it is narrow.
/// 3. Verify: both sides of the knee again, in both directions; without a knee, the levels with the
///    largest rise and the last one.
/// 4. Bracket: the level beyond which nothing can be measured.
///
/// With a price ([`Settings::price`]) it is the search for a limit that is described there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    range: Range,
    settings: SearchSettings,
}

/// How a knee is searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSettings {
    /// Width of the knee's interval, as a part of its level, at which refinement ends.
    pub resolution: f64,
    /// Levels of the coarse pass.
    pub coarse: usize,
    /// Measurements of each level of a batch, up and down in turn. On a deterministic subject they
    /// are seeds, and with one nothing is measured again.
    pub passes: u32,
    /// Most measurements in all.
    pub budget: usize,
    /// How the curve is read.
    pub find: Settings,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self { resolution: 0.05, coarse: 9, passes: 2, budget: 120, find: Settings::default() }
    }
}

impl Search {
    /// A search over `range`. Fails if the range or a setting makes no sense.
    pub fn new(range: Range, settings: SearchSettings) -> Result<Self, String> {
        range.check()?;
        let SearchSettings { resolution, coarse, passes, budget, find } = settings;
        if !(resolution > 0.0 && resolution < 1.0) {
            return Err(format!("the resolution must be between 0 and 1, not {resolution}"));
        }
        if coarse < 2 || passes == 0 {
            return Err(format!(
                "a sweep needs at least 2 coarse levels and 1 pass, not {coarse} and {passes}"
            ));
        }
        let KneeSettings { confidence, least_rise, .. } = find.knee;
        if !(confidence > 0.0 && confidence < 1.0 && least_rise > 1.0) {
            return Err(format!(
                "the confidence must be between 0 and 1 and the least rise above 1, not \
                 {confidence} and {least_rise}"
            ));
        }
        let least = range.spread(range.first, range.last, coarse).len() * passes as usize;
        if budget < least {
            return Err(format!(
                "{budget} measurements are too few: {coarse} coarse levels in {passes} passes \
                 need {least}"
            ));
        }
        Ok(Self { range, settings })
    }

    /// The coarse levels, from the range's first to its last.
    pub fn coarse_levels(&self) -> Vec<f64> {
        self.range.spread(self.range.first, self.range.last, self.settings.coarse)
    }

    /// The next measurements; `None` if the search or its budget is at the end.
    pub fn next(&self, curve: &Curve) -> Option<Batch> {
        let Self { range, settings } = self;
        let state = State { range, settings, coarse: self.coarse_levels(), curve };
        if state.left() == 0 {
            return None;
        }
        if let Some(price) = self.settings.find.price {
            return state.priced(price);
        }
        state.coarse().or_else(|| {
            let found = orient::orient(curve, &self.settings.find);
            let again = || (!state.repeats_nothing()).then_some(&state);
            let bracket = || state.bracket(found.unmeasurable.as_ref()?);
            match &found.shape {
                Shape::Knee(knee) => {
                    let knees = found.by_way.as_ref().map_or(std::slice::from_ref(knee), |by| by);
                    let refined = knees.iter().find_map(|knee| state.refine(knee));
                    refined.or_else(|| again()?.verify(knee)).or_else(bracket)
                }
                Shape::NoKnee(_) => bracket().or_else(|| again()?.doubt()),
                Shape::TooFew(_) => bracket().or_else(|| state.fill()),
            }
        })
    }

    /// The budget, if a higher one would continue the search.
    pub fn ended_by_budget(&self, curve: &Curve) -> Option<usize> {
        let mut unlimited = *self;
        unlimited.settings.budget = usize::MAX;
        let is_cut_short = self.next(curve).is_none() && unlimited.next(curve).is_some();
        is_cut_short.then_some(self.settings.budget)
    }
}

/// A search with the curve measured so far.
struct State<'a> {
    range: &'a Range,
    settings: &'a SearchSettings,
    coarse: Vec<f64>,
    curve: &'a Curve,
}

impl State<'_> {
    /// Measurements left of the budget.
    fn left(&self) -> usize {
        self.settings.budget.saturating_sub(self.curve.points.len())
    }

    fn passes(&self) -> usize {
        self.settings.passes as usize
    }

    /// Whether measuring again would give the same values.
    fn repeats_nothing(&self) -> bool {
        self.curve.deterministic && self.passes() == 1
    }

    fn count(&self, level: f64) -> usize {
        self.curve.points.iter().filter(|point| point.level == level).count()
    }

    /// A batch of levels, put in order; `None` without levels, or without budget for one pass.
    fn batch(&self, mut levels: Vec<f64>, passes: usize, purpose: Purpose) -> Option<Batch> {
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        if self.range.first > self.range.last {
            levels.reverse();
        }
        let passes = passes.min(self.left().checked_div(levels.len())?) as u32;
        let first_pass = self.curve.points.iter().map(|point| point.pass + 1).max().unwrap_or(0);
        (passes > 0).then_some(Batch { levels, first_pass, passes, purpose })
    }

    /// The next measurements of a search for the limit at which the work begins to pay.
    fn priced(&self, price: PriceSettings) -> Option<Batch> {
        let priced = Priced::of(self.curve, price, self.settings.find.knee.confidence);
        let Self { range, settings, curve, .. } = *self;
        let search = PriceSearch {
            range,
            resolution: settings.resolution,
            repeats: !self.repeats_nothing(),
            left: self.left(),
            curve,
            priced: priced.as_ref(),
        };
        let (levels, passes, purpose) = search.next()?;
        self.batch(levels, passes, purpose)
    }

    /// The coarse levels that were not yet measured in all passes.
    fn coarse(&self) -> Option<Batch> {
        let mut levels = self.coarse.clone();
        levels.retain(|level| self.count(*level) < self.passes());
        let fewest = levels.iter().map(|level| self.count(*level)).min()?;
        let mut batch = self.batch(levels, self.passes() - fewest, Purpose::Coarse)?;
        // A sweep interrupted on its way back continues in that direction.
        batch.first_pass += u32::from(batch.first_pass as usize % 2 != fewest % 2);
        Some(batch)
    }

    /// Levels in the knee's interval with its ends, if it is too wide, or only coarse levels exist.
    fn refine(&self, knee: &stats::Knee) -> Option<Batch> {
        let range = self.range;
        let width = self.settings.resolution * knee.level.abs();
        let is_seen = self.curve.points.iter().any(|it| !self.coarse.contains(&it.level));
        if knee.high - knee.low <= width.max(range.quantum) && is_seen {
            return None;
        }
        let (lowest, highest) = crate::extent(&[range.first, range.last]);
        let end = |level: f64| self.snapped(level.clamp(lowest, highest));
        let low = end(knee.low.min(knee.level - width / 2.0));
        let high = end(knee.high.max(knee.level + width / 2.0));
        let most = if self.repeats_nothing() { 1 } else { MOST_REPEATS * self.passes() };
        let is_due = |level: &f64| self.count(*level) < most;
        let inside = range.inside(low, high, INSIDE).into_iter().map(|level| self.snapped(level));
        let inside: Vec<f64> = inside.filter(is_due).collect();
        let ends: Vec<f64> = [low, high].into_iter().filter(is_due).collect();
        // The rest must suffice for the verification too.
        let kept = if self.repeats_nothing() { 0 } else { 2 * self.passes() };
        let most = self.left().saturating_sub(kept) / self.passes();
        let middle = inside.get(inside.len() / 2).copied();
        let mut levels = [inside, ends].concat();
        if levels.len() > most {
            levels = middle.into_iter().take(most).collect();
        }
        self.batch(levels, self.passes(), Purpose::Refine)
    }

    /// A measured level that is nearly the same, else the level rounded.
    fn snapped(&self, level: f64) -> f64 {
        let near = self.settings.resolution * level.abs() / 4.0;
        let distance = |point: &f64| (point - level).abs();
        let measured = self.curve.points.iter().map(|point| point.level);
        let measured = measured.filter(|point| distance(point) <= near);
        let nearest = measured.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.unwrap_or_else(|| self.range.rounded(level))
    }

    /// Both sides of the knee, until each was in two batches; with neighbours while they overlap.
    fn verify(&self, knee: &stats::Knee) -> Option<Batch> {
        let mut levels = vec![knee.capacity, knee.beyond];
        let fewest = levels.iter().map(|level| self.count(*level)).min()?;
        let holds = rows::verification(self.curve, knee).holds;
        if fewest >= 2 * self.passes() {
            if holds || fewest >= MOST_REPEATS * self.passes() {
                return None;
            }
            let (low, high) = crate::extent(&levels);
            let measured = || rows::by_level(self.curve).into_iter().map(|(level, _)| level);
            levels.extend(measured().rfind(|level| *level < low));
            levels.extend(measured().find(|level| *level > high));
        }
        self.batch(levels, self.passes(), Purpose::Verify)
    }

    /// Where a knee could have been missed, again: the largest rise and the last level, at most twice.
    fn doubt(&self) -> Option<Batch> {
        let rows = rows::rows(self.curve);
        let measured: Vec<(f64, f64)> =
            rows.iter().filter_map(|row| Some((row.level, row.cost?))).collect();
        let rise = |pair: &[(f64, f64)]| (pair[0].1 / pair[1].1).ln().abs();
        let pair = measured.windows(2).max_by(|a, b| rise(a).total_cmp(&rise(b)))?;
        let is_upward = self.range.first < self.range.last;
        let last = if is_upward { measured.last() } else { measured.first() }?.0;
        let levels = vec![pair[0].0, pair[1].0, last];
        let is_done = |level: &f64| self.count(*level) >= 2 * self.passes();
        if levels.iter().all(is_done) || self.count(last) >= 3 * self.passes() {
            return None;
        }
        self.batch(levels, self.passes(), Purpose::Verify)
    }

    /// A level between any two neighbours that have a cost.
    fn fill(&self) -> Option<Batch> {
        let mut rows = rows::rows(self.curve);
        rows.retain(|row| row.cost.is_some());
        let between = |pair: &[Row]| self.range.inside(pair[0].level, pair[1].level, 1);
        let mut levels: Vec<f64> = rows.windows(2).flat_map(between).collect();
        levels.retain(|level| self.count(*level) == 0);
        self.batch(levels, self.passes(), Purpose::Coarse)
    }

    /// Levels between the last measurable one and the first unmeasurable one.
    fn bracket(&self, boundary: &Boundary) -> Option<Batch> {
        let Boundary { last, first, .. } = *boundary;
        let range = self.range;
        let near = self.settings.resolution * last.abs().max(first.abs());
        if (first - last).abs() <= near.max(range.quantum) {
            return None;
        }
        let mut levels = range.inside(last, first, INSIDE);
        levels.retain(|level| self.count(*level) == 0);
        levels.truncate(self.left());
        self.batch(levels, 1, Purpose::Bracket)
    }
}
