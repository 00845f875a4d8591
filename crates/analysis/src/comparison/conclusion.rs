//! What it comes to, in one sentence.

use stats::{Method, Verdict, says_nothing};

use super::{Cell, Comparison, Ends, Outcome, Overall};

/// The verdicts in one sentence.
pub(super) fn sentence(comparison: &Comparison) -> String {
    let reference = &comparison.arms[0].name;
    let sentences: Vec<String> = (1..comparison.arms.len())
        .filter_map(|arm| {
            let cells: Vec<&Cell> =
                comparison.cells.iter().filter(|cell| cell.arm == arm).collect();
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
        })
        .collect();
    let mut text = sentences.join("; ");
    text.push('.');
    text
}

fn percent(margin: f64) -> String {
    format!("{} %", (1000.0 * margin).round() / 10.0)
}

/// What all cells say together.
fn over_all(arm: usize, comparison: &Comparison) -> String {
    let of_arm = comparison.overall.iter().filter(|overall| overall.arm == arm);
    let text = |overall: &Overall| {
        let interval =
            overall.effect.as_ref().filter(|effect| !says_nothing(effect.low, effect.high));
        let interval = interval
            .map_or_else(String::new, |effect| format!(" [{:.2}, {:.2}]", effect.low, effect.high));
        let found = match overall.verdict {
            Verdict::Regression => "a regression",
            Verdict::Improvement => "an improvement",
            Verdict::Equivalent => "equivalent",
            Verdict::CannotTell => "cannot tell",
        };
        let Overall { response, ratio, ratio_mark, .. } = overall;
        format!("{found} over {} in {response} {ratio_mark}×{ratio:.2}{interval}", overall.over())
    };
    let texts: Vec<String> = of_arm.map(text).collect();
    if texts.is_empty() { String::new() } else { texts.join(", ") + "; cell by cell " }
}

/// What one cell says.
fn of_one(cell: &Cell, reference: &str, comparison: &Comparison) -> String {
    if let Outcome::Ends(ends) = &cell.outcome {
        return format!("against {reference}: {}", of_ends(cell, ends));
    }
    let margin = percent(comparison.margin);
    let found = match (cell.judged(), cell.ratio()) {
        (Some(found), _) if says_nothing(found.adjusted_low, found.adjusted_high) => {
            let (mark, method) = (cell.ratio_mark(), method_words(found.method));
            format!("{} {mark}×{:.2} ({method})", cell.response, found.ratio)
        }
        (Some(found), _) => format!(
            "{} {}×{:.2} [{:.2}, {:.2}] ({})",
            cell.response,
            cell.ratio_mark(),
            found.ratio,
            found.adjusted_low,
            found.adjusted_high,
            method_words(found.method)
        ),
        (None, Some(ratio)) => format!("{} ×{ratio:.2}", cell.response),
        (None, None) => cell.response.clone(),
    };
    match cell.verdict {
        Verdict::Regression => {
            format!("is a regression against {reference}: {found}, beyond the margin of {margin}")
        }
        Verdict::Improvement => {
            format!("is an improvement on {reference}: {found}, beyond the margin of {margin}")
        }
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

/// How the trials of one cell ended.
fn of_ends(cell: &Cell, ends: &Ends) -> String {
    let label = cell.label();
    let place = if label.is_empty() { String::new() } else { format!(" under {label}") };
    let verdict = match cell.verdict {
        Verdict::Regression => "regression",
        Verdict::Improvement => "improvement",
        Verdict::Equivalent => "no difference",
        Verdict::CannotTell => "cannot tell",
    };
    format!("{verdict}{place}: {}", ends.text())
}

/// A method in a few words.
#[must_use]
pub fn method_words(method: Method) -> &'static str {
    match method {
        Method::HodgesLehmann => "Hodges-Lehmann, Mann-Whitney",
        Method::SignedRank => "Walsh averages, signed rank",
        Method::WelchLog => "Welch on log",
        Method::PairedLog => "paired t on log",
    }
}

/// What many cells say.
fn of_many(cells: &[&Cell], comparison: &Comparison) -> String {
    let kinds = [
        (Verdict::Regression, "worse in"),
        (Verdict::Improvement, "better in"),
        (Verdict::Equivalent, "the same within the margin in"),
        (Verdict::CannotTell, "cannot tell in"),
    ];
    let ends = cells.iter().filter_map(|cell| match &cell.outcome {
        Outcome::Ends(ends) => Some(of_ends(cell, ends)),
        _ => None,
    });
    let is_measured = |cell: &&&Cell| !matches!(cell.outcome, Outcome::Ends(_));
    let measured: Vec<&Cell> = cells.iter().filter(is_measured).copied().collect();
    let parts: Vec<String> = kinds
        .iter()
        .filter_map(|(verdict, words)| {
            let of_kind: Vec<&&Cell> =
                measured.iter().filter(|cell| cell.verdict == *verdict).collect();
            let text = format!("{words} {} of {}", of_kind.len(), measured.len());
            let far = |cell: &&&Cell| cell.ratio().map_or(0.0, |ratio| ratio.ln().abs());
            let farthest = of_kind.iter().copied().max_by(|a, b| far(a).total_cmp(&far(b)))?;
            let differs = matches!(verdict, Verdict::Regression | Verdict::Improvement);
            let most = farthest.ratio().filter(|_| differs).map_or_else(String::new, |ratio| {
                let response = match comparison.responses.len() {
                    1 => String::new(),
                    _ => format!("{} ", farthest.response),
                };
                let label = farthest.label();
                let place = if label.is_empty() { "the whole" } else { &label };
                format!(" (most {response}{place}: {}×{ratio:.2})", farthest.ratio_mark())
            });
            Some(text + &most)
        })
        .collect();
    ends.chain([parts.join(", ")]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}
