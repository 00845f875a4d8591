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

use std::fmt;

use serde::Serialize;

use crate::log_ratio::LogRatio;
use crate::multiple::ExclusiveFamily;

/// Two samples of a cost: positive values, lower is better. The ratio is second / first.
#[derive(Clone, Debug, PartialEq)]
pub struct Arms {
    /// The baseline, in any positive unit.
    pub first: Vec<f64>,
    /// What is compared with it, in the same unit.
    pub second: Vec<f64>,
    /// Whether values at the same position belong together.
    pub pairing: Pairing,
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
    /// Its estimate of second / first.
    pub ratio: f64,
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
    /// The smallest ratio above 1 that has a chance of 80 % to be detected at the level α / m with
    /// so many values that spread as these do; `None` where the spread is unknown.
    pub minimum_detectable: Option<f64>,
    /// How many more values a side (blocks) it would take to tell, with a chance of 80 % and if the
    /// ratio and the spread are what they seem; `None` if it was told, or if it is more than a
    /// million.
    pub more_blocks: Option<u64>,
    /// Number of values in the first sample.
    pub n_first: usize,
    /// Number of values in the second sample.
    pub n_second: usize,
}

/// Why two samples cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellError {
    /// A sample has no values.
    Empty,
    /// A value is not positive and finite: this one.
    NotPositive(f64),
    /// Paired samples have different lengths.
    UnequalLengths {
        /// Values in the first sample.
        first: usize,
        /// Values in the second sample.
        second: usize,
    },
    /// The ratio of two values is too large or too small for a float.
    RatioOutOfRange,
    /// The margin is negative or not finite, or alpha is not above 0 and below 0.5.
    Settings(Settings),
}

impl fmt::Display for CellError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(formatter, "a sample has no values: nothing to compare"),
            Self::NotPositive(value) => {
                write!(formatter, "the value {value} has no ratio: costs must be above 0")
            }
            Self::UnequalLengths { first, second } => write!(
                formatter,
                "{first} values cannot be paired with {second}: leave out incomplete pairs, or \
                 compare them unpaired"
            ),
            Self::RatioOutOfRange => {
                write!(formatter, "the values differ by more than a float can hold: check the unit")
            }
            Self::Settings(Settings { margin, alpha }) => write!(
                formatter,
                "margin {margin} must be 0 or more, alpha {alpha} above 0 and below 0.5"
            ),
        }
    }
}

impl std::error::Error for CellError {}

/// Compares every cell of a family, and lets each know of the others: see the
/// [module](self) for the rules.
///
/// The results are in the order of the cells. Cells that cannot be compared are errors and do not
/// count among the m comparisons.
#[must_use]
pub fn compare(cells: &[Arms], settings: &Settings) -> Vec<Result<CellResult, CellError>> {
    let checked: Vec<_> = cells.iter().map(|arms| cell::check(arms, settings)).collect();
    let comparable = checked.iter().filter(|found| found.is_ok()).count();
    let level = settings.alpha / comparable as f64;
    let weighed: Vec<_> = checked
        .into_iter()
        .zip(cells)
        .map(|(found, arms)| found.and_then(|()| cell::weigh(arms, settings, level)))
        .collect();
    let p_values: Vec<_> = weighed.iter().flatten().map(cell::Weighed::p_values).collect();
    let family = ExclusiveFamily::new(&p_values);
    let judge = |weighed: cell::Weighed<'_>| weighed.judge(settings, level, &family);
    weighed.into_iter().map(|found| found.and_then(judge)).collect()
}
