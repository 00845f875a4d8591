//! Which limits are measured next to find what they cost.

use super::price::largest;
use super::{Curve, Priced, PricedLevel, Purpose, Range};

/// A level this much above the largest size without a limit should be cheap.
const ABOVE_PEAK: f64 = 1.02;
/// The way down from there, as parts of the level before; the last one again and again.
const STEPS_DOWN: [f64; 4] = [0.85, 0.6, 0.5, 0.25];
/// The way down without a known size.
const BLIND_STEPS: [f64; 2] = [0.5, 0.25];
/// Brackets with a higher ratio of their ends are narrowed from below, by this factor.
const FAR_APART: f64 = 4.0;
const STEP_UP: f64 = 2.0;
/// Steps down towards death from a level that is too expensive already.
const TOWARDS_DEATH: f64 = 0.6;
/// Ratio of its ends up to which the bracket of death is narrowed.
const DEATH_RATIO: f64 = 1.1;
/// Runs without a limit before all others, which show the noise.
const FIRST_RUNS: usize = 3;
/// Runs without a limit, at the last cheap level, and at the first dear one.
const LEAST_RUNS: [usize; 3] = [4, 3, 2];
/// Most runs of a level.
const MOST_RUNS: usize = 6;
/// Runs that are kept for the verification.
const KEPT: usize = 5;

/// Levels, how many times each, and what for.
type Request = (Vec<f64>, usize, Purpose);

/// The limit of an existing group at which the kernel kills.
const LETHAL: &str = "subject.max";

/// A search with what was measured so far.
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
        let wanted = if self.repeats { FIRST_RUNS } else { 1 };
        let base = self.range.rounded(self.range.first);
        let measured = self.curve.points.iter().filter(|point| point.level == base).count();
        if measured < wanted {
            return Some((vec![base], wanted - measured, Purpose::Coarse));
        }
        let priced = self.priced?;
        // Each further measurement there would kill a service that is in use.
        if priced.death.is_some() && self.curve.parameter == LETHAL {
            return None;
        }
        let once = |level: f64, purpose| (vec![level], 1, purpose);
        let coarse = self.down(priced).map(|level| once(level, Purpose::Coarse));
        let refine = || self.narrow(priced).map(|level| once(level, Purpose::Refine));
        let bracket = || self.death(priced).map(|level| once(level, Purpose::Bracket));
        coarse.or_else(refine).or_else(bracket).or_else(|| self.verify(priced))
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

    /// A level between the last cheap one and the first dear one, while they are far apart.
    fn narrow(&self, priced: &Priced) -> Option<f64> {
        let (cheap, dear) = priced.bracket();
        self.between(dear?.level, cheap.level, 1.0 + self.resolution)
    }

    /// A level towards or at the death of the work.
    fn death(&self, priced: &Priced) -> Option<f64> {
        if self.repeats && self.left <= KEPT {
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

    /// Both sides of the price again, and no limit, until they are certain.
    fn verify(&self, priced: &Priced) -> Option<Request> {
        if !self.repeats {
            return None;
        }
        let count = |it: &PricedLevel| it.runs + it.deaths;
        let base = priced.levels[0];
        let (cheap, dear) = priced.bracket();
        let wanted = [Some(base), Some(cheap), dear];
        let wanted = wanted.into_iter().zip(LEAST_RUNS);
        let few = wanted.filter_map(|(level, least)| level.filter(|it| count(it) < least));
        let mut levels: Vec<f64> = few.map(|it| it.level).collect();
        if levels.is_empty() {
            let is_open = |it: &&PricedLevel| count(it) < MOST_RUNS;
            let recommended = priced.recommended.as_ref().map_or(f64::INFINITY, |it| it.level);
            let above = priced.levels[1..].iter().rev().filter(|it| it.level >= cheap.level);
            let uncertain = above.filter(|it| it.level < recommended).find(is_open);
            // A level far below is dear for certain with fewer runs than the one at the price.
            let mut living = priced.levels.iter().filter(|it| it.ratio.is_some());
            let lowest = living.next_back().filter(|it| it.level < cheap.level);
            let doubtful = lowest.filter(|_| priced.certainly_dear().is_none()).filter(is_open);
            levels.extend(uncertain.into_iter().chain(doubtful).map(|it| it.level));
            if !levels.is_empty() && is_open(&&base) {
                levels.push(base.level);
            }
        }
        levels.truncate(self.left);
        (!levels.is_empty()).then_some((levels, 1, Purpose::Verify))
    }
}
