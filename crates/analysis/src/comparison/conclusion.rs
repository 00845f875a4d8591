//! What it comes to: means over the cells, and one sentence.

use stats::{Method, Verdict, geometric_mean};

use super::{Cell, Comparison, Summary};

/// The geometric means of every arm and response with at least two cells that have a ratio. Where
/// there are parts the wholes are left out, since they consist of them.
pub(super) fn summaries(cells: &[Cell]) -> Vec<Summary> {
    let mut groups: Vec<(usize, &str)> = Vec::new();
    for cell in cells {
        let group = (cell.arm, cell.response.as_str());
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.into_iter().filter_map(|(arm, response)| summary(cells, arm, response)).collect()
}

fn summary(cells: &[Cell], arm: usize, response: &str) -> Option<Summary> {
    let of_group = || cells.iter().filter(|cell| cell.arm == arm && cell.response == response);
    let parts = of_group().any(|cell| cell.part.is_some());
    let (labels, ratios): (Vec<String>, Vec<f64>) = of_group()
        .filter(|cell| cell.part.is_some() == parts)
        .filter_map(|cell| Some((cell.label(), cell.ratio()?)))
        .unzip();
    let mean = geometric_mean(&ratios)?;
    let without = |left: stats::LeftOut| (labels[left.index].clone(), left.ratio);
    Some(Summary {
        arm,
        response: response.to_owned(),
        cells: ratios.len(),
        ratio: mean.ratio,
        lowest_without: without(mean.lowest?),
        highest_without: without(mean.highest?),
    })
}

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
                _ => Some(format!("{name} against {reference}: {}", of_many(&cells, comparison))),
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

/// What one cell says.
fn of_one(cell: &Cell, reference: &str, comparison: &Comparison) -> String {
    let margin = percent(comparison.margin);
    let found = match (cell.judged(), cell.ratio()) {
        (Some(found), _) => format!(
            "{} ×{:.2} [{:.2}, {:.2}] ({})",
            cell.response,
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
    let parts: Vec<String> = kinds
        .iter()
        .filter_map(|(verdict, words)| {
            let of_kind: Vec<&&Cell> =
                cells.iter().filter(|cell| cell.verdict == *verdict).collect();
            let text = format!("{words} {} of {}", of_kind.len(), cells.len());
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
                format!(" (most {response}{place}: ×{ratio:.2})")
            });
            Some(text + &most)
        })
        .collect();
    parts.join(", ")
}
