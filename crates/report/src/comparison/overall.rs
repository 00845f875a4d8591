//! The effect of each arm over all its cells: the primary estimate of a comparison.

use analysis::comparison::Overall;
use render::{Cell as TableCell, Table, format};

use super::{View, usable, verdict_cell};

/// The table of overall effects; `None` without any.
pub(super) fn overall(view: &View) -> Option<Table> {
    let caption = "Over all cells, each counting once: the primary estimate";
    let arm: Vec<String> = view.several_arms().then(|| view.factor()).into_iter().collect();
    let columns = ["response", "cells", "ratio", "interval", "verdict", "reason"];
    let head = arm.into_iter().chain(columns.map(str::to_owned));
    let rows = view.comparison.overall.iter().map(|overall| {
        let arm = view.several_arms().then(|| TableCell::from(view.arm(overall.arm)));
        let effect = overall.effect.as_ref();
        let interval = effect.map(|found| TableCell::interval(usable(found.low, found.high)));
        let figures = [
            TableCell::from(&overall.response),
            overall.cells.into(),
            TableCell::bounded_ratio(overall.ratio_mark, overall.ratio),
            interval.into(),
            verdict_cell(overall.verdict),
            judged_by(overall).into(),
        ];
        arm.into_iter().chain(figures)
    });
    Some(Table::of(caption, head, rows)).filter(|table| !table.rows.is_empty())
}

/// What an overall verdict rests on, or why there is none.
fn judged_by(overall: &Overall) -> String {
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
    let effects = comparison.overall.iter();
    let effects: Vec<_> = effects.filter_map(|it| Some((it, it.effect.as_ref()?))).collect();
    if effects.is_empty() {
        return Vec::new();
    }
    let chance = format::percent(comparison.alpha);
    let several = Some(effects.len()).filter(|count| *count > 1);
    let adjusted = several.map(|count| format!(", adjusted over {count} effects"));
    let adjusted = adjusted.unwrap_or_default();
    let mut lines = vec![format!(
        "Over all cells: additive on logarithms, cells as blocks, trials and arm by cell random; a \
         verdict is wrong with a chance of at most {chance}{adjusted}, beside those of the cells."
    )];
    for (overall, effect) in effects {
        let mixed = effect.mixed.map(|found| {
            let (ratios, p) = (ratios(found.low, found.high), format::p_value(found.p));
            let freedom = found.degrees_of_freedom;
            format!("mixed model {ratios} (t, {freedom:.1} degrees of freedom, p {p})")
        });
        let permutation = effect.permutation.map(|found| {
            let (ratios, p) = (ratios(found.low, found.high), format::p_value(found.p));
            let (count, how) = (found.arrangements, if found.exact { "all" } else { "drawn" });
            format!("permutation test {ratios} ({count} arrangements, {how}, p {p})")
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

fn ratios(low: f64, high: f64) -> String {
    format::ratio_interval(usable(low, high))
}
