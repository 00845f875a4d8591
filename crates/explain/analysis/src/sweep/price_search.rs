//! Which limits are measured next to find what they cost.
//!
//! A knee needs the whole curve; a price needs only the place at which the cost crosses it. So this
//! search brackets: from just above the largest size that the work reaches without a limit, downwards
//! in steps until a level is too expensive or dies, then into the bracket until that is narrow. A cost
//! is only known within the noise of its runs, so both sides are repeated as often as the noise asks
//! for, and most where the cost is near the price.
//!
//! Where the work dies is searched for on its own, since it may die before it becomes expensive.
//! Like all searches here this is a pure function of what was measured, so it can be continued.

use super::price::{largest, peak};
use super::{Curve, Priced, PricedLevel, Purpose, Range};

/// A level this much above the largest size without a limit should be cheap.
const ABOVE_PEAK: f64 = 1.02;
/// The way down from there, as parts of the level before; the last one again and again. Brackets
/// that begin higher are narrower, so that the knee's is narrow after 3, 4 or 5 halvings.
const STEPS_DOWN: [f64; 3] = [0.686, 0.464, 0.27];
/// The way down without a known size.
const BLIND_STEPS: [f64; 2] = [0.5, 0.25];
/// Brackets with a higher ratio of their ends are narrowed from below, by this factor.
const FAR_APART: f64 = 4.0;
const STEP_UP: f64 = 2.0;
/// Steps down towards death from a level that is too expensive already.
const TOWARDS_DEATH: f64 = 0.6;
/// Ratio of its ends up to which the bracket of death is narrowed.
const DEATH_RATIO: f64 = 1.1;
/// Runs without a limit before all others, which show the noise; with a known size one less, as the
/// first limit is one that the work does not reach.
const FIRST_RUNS: usize = 3;
/// Runs of either side of the knee.
const LEAST_RUNS: usize = 2;
/// Most runs of a level.
const MOST_RUNS: usize = 6;
/// Most runs of the cheap side before its other side is measured again.
const FIRST_OF_CHEAP: usize = 4;
/// Runs that are kept for the verification.
const KEPT: usize = 5;
/// Most runs of a search on a quiet machine.
const QUIET_RUNS: usize = 12;
/// A machine is quiet if the spread of its runs is at most this part of the price.
const QUIET_PART: f64 = 0.5;
/// Extra costs that are near the price, as parts of it.
const NEAR: std::ops::Range<f64> = 0.5..1.7;
/// Part of the resolution by which two levels differ to be narrow.
const ALMOST: f64 = 0.98;
/// A recommended level above this multiple of the lowest cheap one wastes memory.
const FAR_ABOVE: f64 = 1.2;
/// Knees below this part of the size without a limit take more runs.
const DEEP: f64 = 0.3;

/// Levels, how many times each, and what for.
type Request = (Vec<f64>, usize, Purpose);

/// The limit of an existing group at which the kernel kills.
const LETHAL: &str = "subject.max";

/// A search with what was measured so far.
#[derive(Clone, Copy)]
pub(super) struct PriceSearch<'a> {
    /// From no limit down to the lowest one that may be tried.
    pub(super) range: &'a Range,
    /// Width of the bracket of the price, as a part of its level, at which it is narrow.
    pub(super) resolution: f64,
    /// Whether measuring a level again may give another value.
    pub(super) repeats: bool,
    /// Measurements left.
    pub(super) left: usize,
    pub(super) curve: &'a Curve,
    pub(super) priced: Option<&'a Priced>,
}

impl PriceSearch<'_> {
    /// The next measurements; `None` when all is known, or the work cannot be measured without a
    /// limit.
    pub(super) fn next(&self) -> Option<Request> {
        let first_runs = FIRST_RUNS - usize::from(peak(self.curve).is_some());
        let wanted = if self.repeats { first_runs } else { 1 };
        let base = self.range.rounded(self.range.first);
        let measured = self.curve.points.iter().filter(|point| point.level == base).count();
        if measured < wanted {
            // The first run shows whether the size is known.
            let runs = if measured == 0 { 1 } else { wanted - measured };
            return Some((vec![base], runs, Purpose::Coarse));
        }
        let priced = self.priced?;
        // Each further measurement there would kill a service that is in use.
        if priced.death.is_some() && self.curve.parameter == LETHAL {
            return None;
        }
        let search = Self { left: self.left_of(priced), ..*self };
        search.of_priced(priced)
    }

    fn of_priced(&self, priced: &Priced) -> Option<Request> {
        if self.left == 0 {
            return None;
        }
        let once = |level: f64, purpose| (vec![level], 1, purpose);
        let coarse = self.down(priced).map(|level| once(level, Purpose::Coarse));
        let refine = || self.narrow(priced).map(|level| once(level, Purpose::Refine));
        let confirm = || self.confirm(priced).map(|level| once(level, Purpose::Verify));
        let bracket = || self.death(priced).map(|level| once(level, Purpose::Bracket));
        let found = coarse.or_else(refine).or_else(confirm).or_else(bracket);
        found.or_else(|| self.verify(priced))
    }

    /// Measurements left: fewer if the runs differ little, unless the knee is deep or its bracket
    /// wide.
    fn left_of(&self, priced: &Priced) -> usize {
        let (cheap, dear) = priced.bracket();
        let is_near = largest(self.curve).is_some_and(|peak| cheap.level >= DEEP * peak);
        let wide = (1.0 + self.resolution).powi(2);
        let is_narrow = dear.is_none_or(|dear| cheap.level <= wide * dear.level);
        let is_quick = self.repeats && is_near && is_narrow && self.is_quiet(priced);
        let quick = QUIET_RUNS.saturating_sub(self.curve.points.len());
        if is_quick { self.left.min(quick) } else { self.left }
    }

    /// Whether runs of the same level differ little, up to the cheap side of the knee.
    fn is_quiet(&self, priced: &Priced) -> bool {
        let cheap = priced.bracket().0.level;
        let levels = &priced.levels;
        let loose = levels.partition_point(|it| it.is_loose);
        let used = levels.partition_point(|it| it.level >= cheap).max(loose);
        let (mut squares, mut freedom) = (0.0, 0.0);
        for group in std::iter::once(&levels[..loose]).chain(levels[loose..used].chunks(1)) {
            let is_in = |level: f64| group.iter().any(|it| it.level == level);
            let points = self.curve.points.iter().filter(|point| is_in(point.level));
            let logs: Vec<f64> = points.filter_map(|it| it.cost).map(f64::ln).collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
            freedom += logs.len() as f64 - 1.0;
        }
        squares <= freedom * (QUIET_PART * priced.price).powi(2)
    }

    /// The next level downwards while all are within the price.
    fn down(&self, priced: &Priced) -> Option<f64> {
        if priced.bracket().1.is_some() {
            return None;
        }
        let (base, lowest) = (priced.levels[0].level, priced.levels.last()?.level);
        let below = priced.levels.len() - 1;
        let part = |parts: &[f64], index: usize| parts[index.min(parts.len() - 1)];
        let peak = largest(self.curve).map(|peak| peak * ABOVE_PEAK).filter(|peak| *peak < base);
        let next = match (peak, below) {
            (Some(peak), 0) => peak,
            (Some(_), _) => lowest * part(&STEPS_DOWN, below - 1),
            (None, _) => lowest * part(&BLIND_STEPS, below),
        };
        self.below(lowest, next)
    }

    /// A level of the range strictly below another one.
    fn below(&self, level: f64, next: f64) -> Option<f64> {
        let next = self.range.rounded(next.max(self.range.last));
        (next < level).then_some(next)
    }

    /// A level between the last cheap one and the first dear one, while they are far apart: next to
    /// the one whose cost is near the price, else in the middle.
    fn narrow(&self, priced: &Priced) -> Option<f64> {
        let (cheap, dear) = priced.bracket();
        let dear = dear?;
        let middle = self.between(dear.level, cheap.level, 1.0 + self.resolution)?;
        let next = self.above_near(priced, dear).or_else(|| self.below_near(priced, cheap));
        Some(next.filter(|next| dear.level < *next && *next < cheap.level).unwrap_or(middle))
    }

    /// The level just below one that costs nearly the price, unless one just above was measured.
    fn below_near(&self, priced: &Priced, of: PricedLevel) -> Option<f64> {
        let is_next = self.are_next(of.level, next_above(priced, of.level)?.level);
        let is_near = !is_next && is_near(priced, &of);
        is_near.then(|| self.range.rounded(of.level / self.step()))
    }

    /// The level just above one that costs little more than the price, unless one just below was
    /// measured.
    fn above_near(&self, priced: &Priced, of: PricedLevel) -> Option<f64> {
        let below = next_below(priced, of.level);
        let is_next = below.is_some_and(|it| self.are_next(it.level, of.level));
        let is_near = !is_next && is_near(priced, &of);
        is_near.then(|| self.range.rounded(of.level * self.step()))
    }

    /// Whether two levels are a narrow bracket.
    fn are_next(&self, low: f64, high: f64) -> bool {
        high <= low * (1.0 + self.resolution)
    }

    /// Ratio of two levels that are narrow even when they are rounded.
    fn step(&self) -> f64 {
        1.0 + ALMOST * self.resolution
    }

    /// A level towards or at the death of the work.
    fn death(&self, priced: &Priced) -> Option<f64> {
        let (cheap, dear) = priced.bracket();
        let is_certain = priced.recommended.is_some_and(|it| it.level <= cheap.level)
            && (priced.certainly_dear().is_some() || dear.is_none_or(|it| it.ratio.is_none()));
        if self.repeats && !is_certain && self.left <= KEPT {
            return None;
        }
        if let Some(death) = &priced.death {
            return self.between(death.first, death.last, DEATH_RATIO);
        }
        let lowest = priced.levels.last()?;
        let is_tried = lowest.ratio.is_none_or(|it| it.ratio >= priced.most);
        if is_tried { None } else { self.below(lowest.level, lowest.level * TOWARDS_DEATH) }
    }

    /// A level strictly between two, unless their ratio is at most `narrow`.
    fn between(&self, low: f64, high: f64, narrow: f64) -> Option<f64> {
        if high <= low * narrow {
            return None;
        }
        let middle = if high > low * FAR_APART { low * STEP_UP } else { (low * high).sqrt() };
        Some(self.range.rounded(middle)).filter(|level| low < *level && *level < high)
    }

    /// Either side of the knee again. A death is not: one makes a limit fatal.
    fn confirm(&self, priced: &Priced) -> Option<f64> {
        if !self.repeats {
            return None;
        }
        let (cheap, dear) = priced.bracket();
        let dear = dear.filter(|it| it.ratio.is_some());
        // It may turn out to be cheap, and then the bracket is another one.
        let is_doubtful =
            |it: &PricedLevel| it.ratio.is_some_and(|it| it.low <= 1.0 + priced.price);
        let doubtful = dear.filter(is_doubtful);
        let is_certain = priced.recommended.is_some_and(|it| it.level <= cheap.level);
        let is_at_price = !is_certain && is_near(priced, &cheap);
        let least = if is_certain || is_at_price { LEAST_RUNS } else { FIRST_OF_CHEAP };
        let again = |it: Option<PricedLevel>, least: usize| {
            it.filter(|it| it.runs < least).map(|it| it.level)
        };
        let high = priced.recommended.is_none_or(|it| it.level > FAR_ABOVE * cheap.level);
        let fallback = || self.recommendable(priced, &cheap).filter(|_| high && self.left == 1);
        let above = || is_at_price.then(|| self.just_above(priced, &cheap)).flatten();
        let below = || doubtful.and_then(|it| self.just_below(priced, &it));
        let either = fallback().or(again(doubtful, LEAST_RUNS)).or(again(Some(cheap), least));
        either.or_else(above).or_else(below).or(again(dear, LEAST_RUNS))
    }

    /// The lowest level measured once whose cost is far below the price.
    fn recommendable(&self, priced: &Priced, cheap: &PricedLevel) -> Option<f64> {
        let mut above = priced.levels.iter().rev().filter(|it| it.level >= cheap.level);
        let is_free =
            |it: &&PricedLevel| !it.is_loose && it.runs < LEAST_RUNS && !is_near(priced, it);
        above.find(is_free).map(|it| it.level)
    }

    /// The level just below one that costs nearly the price, to be certainly dear or fatal.
    fn just_below(&self, priced: &Priced, of: &PricedLevel) -> Option<f64> {
        let below = next_below(priced, of.level);
        let is_next = below.is_some_and(|it| self.are_next(it.level, of.level));
        let is_tried = is_next || !is_near(priced, of);
        if is_tried { None } else { self.below(of.level, of.level / self.step()) }
    }

    /// The lowest level just above one that costs nearly the price, to be recommended.
    fn just_above(&self, priced: &Priced, of: &PricedLevel) -> Option<f64> {
        let above = next_above(priced, of.level)?;
        if !self.are_next(of.level, above.level) {
            return Some(self.range.rounded(of.level * self.step()));
        }
        Some(above.level).filter(|_| !above.is_loose && above.runs < LEAST_RUNS)
    }

    /// Both sides of the price again, and no limit, until they are certain.
    fn verify(&self, priced: &Priced) -> Option<Request> {
        if !self.repeats {
            return None;
        }
        let is_open = |it: &&PricedLevel| it.runs + it.deaths < MOST_RUNS;
        let base = priced.levels[0];
        let cheap = priced.bracket().0;
        let recommended = priced.recommended.as_ref().map_or(f64::INFINITY, |it| it.level);
        let above = priced.levels[1..].iter().rev().filter(|it| it.level >= cheap.level);
        let uncertain = above.filter(|it| it.level < recommended).find(is_open);
        // A level far below is dear for certain with fewer runs than the one at the price.
        let mut living = priced.levels.iter().filter(|it| it.ratio.is_some());
        let lowest = living.next_back().filter(|it| it.level < cheap.level);
        let doubtful = lowest.filter(|_| priced.certainly_dear().is_none()).filter(is_open);
        let mut levels: Vec<f64> =
            uncertain.into_iter().chain(doubtful).map(|it| it.level).collect();
        if !levels.is_empty() && is_open(&&base) {
            levels.push(base.level);
        }
        levels.truncate(self.left);
        (!levels.is_empty()).then_some((levels, 1, Purpose::Verify))
    }
}

/// The lowest level measured above another one.
fn next_above(priced: &Priced, level: f64) -> Option<&PricedLevel> {
    priced.levels.iter().rev().find(|it| it.level > level)
}

/// The highest level measured below another one.
fn next_below(priced: &Priced, level: f64) -> Option<&PricedLevel> {
    priced.levels.iter().find(|it| it.level < level)
}

/// Whether a level costs about as much as the price, so that the knee is not far.
fn is_near(priced: &Priced, level: &PricedLevel) -> bool {
    let part = |it: stats::OrderedRatio| it.ratio.ln() / priced.price.ln_1p();
    level.ratio.map(part).is_some_and(|part| NEAR.contains(&part))
}
