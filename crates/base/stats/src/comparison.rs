//! Verdicts on a family of comparisons: what `thrashlab compare` decides (docs/comparing.md).
//!
//! Each claim is tested where censored values oppose it most. Rank statistics are monotone in each
//! value, so no completion could withdraw a verdict.
//!
//! **Invariant:** the chance that *any* cell is called a regression or an improvement though its
//! ratio is 1, or equivalent though its ratio is outside the margin, is at most α: these
//! hypotheses are stepped down together (proof in `multiple.rs`), and so are the intervals.

mod cell;
mod outlook;
#[cfg(test)]
mod tests;

use model::Observation;
use serde::Serialize;

use crate::multiple::{ExclusiveFamily, reaches};
use crate::t_intervals::LogRatio;
use crate::{Pairing, Refused};
pub use outlook::says_nothing;

/// Two samples of a positive cost, lower is better. The ratio is second / first.
#[derive(Clone, Debug, PartialEq)]
pub struct Arms {
    /// The baseline, in any positive unit.
    pub first: Vec<Observation>,
    /// The sample compared with it, in the same unit.
    pub second: Vec<Observation>,
    /// Whether values at one position belong together.
    pub pairing: Pairing,
    /// The least standard error of the ratio's logarithm ([`crate::least_log_error`]); 0 if unknown.
    pub least_log_error: f64,
}

impl Arms {
    /// Two samples of which no least error is known.
    pub fn new(first: Vec<Observation>, second: Vec<Observation>, pairing: Pairing) -> Self {
        Self { first, second, pairing, least_log_error: 0.0 }
    }

    /// Two samples without lower bounds.
    pub fn exact(first: &[f64], second: &[f64], pairing: Pairing) -> Self {
        let exact = |values: &[f64]| values.iter().copied().map(Observation::exact).collect();
        Self::new(exact(first), exact(second), pairing)
    }
}

/// What counts as a difference, and the certainty of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Ratios from 1 / (1 + margin) to 1 + margin are equivalent; 0 or more.
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
    /// The ratio is not 1, and the estimate is outside the margin, but which way is better is
    /// unknown. Tests never return it: a comparison replaces the first two.
    Difference,
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

/// Why a comparison is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotDecided {
    /// With so few values no method can decide.
    TooFewValues,
    /// The interval includes 1, and more than the margin.
    IntervalIncludesOne,
    /// The interval excludes 1, but not at the level needed for this many comparisons.
    NotAmongSoMany,
    /// There is a difference, but the interval includes an end of the margin.
    MarginInsideInterval,
    /// Censored values leave the ratio open: a longer timeout settles it.
    BoundsDecide,
}

/// One comparison of a family.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellResult {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason of [`Verdict::CannotTell`].
    pub why: Option<NotDecided>,
    /// The method that decided.
    pub method: Method,
    /// Its estimate of second / first; with bounds the nontrivial end of `allowed`.
    pub ratio: f64,
    /// The estimates possible given censored values; `None` without any.
    pub allowed: Option<AllowedRatio>,
    /// Lower end of its interval with confidence 1 - α, unadjusted.
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// Coverage of that interval: at least 1 - α, or the most the sample sizes allow.
    pub confidence_attained: f64,
    /// Lower end of the interval at the level of the step-down: confidence 1 - α / d, and
    /// 1 - 2 α / d if the verdict is [`Verdict::Equivalent`], for 1 ≤ d ≤ m.
    pub adjusted_low: f64,
    /// Upper end of that interval.
    pub adjusted_high: f64,
    /// Two-sided p-value of "the ratio is 1" by this method; ties at 1 count for it.
    pub p: f64,
    /// `p`, adjusted for the family: compare it with α.
    pub p_adjusted: f64,
    /// Adjusted p-value of "the ratio is outside the margin".
    pub equivalence_p_adjusted: f64,
    /// The smallest two-sided p-value of the rank test at these sample sizes.
    pub smallest_p: f64,
    /// Whether that reaches α / m, so that the rank test decides.
    pub rank_can_fire: bool,
    /// Values per side, or pairs, from which it would.
    pub rank_needs: u64,
    /// t on logarithms at confidence 1 - α, whatever method decided; `None` without spread.
    pub log_ratio: Option<LogRatio>,
    /// p-value of the permutation (pairs: sign-flip) test of at most four values per side.
    pub permutation_p: Option<f64>,
    /// The smallest ratio above 1 called a regression at the level α / m with a chance of 80 %,
    /// for this spread and these sample sizes; `None` for an unknown spread.
    pub minimum_detectable: Option<f64>,
    /// Further values per side (blocks) for a verdict with a chance of 80 %, if ratio and spread
    /// are as estimated; `None` with a verdict, or above a million.
    pub more_blocks: Option<u64>,
    /// Values per side (blocks) for an adjusted interval whose ends are within a factor of two;
    /// `None` unless the interval [`says_nothing`].
    pub interval_needs: Option<u64>,
    /// Number of values in the first sample.
    pub n_first: usize,
    /// Number of values in the second sample.
    pub n_second: usize,
}

/// The estimates possible given censored values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AllowedRatio {
    /// The smallest possible estimate; 0 without a limit.
    pub lowest: f64,
    /// The largest possible estimate; infinite without a limit.
    pub highest: f64,
}

impl AllowedRatio {
    /// The prefix of a printed estimate: `≥ ` or `≤ ` for an open one, else nothing.
    pub fn mark(self) -> &'static str {
        match self {
            Self { lowest, highest } if lowest == highest => "",
            Self { lowest, .. } if lowest > 0.0 => "≥ ",
            _ => "≤ ",
        }
    }
}

/// Occurrences and trials in two arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proportions {
    /// Occurrences and trials in the first arm.
    pub first: (u64, u64),
    /// Occurrences and trials in the second arm.
    pub second: (u64, u64),
}

/// The verdict on two proportions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProportionResult {
    /// Regression: more often in the second arm.
    pub verdict: Verdict,
    /// Two-sided p-value of "equally often" (Fisher's exact test).
    pub p: f64,
    /// `p`, adjusted for the family: compare it with α.
    pub p_adjusted: f64,
}

/// The verdicts on a family.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Results of the cells, in order.
    pub cells: Vec<Result<CellResult, Refused>>,
    /// Results of the proportions, in order; `None` where an arm has no trials.
    pub proportions: Vec<Option<ProportionResult>>,
}

/// Compares all cells and proportions of a family by the rules of the [module](self).
///
/// What cannot be compared does not count among the m comparisons. Proportions are never called
/// equivalent.
pub fn compare(cells: &[Arms], proportions: &[Proportions], settings: &Settings) -> Judgement {
    let checked: Vec<_> = cells.iter().map(|arms| (arms, cell::check(arms, settings))).collect();
    let fisher: Vec<_> =
        proportions.iter().map(|of| crate::fisher_exact_p(of.first, of.second)).collect();
    let valid = checked.iter().filter(|(_, found)| found.is_ok());
    let comparable = valid.count() + fisher.iter().flatten().count();
    let level = settings.alpha / comparable as f64;
    let weighed: Vec<_> = checked
        .into_iter()
        .map(|(arms, found)| found.and_then(|()| cell::weigh(arms, settings, level)))
        .collect();
    // Proportions have no hypothesis "outside the margin": it is never rejected.
    let of_proportions = fisher.iter().flatten().map(|p| (*p, 1.0));
    let p_values: Vec<_> = weighed
        .iter()
        .flatten()
        .map(cell::UnadjustedCell::p_values)
        .chain(of_proportions)
        .collect();
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

pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// The reason of [`Verdict::CannotTell`].
    pub(crate) why: Option<NotDecided>,
    /// 1 - confidence of its interval.
    pub(crate) tail: f64,
    pub(crate) p_adjusted: f64,
    pub(crate) equivalence_p_adjusted: f64,
}

impl Judged {
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
