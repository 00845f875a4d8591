//! The conclusion, in one sentence.

use itertools::Itertools;
use model::units::format_percent;
use stats::{Method, NotDecided, Verdict, says_nothing};

use super::amount::{amount, ratio_words};
use super::{Cell, Comparison, Ends, Outcome, Overall};

/// Names of a verdict: over all cells, of outcomes, and before a number of cells.
fn words(verdict: Verdict) -> [&'static str; 3] {
    match verdict {
        Verdict::Regression => ["a regression", "regression", "worse in"],
        Verdict::Improvement => ["an improvement", "improvement", "better in"],
        Verdict::Difference => ["a difference", "difference", "different in"],
        Verdict::Equivalent => ["equivalent", "no difference", "the same within the margin in"],
        Verdict::CannotTell => ["cannot tell", "cannot tell", "cannot tell in"],
    }
}

/// The conclusion, with what is added about sessions.
pub(super) fn sentence(comparison: &Comparison, sessions: Option<&str>) -> String {
    let reference = &comparison.arms[0].name;
    let of_arm = |arm: usize| {
        let cells: Vec<&Cell> = comparison.cells.iter().filter(|cell| cell.arm == arm).collect();
        let name = &comparison.arms[arm].name;
        match cells[..] {
            [] => None,
            [cell] => Some(format!("{name} {}", of_one(cell, reference, comparison))),
            _ => Some(format!(
                "{name} against {reference}: {}{}",
                over_all(arm, comparison),
                of_many(&cells, comparison)
            )),
        }
    };
    let mut texts: Vec<String> = (1..comparison.arms.len()).filter_map(of_arm).collect();
    texts.extend(sessions.map(str::to_owned));
    texts.join("; ") + "."
}

/// The effects over all cells.
fn over_all(arm: usize, comparison: &Comparison) -> String {
    let text = |overall: &Overall| {
        let interval = overall.effect.as_ref().map(|it| interval(it.low, it.high));
        let interval = interval.unwrap_or_default();
        let [found, ..] = words(overall.verdict);
        let Overall { response, ratio, ratio_mark, .. } = overall;
        format!("{found} over {} in {response} {ratio_mark}×{ratio:.2}{interval}", overall.over())
    };
    let of_arm = comparison.overall.iter().filter(|overall| overall.arm == arm);
    let texts = of_arm.map(text).join(", ");
    if texts.is_empty() { texts } else { texts + "; cell by cell " }
}

fn of_one(cell: &Cell, reference: &str, comparison: &Comparison) -> String {
    if let Outcome::Ends(ends) = &cell.outcome {
        return format!("against {reference}: {}", of_ends(cell, ends));
    }
    let margin = format_percent(comparison.margin);
    let response = &cell.response;
    let found = match (cell.judged(), cell.ratio()) {
        (Some(found), _) => {
            let ratio = match found.why == Some(NotDecided::TooFewValues) {
                true => format!("{}×{:.2}", cell.ratio_mark(), found.ratio),
                false => ratio_words(found),
            };
            format!("{response} {ratio} ({})", method_words(found.method))
        }
        (None, Some(ratio)) => format!("{response} ×{ratio:.2}"),
        (None, None) => response.clone(),
    };
    let beyond = format!("{found}{}", beyond(cell, comparison, &margin));
    match cell.verdict {
        Verdict::Regression => format!("is a regression against {reference}: {beyond}"),
        Verdict::Improvement => format!("is an improvement on {reference}: {beyond}"),
        Verdict::Difference => format!(
            "differs from {reference}: {beyond}; whether more of {response} is better is unknown"
        ),
        Verdict::Equivalent => {
            format!("is equivalent to {reference} within the margin of {margin}: {found}")
        }
        Verdict::CannotTell => {
            let more = cell.judged().and_then(|found| found.more_blocks);
            let more = more.map_or_else(String::new, |more| {
                format!("; about {more} more {} would settle it", cell.more_of())
            });
            format!("against {reference}: cannot tell: {found}, the margin is {margin}{more}")
        }
    }
}

/// How much the interval allows, if it reaches into the margin; else that it is beyond the margin.
fn beyond(cell: &Cell, comparison: &Comparison, margin: &str) -> String {
    let nearest = cell.judged().map(|found| match found.ratio > 1.0 {
        true => found.adjusted_low,
        false => 1.0 / found.adjusted_high,
    });
    let more_is_better = comparison.responses[&cell.response].more_is_better();
    match (cell.judged(), nearest) {
        (Some(found), Some(nearest)) if nearest < 1.0 + comparison.margin => match more_is_better {
            true => format!("; the margin is {margin}"),
            false => format!(", {}; the margin is {margin}", amount(found)),
        },
        _ => format!(", by more than the margin of {margin}"),
    }
}

/// An interval after its estimate, unless too wide to be useful.
fn interval(low: f64, high: f64) -> String {
    if says_nothing(low, high) { String::new() } else { format!(" [{low:.2}, {high:.2}]") }
}

fn of_ends(cell: &Cell, ends: &Ends) -> String {
    let label = cell.label();
    let place = if label.is_empty() { String::new() } else { format!(" under {label}") };
    let [_, verdict, _] = words(cell.verdict);
    format!("{verdict}{place}: {}", ends.text())
}

/// A short name of a method.
pub fn method_words(method: Method) -> &'static str {
    match method {
        Method::HodgesLehmann => "Hodges-Lehmann, Mann-Whitney",
        Method::SignedRank => "Walsh averages, signed rank",
        Method::WelchLog => "Welch on log",
        Method::PairedLog => "paired t on log",
    }
}

fn of_many(cells: &[&Cell], comparison: &Comparison) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut measured: Vec<&Cell> = Vec::new();
    for cell in cells {
        match &cell.outcome {
            Outcome::Ends(ends) => texts.push(of_ends(cell, ends)),
            _ => measured.push(cell),
        }
    }
    let kinds = [
        Verdict::Regression,
        Verdict::Improvement,
        Verdict::Difference,
        Verdict::Equivalent,
        Verdict::CannotTell,
    ];
    let of_kind = |verdict: Verdict| {
        let of_kind = measured.iter().filter(|cell| cell.verdict == verdict);
        let count = of_kind.clone().count();
        let far = |cell: &&&Cell| cell.ratio().map_or(0.0, |ratio| ratio.ln().abs());
        let farthest = of_kind.max_by(|a, b| far(a).total_cmp(&far(b)))?;
        let differs =
            matches!(verdict, Verdict::Regression | Verdict::Improvement | Verdict::Difference);
        let most = farthest.ratio().filter(|_| differs).map_or_else(String::new, |ratio| {
            let response = match comparison.responses.len() {
                1 => String::new(),
                _ => format!("{} ", farthest.response),
            };
            let label = farthest.label();
            let place = if label.is_empty() { "the whole" } else { &label };
            format!(" (most for {response}{place}: {}×{ratio:.2})", farthest.ratio_mark())
        });
        let [.., words] = words(verdict);
        Some(format!("{words} {count} of {}{most}", measured.len()))
    };
    let of_kinds = kinds.into_iter().filter_map(of_kind).join(", ");
    texts.extend(Some(of_kinds).filter(|text| !text.is_empty()));
    texts.join("; ")
}
