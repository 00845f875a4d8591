//! Whether a simulation meets the conditions of a published table.

use analysis::published::{Beside, Condition, ConditionKind, Judged};
use itertools::Itertools;
use model::units::format_duration;

use curves::{Amounts, span};

pub(super) fn lines(beside: &Beside, amounts: &Amounts<'_>) -> Vec<String> {
    let all = beside.judged.len();
    let missed = beside.judged.iter().filter(|judged| !judged.holds).count();
    let conditions = if all == 1 { "condition" } else { "conditions" };
    let sum = match missed {
        0 => format!("Accepted: {all} of {all} {conditions} hold."),
        _ => format!("Not accepted: {missed} of {all} {conditions} missed."),
    };
    let lines = beside.judged.iter().map(|judged| line(judged, amounts));
    lines.chain((all > 0).then_some(sum)).collect()
}

fn line(judged: &Judged, amounts: &Amounts<'_>) -> String {
    let condition = &judged.condition;
    let measured: Vec<f64> = judged.values.iter().map(|(level, _)| *level).collect();
    let levels = span(&measured, amounts);
    let figure = name(&condition.figure);
    let [from, to] = [condition.from, condition.to].map(|level| amounts.level(level));
    let bounds = bounds(condition);
    let what = match condition.kind {
        ConditionKind::Ratio => {
            format!("{figure} {bounds} of the published{}, {levels}", cut(condition))
        }
        ConditionKind::Rate => format!("{figure} a second {bounds}, {from} to {to} together"),
        ConditionKind::Growth => format!("{figure} at {to} over those at {from} {bounds}"),
        ConditionKind::Count if condition.most == Some(0.0) => {
            format!("no {figure} in any run, {levels}")
        }
        ConditionKind::Count => format!("{figure} {bounds} in every run, {levels}"),
        ConditionKind::Knee => format!("knee between {from} and {to}"),
        ConditionKind::NoKnee => format!("no knee from {from} to {to}"),
    };
    let found = match (condition.kind, &measured[..]) {
        (ConditionKind::Knee | ConditionKind::NoKnee, [capacity, beyond]) => {
            format!("between {} and {}", amounts.level(*capacity), amounts.level(*beyond))
        }
        (ConditionKind::Knee | ConditionKind::NoKnee, _) => "there is none".to_owned(),
        (kind, _) => values(judged, if kind == ConditionKind::Ratio { 2 } else { 0 }),
    };
    let missed = judged.missed.iter().map(|level| amounts.level(*level)).dedup().join(", ");
    let at = if missed.is_empty() { missed } else { format!(" at {missed}") };
    format!("{what}: {}{at} ({found})", yes(judged.holds))
}

pub(super) fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

/// The bounds of a condition in words: `within 5 %`, `within a factor of 2`, `from 3000 to 3400`.
pub(super) fn bounds(condition: &Condition) -> String {
    let is_ratio = condition.kind == ConditionKind::Ratio;
    match (condition.least, condition.most) {
        (Some(least), Some(most)) if is_ratio && ((1.0 - least) - (most - 1.0)).abs() < 1e-9 => {
            format!("within {:.0} %", 100.0 * (most - 1.0))
        }
        (Some(least), Some(most)) if is_ratio && (least * most - 1.0).abs() < 1e-9 => {
            format!("within a factor of {most}")
        }
        (Some(least), Some(most)) if least == most => format!("{least}"),
        (Some(least), Some(most)) => format!("from {least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "anything".to_owned(),
    }
}

fn cut(condition: &Condition) -> String {
    match condition.printed_above as u64 {
        0 => String::new(),
        most => format!(" (cut off when printed: up to {} more)", format_duration(most)),
    }
}

fn name(figure: &str) -> String {
    let stem = figure.strip_suffix("_ns").unwrap_or(figure);
    stem.replace('_', " ").replace("hat.pmgstolen ctx", "pmegs stolen from holders of a context")
}

fn values(judged: &Judged, digits: usize) -> String {
    let values = || judged.values.iter().map(|(_, value)| *value);
    let ends = [values().reduce(f64::min), values().reduce(f64::max)].into_iter().flatten();
    ends.map(|value| format!("{value:.digits$}")).dedup().join(" to ")
}
