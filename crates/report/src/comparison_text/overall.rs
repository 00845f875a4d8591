//! The effect of each arm over all its cells: the primary estimate of a comparison.

use analysis::comparison::Overall;

use super::cells::verdict;
use super::{View, numbers};
use crate::columns::aligned;
use crate::ratio_text::ratio_text;

/// The table of overall effects; `None` without any.
pub(super) fn overall(view: &View) -> Option<String> {
    let comparison = view.comparison;
    if comparison.overall.is_empty() {
        return None;
    }
    let mut head: Vec<String> = Vec::new();
    head.extend(
        view.several_arms()
            .then(|| comparison.factor.clone().unwrap_or_else(|| "input".to_owned())),
    );
    head.extend(["response", "cells", "ratio", "interval", "verdict", "reason"].map(str::to_owned));
    let mut rows = vec![head];
    for overall in &comparison.overall {
        let mut row: Vec<String> = Vec::new();
        row.extend(view.several_arms().then(|| view.arm(overall.arm)));
        let interval = overall.effect.as_ref();
        row.extend([
            overall.response.clone(),
            overall.cells.to_string(),
            format!("{}×{}", overall.ratio_mark, ratio_text(overall.ratio)),
            interval.map_or("-".to_owned(), |found| numbers::interval(found.low, found.high)),
            verdict(overall.verdict).to_owned(),
            judged_by(overall),
        ]);
        rows.push(row);
    }
    Some(format!("Over all cells, each counting once: the primary estimate\n{}", aligned(&rows)))
}

/// What an overall verdict rests on, or why there is none.
pub(crate) fn judged_by(overall: &Overall) -> String {
    let tests = overall.effect.as_ref().map(|effect| match (effect.mixed, effect.permutation) {
        (Some(_), Some(_)) => "mixed model and permutation test, the wider",
        (Some(_), None) => "mixed model",
        (None, Some(_)) => "permutation test",
        (None, None) => "all values are the same",
    });
    let parts = [overall.reason.clone(), tests.map(str::to_owned)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What the table's verdicts mean.
pub(super) fn explanation(view: &View) -> Vec<String> {
    let comparison = view.comparison;
    let effects: Vec<&Overall> =
        comparison.overall.iter().filter(|overall| overall.effect.is_some()).collect();
    if effects.is_empty() {
        return Vec::new();
    }
    let chance = numbers::percent(comparison.alpha);
    let adjusted = match effects.len() {
        1 => String::new(),
        several => format!(", adjusted over {several} effects"),
    };
    let mut lines = vec![format!(
        "Over all cells: additive on logarithms, cells as blocks, trials and arm by cell random; a \
         verdict is wrong with a chance of at most {chance} %{adjusted}, beside those of the cells."
    )];
    for overall in effects {
        let Some(effect) = &overall.effect else { continue };
        let mixed = effect.mixed.map(|mixed| {
            format!(
                "mixed model {} (t, {:.1} degrees of freedom, p {})",
                numbers::interval(mixed.low, mixed.high),
                mixed.degrees_of_freedom,
                numbers::p(mixed.p)
            )
        });
        let permutation = effect.permutation.map(|found| {
            let how = if found.exact { "all" } else { "drawn" };
            format!(
                "permutation test {} ({} arrangements, {how}, p {})",
                numbers::interval(found.low, found.high),
                found.arrangements,
                numbers::p(found.p)
            )
        });
        let absent = effect.permutation.is_none() && mixed.is_some();
        let absent = absent.then(|| {
            "no permutation test: too few arrangements, or trials that lack some of their cells"
                .to_owned()
        });
        let both: Vec<String> = [mixed, permutation, absent].into_iter().flatten().collect();
        if !both.is_empty() {
            let (arm, response) = (view.arm(overall.arm), &overall.response);
            lines.push(format!("{response} of {arm} over all cells: {}.", both.join(", ")));
        }
    }
    lines
}
