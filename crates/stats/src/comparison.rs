//! Verdicts on a whole family of comparisons: what `thrashlab compare` decides (docs/comparing.md).
//!
//! Each cell compares two samples of a cost (lower is better) by the ratio second / first. Ranks
//! decide if their smallest attainable p-value reaches α / m for m comparable cells, else t on
//! logarithms: the choice depends on the sizes of the samples, never on what the test says.
//!
//! **Bounds.** A value may be a lower bound: a start that never completed. Each claim is tested
//! where the bounds speak most against it: "larger" with the second sample's bounds taken as
//! values and the first one's as beyond everything, "smaller" the other way round. The rank
//! statistics are monotone in each value, so no completion could withdraw a verdict.
//!
//! **Invariant:** however many cells, the chance that *any* of them is called a regression or an
//! improvement though its ratio is 1, or equivalent though its ratio is outside the margin, is at
//! most α: all these hypotheses are stepped down together (`multiple.rs` has the proof). The
//! adjusted interval has the level that the step-down gave its cell: it says the same as the verdict.

mod cell;
mod evidence;
mod outlook;
#[cfg(test)]
mod tests;

use model::Observation;
use serde::Serialize;

use crate::Refused;
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
    /// The ratio is not 1, and the estimate is above 1 + margin.
    Regression,
    /// The ratio is not 1, and the estimate is below 1 / (1 + margin).
    Improvement,
    /// The ratio is inside the margin, by two one-sided tests (Schuirmann 1987).
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
    /// There is a difference, but the interval includes an end of the margin.
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
    /// Its estimate of second / first; with bounds the end of `allowed` that is not trivial.
    pub ratio: f64,
    /// What lower bounds among the values allow the estimate to be; `None` without any.
    pub allowed: Option<AllowedRatio>,
    /// Lower end of its interval with confidence 1 - α, as if this were the only comparison.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// Coverage of that interval: at least 1 - α, or the most that so few values can give.
    pub confidence_attained: f64,
    /// Lower end of the interval at the level of the step-down: with confidence 1 - α / d, and
    /// 1 - 2 α / d if the verdict is [`Verdict::Equivalent`], for 1 ≤ d ≤ m.
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
    /// t on logarithms at confidence 1 - α, whichever method decided; `None` without spread.
    pub log_ratio: Option<LogRatio>,
    /// p-value of the exact permutation (pairs: sign-flip) test of at most four values a side.
    pub permutation_p: Option<f64>,
    /// The smallest ratio above 1 that has a chance of 80 % to be called a regression at the level
    /// α / m with so many values that spread as these do; `None` where the spread is unknown.
    pub minimum_detectable: Option<f64>,
    /// How many more values a side (blocks) it would take to tell with a chance of 80 %, if ratio
    /// and spread are what they seem; `None` if it was told, or if it is more than a million.
    pub more_blocks: Option<u64>,
    /// Values a side (blocks) with which the ends of the adjusted interval would be within a factor
    /// of two. `None` if it is not one that [`says_nothing`].
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
    pub fn mark(self) -> &'static str {
        match self {
            Self { lowest, highest } if lowest == highest => "",
            Self { lowest, .. } if lowest > 0.0 => "≥ ",
            _ => "≤ ",
        }
    }
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
    pub cells: Vec<Result<CellResult, Refused>>,
    /// Of the proportions, in their order; `None` where an arm has no trials.
    pub proportions: Vec<Option<ProportionResult>>,
}

/// Compares every cell and every pair of proportions of a family by the rules of the
/// [module](self).
///
/// What cannot be compared does not count among the m comparisons. Proportions are never called
/// equivalent.
pub fn compare(cells: &[Arms], proportions: &[Proportions], settings: &Settings) -> Judgement {
    let checked: Vec<_> = cells.iter().map(|arms| cell::check(arms, settings)).collect();
    let fisher: Vec<_> =
        proportions.iter().map(|of| crate::fisher_exact_p(of.first, of.second)).collect();
    let comparable = checked.iter().flatten().count() + fisher.iter().flatten().count();
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
    let proportion = |(of, p): (&Proportions, Option<f64>)| {
        let share = |(count, all): (u64, u64)| count as f64 / all as f64;
        let p = p?;
        let p_adjusted = family.adjusted(p).p;
        let verdict = match reaches(p_adjusted, settings.alpha) {
            true if share(of.second) > share(of.first) => Verdict::Regression,
            true => Verdict::Improvement,
            false => Verdict::CannotTell,
        };
        Some(ProportionResult { verdict, p, p_adjusted })
    };
    Judgement {
        proportions: proportions.iter().zip(fisher).map(proportion).collect(),
        cells: weighed.into_iter().map(|found| found?.judge(settings, &family)).collect(),
    }
}

/// The verdict by the p-values of a family, and the level at which the step-down gave it.
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// Why it cannot tell, if it cannot.
    pub(crate) why: Option<NotDecided>,
    /// The probability that its interval leaves out.
    pub(crate) tail: f64,
    pub(crate) p_adjusted: f64,
    pub(crate) equivalence_p_adjusted: f64,
}

impl Judged {
    /// By the p-values of "no difference" and "not equivalent", for an estimate from `lowest` to
    /// `highest`.
    pub(crate) fn new(
        settings: &Settings,
        family: &ExclusiveFamily,
        (p, equivalence_p): (f64, f64),
        (lowest, highest): (f64, f64),
    ) -> Self {
        let Settings { margin, alpha } = *settings;
        let (difference, equivalence) = (family.adjusted(p), family.adjusted(equivalence_p));
        let verdict = |p: f64, equivalence_p: f64| match reaches(p, alpha) {
            _ if reaches(equivalence_p, alpha) => Verdict::Equivalent,
            true if lowest > 1.0 + margin => Verdict::Regression,
            true if highest < 1.0 / (1.0 + margin) => Verdict::Improvement,
            _ => Verdict::CannotTell,
        };
        let found = verdict(difference.p, equivalence.p);
        let why = match reaches(difference.p, alpha) {
            _ if verdict(p, equivalence_p) != Verdict::CannotTell => NotDecided::NotAmongSoMany,
            true => NotDecided::MarginInsideInterval,
            false => NotDecided::IntervalIncludesOne,
        };
        Self {
            verdict: found,
            why: (found == Verdict::CannotTell).then_some(why),
            tail: match found {
                Verdict::Equivalent => 2.0 * alpha / equivalence.divisor,
                _ => alpha / difference.divisor,
            },
            p_adjusted: difference.p,
            equivalence_p_adjusted: equivalence.p,
        }
    }
}
