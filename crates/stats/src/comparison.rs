//! Verdicts on a whole family of comparisons: what `thrashlab compare` decides.
//!
//! Each cell compares two samples of a cost (lower is better) by the ratio second / first.
//!
//! * **Method.** The rank method (Mann and Whitney's test of two samples, the signed ranks of
//!   pairs) decides if its smallest attainable p-value reaches the strictest level of the family,
//!   α / m for m comparable cells: it keeps its coverage and its power under stalls. Otherwise it
//!   could not fire whatever the data, and t on logarithms decides. If that has no spread to judge
//!   by either, the rank method decides after all, and can hardly tell. The choice depends on the sizes of
//!   the samples, never on what the test says.
//! * **Regression**: "the ratio is 1" is rejected, and the estimate is above 1 + margin.
//!   **Improvement**: the same with an estimate below 1 / (1 + margin).
//! * **Equivalent**: "the ratio is outside 1 / (1 + margin) … 1 + margin" is rejected by two
//!   one-sided tests (Schuirmann 1987); that is, the interval with confidence 1 - 2 α lies inside.
//!   Two samples of one and the same value, at least two of them a side, are equivalent too.
//! * **Cannot tell**: everything else, with the reason.
//!
//! **Bounds.** A value may be a lower bound: a start that never completed. Each claim is tested
//! where the bounds speak most against it: "larger" with the second sample's bounds taken as
//! values and the first one's as beyond everything, "smaller" and "not larger" the other way
//! round. The rank statistics are monotone in each value, so no completion of the bounded values
//! could withdraw a verdict; t on logarithms judges values capped at their bounds, whose mean is
//! not above the true one. The interval reaches from the lower end of the one case to the upper
//! end of the other.
//!
//! **Invariant:** however many cells, the chance that *any* of them is called a regression or an
//! improvement though its ratio is 1, or equivalent though its ratio is outside the margin, is at
//! most α. All these hypotheses are stepped down together (Holm 1979, Shaffer 1986; the proof is
//! with the adjustment in `multiple.rs`), the p-values of a cell are those that its intervals
//! invert, and the adjusted interval has the level that the step-down gave this cell: it says the
//! same as the verdict.

mod cell;
mod evidence;
mod outlook;
#[cfg(test)]
mod tests;

use model::Observation;
use serde::Serialize;

use crate::log_ratio::LogRatio;
use crate::multiple::{ExclusiveFamily, reaches};
pub use outlook::says_nothing;

/// Two samples of a cost: positive values, lower is better. The ratio is second / first.
#[derive(Clone, Debug, PartialEq)]
pub struct Arms {
    /// The baseline, in any positive unit.
    pub first: Vec<Observation>,
    /// What is compared with it, in the same unit.
    pub second: Vec<Observation>,
    /// Whether values at the same position belong together.
    pub pairing: Pairing,
}

impl Arms {
    /// Two samples in which every value was measured to its end.
    #[must_use]
    pub fn exact(first: &[f64], second: &[f64], pairing: Pairing) -> Self {
        let exact = |values: &[f64]| values.iter().copied().map(Observation::exact).collect();
        Self { first: exact(first), second: exact(second), pairing }
    }
}

/// Whether values of two samples belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// They do not.
    Unpaired,
    /// Those at the same position do: they have a block or a seed in common.
    Paired,
}

/// What makes a difference, and how sure one wants to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Ratios from 1 / (1 + margin) to 1 + margin do not matter; 0 or more.
    pub margin: f64,
    /// Chance of any false claim in the whole family, above 0 and below 0.5.
    pub alpha: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin: 0.10, alpha: 0.05 }
    }
}

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The second is slower, by more than the margin as estimated.
    Regression,
    /// The second is faster, by more than the margin as estimated.
    Improvement,
    /// The difference is smaller than the margin.
    Equivalent,
    /// Neither was shown.
    CannotTell,
}

/// The method that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Hodges and Lehmann's ratio with Mann and Whitney's test.
    HodgesLehmann,
    /// The median Walsh average of pairs with Wilcoxon's signed rank test.
    SignedRank,
    /// Geometric means with Welch's t on logarithms.
    WelchLog,
    /// The geometric mean of pairs' ratios with Student's t on logarithms.
    PairedLog,
}

/// Why a comparison could not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotDecided {
    /// No method could have told with so few values, whatever they are.
    TooFewValues,
    /// The interval includes 1, and more than the margin.
    IntervalIncludesOne,
    /// The interval excludes 1 by itself, but not at the level that so many comparisons need.
    NotAmongSoMany,
    /// There is a difference, but the interval includes an end of the margin: it may or may not be
    /// large enough to matter.
    MarginInsideInterval,
    /// Lower bounds among the values leave the ratio open: a longer timeout settles it.
    BoundsDecide,
}

/// One comparison of a family.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellResult {
    /// What was found.
    pub verdict: Verdict,
    /// Why nothing was, if the verdict is [`Verdict::CannotTell`].
    pub why: Option<NotDecided>,
    /// The method that decided.
    pub method: Method,
    /// Its estimate of second / first; with bounds the end of [`Self::allowed`] that is not
    /// trivial.
    pub ratio: f64,
    /// What lower bounds among the values allow the estimate to be; `None` without any.
    pub allowed: Option<AllowedRatio>,
    /// Lower end of its interval with confidence 1 - α, as if this were the only comparison.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// Coverage of that interval: at least 1 - α, or the most that so few values can give.
    pub confidence_attained: f64,
    /// Lower end of the interval at the level that the step-down gave this cell: with confidence
    /// 1 - α / d, and 1 - 2 α / d if the verdict is [`Verdict::Equivalent`], for 1 ≤ d ≤ m.
    pub adjusted_low: f64,
    /// Upper end of that interval.
    pub adjusted_high: f64,
    /// Two-sided p-value of "the ratio is 1" by this method; ties at 1 count for it.
    pub p: f64,
    /// The same adjusted for the family: compare it with α.
    pub p_adjusted: f64,
    /// p-value of "the ratio is outside the margin", adjusted for the family: compare it with α.
    pub equivalence_p_adjusted: f64,
    /// The smallest two-sided p-value that the rank test could give with so many values.
    pub smallest_p: f64,
    /// Whether that reaches α / m, so that the rank test decided.
    pub rank_can_fire: bool,
    /// Values a side, or pairs, with which it would.
    pub rank_needs: u64,
    /// The comparison by t on logarithms at confidence 1 - α, whichever method decided; `None`
    /// where there is no spread.
    pub log_ratio: Option<LogRatio>,
    /// p-value of the exact permutation (pairs: sign-flip) test of the means, for at most four
    /// values a side.
    pub permutation_p: Option<f64>,
    /// The smallest ratio above 1 that has a chance of 80 % to be called a regression at the level
    /// α / m with so many values that spread as these do; `None` where the spread is unknown.
    pub minimum_detectable: Option<f64>,
    /// How many more values a side (blocks) it would take to tell, with a chance of 80 % and if the
    /// ratio and the spread are what they seem; `None` if it was told, or if it is more than a
    /// million.
    pub more_blocks: Option<u64>,
    /// Values a side (blocks) with which the adjusted interval would be usable: its ends within a
    /// factor of two. `None` if it is not one that [`says_nothing`].
    pub interval_needs: Option<u64>,
    /// Number of values in the first sample.
    pub n_first: usize,
    /// Number of values in the second sample.
    pub n_second: usize,
}

/// The estimates that lower bounds among the values leave possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AllowedRatio {
    /// The smallest possible estimate; 0 if the bounds do not limit it.
    pub lowest: f64,
    /// The largest possible estimate; infinite if the bounds do not limit it.
    pub highest: f64,
}

impl AllowedRatio {
    /// What stands before the estimate in print: `≥ ` or `≤ ` if it is open, else nothing.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self { lowest, highest } if lowest == highest => "",
            Self { lowest, .. } if lowest > 0.0 => "≥ ",
            _ => "≤ ",
        }
    }
}

/// Why two samples cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CellError {
    /// A sample has no values.
    #[error("a sample has no values: nothing to compare")]
    Empty,
    /// A value is not positive and finite: this one.
    #[error("the value {0} has no ratio: costs must be above 0")]
    NotPositive(f64),
    /// Paired samples have different lengths.
    #[error(
        "{first} values cannot be paired with {second}: leave out incomplete pairs, or compare \
         them unpaired"
    )]
    UnequalLengths {
        /// Values in the first sample.
        first: usize,
        /// Values in the second sample.
        second: usize,
    },
    /// The ratio of two values is too large or too small for a float.
    #[error("the values differ by more than a float can hold: check the unit")]
    RatioOutOfRange,
    /// The margin is negative or not finite, or alpha is not above 0 and below 0.5.
    #[error("margin {} must be 0 or more, alpha {} above 0 and below 0.5", .0.margin, .0.alpha)]
    Settings(Settings),
}

/// How often something happened in two arms, such as the death of a run: times, and of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proportions {
    /// Of the first arm.
    pub first: (u64, u64),
    /// Of the second arm.
    pub second: (u64, u64),
}

/// What a comparison of two proportions found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProportionResult {
    /// Regression if it happens more often in the second arm.
    pub verdict: Verdict,
    /// Two-sided p-value of "equally often" (Fisher's exact test).
    pub p: f64,
    /// The same adjusted for the family: compare it with α.
    pub p_adjusted: f64,
}

/// The verdicts on a whole family.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Of the cells, in their order.
    pub cells: Vec<Result<CellResult, CellError>>,
    /// Of the proportions, in their order; `None` where an arm has no trials.
    pub proportions: Vec<Option<ProportionResult>>,
}

/// Compares every cell and every pair of proportions of a family, and lets each know of the
/// others: see the [module](self) for the rules.
///
/// The results are in the order of the cells. What cannot be compared does not count among the m
/// comparisons. Proportions are never called equivalent.
#[must_use]
pub fn compare(cells: &[Arms], proportions: &[Proportions], settings: &Settings) -> Judgement {
    let checked: Vec<_> = cells.iter().map(|arms| cell::check(arms, settings)).collect();
    let fisher: Vec<_> =
        proportions.iter().map(|of| crate::fisher_exact_p(of.first, of.second)).collect();
    let comparable =
        checked.iter().filter(|found| found.is_ok()).count() + fisher.iter().flatten().count();
    let level = settings.alpha / comparable as f64;
    let weighed: Vec<_> = checked
        .into_iter()
        .zip(cells)
        .map(|(found, arms)| found.and_then(|()| cell::weigh(arms, settings, level)))
        .collect();
    // "Outside the margin" is no hypothesis about a proportion: it is never rejected.
    let of_proportions = fisher.iter().flatten().map(|p| (*p, 1.0));
    let p_values: Vec<_> =
        weighed.iter().flatten().map(cell::Weighed::p_values).chain(of_proportions).collect();
    let family = ExclusiveFamily::new(&p_values);
    let judge = |weighed: cell::Weighed<'_>| weighed.judge(settings, level, &family);
    Judgement {
        cells: weighed.into_iter().map(|found| found.and_then(judge)).collect(),
        proportions: proportions
            .iter()
            .zip(fisher)
            .map(|(of, p)| Some(judge_proportions(*of, p?, settings, &family)))
            .collect(),
    }
}

fn judge_proportions(
    of: Proportions,
    p: f64,
    settings: &Settings,
    family: &ExclusiveFamily,
) -> ProportionResult {
    let p_adjusted = family.adjusted(p).p;
    let share = |(count, all): (u64, u64)| count as f64 / all as f64;
    let verdict = match reaches(p_adjusted, settings.alpha) {
        true if share(of.second) > share(of.first) => Verdict::Regression,
        true => Verdict::Improvement,
        false => Verdict::CannotTell,
    };
    ProportionResult { verdict, p, p_adjusted }
}
