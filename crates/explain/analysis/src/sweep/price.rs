//! The limit at which work begins to pay, the one to recommend, and the one at which it dies.
//!
//! The cost without a limit is that of the highest level, and of all others that the work does not
//! reach. A lower limit costs the same or more, so each level is judged with the help of its
//! neighbours ([`stats::ordered_ratios`]).

use serde::Serialize;

use super::{Boundary, Curve, PriceSettings, rows};

/// Fewest measurements of a level that is recommended.
const LEAST_RUNS: usize = 2;

/// Standard errors up to which a difference is taken for noise while it is not certain.
const NOISE: f64 = 2.0;

/// What the limits of a curve cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Priced {
    /// The acceptable extra cost, as a part.
    pub price: f64,
    /// The factor from which lower limits were not tried.
    pub most: f64,
    /// Coverage of all intervals.
    pub confidence: f64,
    /// Median cost at the highest level, which counts as no limit.
    pub base_cost: f64,
    /// The levels, from the highest to the lowest.
    pub levels: Vec<PricedLevel>,
    /// Where the cost reaches the price, if it certainly does.
    pub knee: Option<PriceKnee>,
    /// The lowest level measured whose cost is certainly within the price.
    pub recommended: Option<PricedLevel>,
    /// Between the last level at which every run lived and the first at which one did not.
    pub death: Option<Boundary>,
}

/// What one limit costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PricedLevel {
    /// The level, in the curve's unit.
    pub level: f64,
    /// How many runs have a cost.
    pub runs: usize,
    /// How many have none.
    pub deaths: usize,
    /// Cost over the cost without a limit, and its interval; `None` where a run died, and below.
    pub ratio: Option<stats::OrderedRatio>,
    /// Whether the work does not reach the level, so that its cost is that without a limit.
    pub is_loose: bool,
}

/// Where the cost reaches the price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PriceKnee {
    /// The level at which it does, between `cheap` and `dear`.
    pub level: f64,
    /// Highest level whose cost is certainly above the price, or that is fatal.
    pub low: f64,
    /// Lowest level whose cost is certainly within the price, or the highest level of all.
    pub high: f64,
    /// Lowest level that seems to be within the price.
    pub cheap: f64,
    /// The next lower one.
    pub dear: f64,
}

impl Priced {
    /// Prices the levels of a curve; `None` while there is no cost at its highest level.
    pub fn of(curve: &Curve, settings: PriceSettings, confidence: f64) -> Option<Self> {
        let PriceSettings { price, most } = settings;
        let mut by_level = rows::by_level(curve);
        by_level.reverse();
        // A bound that was left out, as something took longer, shows neither a cost nor a death.
        for (_, points) in &mut by_level {
            points.retain(|point| point.cost.is_some() || !point.is_lower_bound);
        }
        by_level.retain(|(_, points)| !points.is_empty());
        let costs: Vec<Vec<f64>> =
            by_level.iter().map(|(_, points)| rows::costs(points.iter().copied())).collect();
        let deaths = |index: usize| by_level[index].1.len() - costs[index].len();
        let living = (0..by_level.len()).take_while(|index| deaths(*index) == 0).count();
        let peak = self::peak(curve);
        let is_loose = |level: f64| peak.is_some_and(|peak| level >= peak);
        let loose = by_level[..living].iter().take_while(|(level, _)| is_loose(*level)).count();
        // Their runs are at other times than the first ones, so that a drift is noise.
        let loose = loose.max(1).min(living);
        let base = costs[..loose].concat();
        let base_cost = stats::median(&base)?;
        let is_exact = curve.deterministic && costs.iter().all(|costs| costs.len() < LEAST_RUNS);
        let groups: Vec<Vec<f64>> = [&[base][..], &costs[loose..living]].concat();
        let mut ratios = stats::ordered_ratios(&groups, confidence)?;
        ratios.splice(..1, vec![ratios[0]; loose]);
        for ratio in ratios.iter_mut().filter(|_| is_exact) {
            (ratio.low, ratio.high, ratio.standard_error) = (ratio.ratio, ratio.ratio, 0.0);
        }
        let levels = by_level.iter().enumerate().map(|(index, (level, _))| PricedLevel {
            level: *level,
            runs: costs[index].len(),
            deaths: deaths(index),
            ratio: ratios.get(index).copied(),
            is_loose: index < loose,
        });
        let levels: Vec<PricedLevel> = levels.collect();
        let least_runs = if is_exact { 1 } else { LEAST_RUNS };
        let is_certain = |it: &&PricedLevel| {
            (it.runs >= least_runs || it.is_loose)
                && it.ratio.is_some_and(|ratio| ratio.high <= 1.0 + price)
        };
        let recommended = levels.iter().rev().find(is_certain).copied();
        let death = levels.get(living).map(|first| Boundary {
            last: levels[living - 1].level,
            first: first.level,
            reason: reason(&by_level[living].1),
        });
        let none = None;
        let mut made =
            Self { price, most, confidence, base_cost, levels, knee: none, recommended, death };
        made.knee = made.find_knee();
        Some(made)
    }

    /// The lowest level that seems to be within the price, and the next lower one, if there is one.
    ///
    /// A cost within its noise seems so too: else a search on a noisy machine would stay far above
    /// the limit at which the cost rises.
    pub fn bracket(&self) -> (PricedLevel, Option<PricedLevel>) {
        let is_cheap = |it: &PricedLevel| {
            it.ratio.is_some_and(|it| {
                let noise =
                    if it.standard_error.is_finite() { NOISE * it.standard_error } else { 0.0 };
                it.ratio.ln() <= self.price.ln_1p().max(noise)
            })
        };
        let count = self.levels.iter().take_while(|it| is_cheap(it)).count();
        (self.levels[count.max(1) - 1], self.levels.get(count).copied())
    }

    /// The level to look at for what the work lacks: the highest one at which it lives and that certainly
    /// costs more than the price, else the highest one that seems to.
    pub fn costly(&self) -> Option<&PricedLevel> {
        let seems_dear = |it: &&PricedLevel| it.ratio.is_some_and(|it| it.ratio > 1.0 + self.price);
        self.certainly_dear().or_else(|| self.levels.iter().find(seems_dear))
    }

    /// The highest level whose cost is certainly above the price.
    pub(super) fn certainly_dear(&self) -> Option<&PricedLevel> {
        let is_dear = |it: &&PricedLevel| it.ratio.is_some_and(|it| it.low > 1.0 + self.price);
        self.levels.iter().find(is_dear)
    }

    fn find_knee(&self) -> Option<PriceKnee> {
        let certain = self.certainly_dear()?;
        let (cheap, dear) = self.bracket();
        let dear = dear?;
        let high = self.recommended.as_ref().map_or(self.levels[0].level, |it| it.level);
        let level = crossing(&cheap, &dear, 1.0 + self.price);
        let low = certain.level.min(dear.level);
        Some(PriceKnee { level, low, high, cheap: cheap.level, dear: dear.level })
    }
}

/// The largest size of the work at the highest level, if the limit is one of its memory and the
/// kernel kept the size. Levels above it cost what no limit costs.
pub(super) fn peak(curve: &Curve) -> Option<f64> {
    size_without_limit(curve, "peak_bytes")
}

/// The size of [`peak`], or else the largest size that was read, which may be too small.
pub(super) fn largest(curve: &Curve) -> Option<f64> {
    peak(curve).or_else(|| size_without_limit(curve, "largest_reading_bytes"))
}

fn size_without_limit(curve: &Curve, name: &str) -> Option<f64> {
    let is_memory = ["mem", "memory", "high", "max"].iter().any(|it| curve.parameter.ends_with(it));
    let levels = curve.points.iter().map(|point| point.level);
    let base = levels.filter(|_| is_memory).reduce(f64::max)?;
    let without = curve.points.iter().filter(|point| point.level == base);
    let sizes = without.filter_map(|point| point.sizes.get(name).copied());
    sizes.reduce(f64::max)
}

/// Where the cost reaches a ratio; the geometric middle without costs.
///
/// The cost is flat and then rises, from somewhere between the two levels: it reaches the ratio
/// between the dear level and where the line between both does, on logarithmic scales. The middle
/// of these is at most half of the bracket off.
fn crossing(cheap: &PricedLevel, dear: &PricedLevel, ratio: f64) -> f64 {
    let costs = cheap.ratio.zip(dear.ratio).map(|(cheap, dear)| (cheap.ratio, dear.ratio));
    let part = costs.map(|(below, above)| (ratio / below).ln() / (above / below).ln());
    let part = part.filter(|part| (0.0..=1.0).contains(part)).unwrap_or(0.0);
    cheap.level * (dear.level / cheap.level).powf(f64::midpoint(part, 1.0))
}

fn reason(points: &[&super::Point]) -> String {
    let dead = points.iter().filter(|point| point.cost.is_none());
    let reasons = crate::distinct(dead.filter_map(|point| point.problem.clone()));
    match reasons.is_empty() {
        true => "no reason was given".to_owned(),
        false => reasons.join("; "),
    }
}
