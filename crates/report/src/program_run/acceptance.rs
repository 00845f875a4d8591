//! Whether a simulation is what a published table asks it to be, condition by condition.

use analysis::published::{Beside, Condition, ConditionKind, Judged};
use model::units::format_duration;

use crate::sweep_text::Amounts;

/// A line a condition, and the sum; empty without conditions.
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
    let tried: Vec<f64> = judged.values.iter().map(|(level, _)| *level).collect();
    let levels = span(&tried, amounts);
    let figure = name(&condition.figure);
    let (what, found) = match condition.kind {
        ConditionKind::Ratio => (
            format!("{figure} {} of the published{}, {levels}", bounds(condition), cut(condition)),
            values(judged, |ratio| format!("{ratio:.2}")),
        ),
        ConditionKind::Rate => (
            format!(
                "{figure} a second {}, {} to {} together",
                bounds(condition),
                amounts.level(condition.from),
                amounts.level(condition.to)
            ),
            values(judged, |rate| format!("{rate:.0}")),
        ),
        ConditionKind::Growth => (
            format!(
                "{figure} at {} over those at {} {}",
                amounts.level(condition.to),
                amounts.level(condition.from),
                bounds(condition)
            ),
            values(judged, |times| format!("{times:.0}")),
        ),
        ConditionKind::Count => (
            match (condition.least, condition.most) {
                (_, Some(0.0)) => format!("no {figure} in any run, {levels}"),
                _ => format!("{figure} {} in every run, {levels}", bounds(condition)),
            },
            values(judged, |count| format!("{count:.0}")),
        ),
        ConditionKind::Knee | ConditionKind::NoKnee => (
            match condition.kind {
                ConditionKind::Knee => format!(
                    "knee between {} and {}",
                    amounts.level(condition.from),
                    amounts.level(condition.to)
                ),
                _ => format!(
                    "no knee from {} to {}",
                    amounts.level(condition.from),
                    amounts.level(condition.to)
                ),
            },
            match tried[..] {
                [capacity, beyond] => {
                    format!("between {} and {}", amounts.level(capacity), amounts.level(beyond))
                }
                _ => "there is none".to_owned(),
            },
        ),
    };
    let mut missed: Vec<String> = judged.missed.iter().map(|level| amounts.level(*level)).collect();
    missed.dedup();
    let at = if missed.is_empty() { String::new() } else { format!(" at {}", missed.join(", ")) };
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

/// What a reader must know of printed figures that were cut off.
fn cut(condition: &Condition) -> String {
    match condition.printed_above > 0.0 {
        true => format!(
            " (cut off when printed: up to {} more)",
            format_duration(condition.printed_above as u64)
        ),
        false => String::new(),
    }
}

/// A figure as it is called in the tables.
fn name(figure: &str) -> String {
    let stem = figure.strip_suffix("_ns").unwrap_or(figure);
    stem.replace('_', " ").replace("hat.pmgstolen ctx", "pmegs stolen from holders of a context")
}

fn span(levels: &[f64], amounts: &Amounts<'_>) -> String {
    match levels {
        [] => String::new(),
        [one] => amounts.level(*one),
        [first, .., last] => format!("{} to {}", amounts.level(*first), amounts.level(*last)),
    }
}

/// The least and the largest of what was found.
fn values(judged: &Judged, text: impl Fn(f64) -> String) -> String {
    let values = || judged.values.iter().map(|(_, value)| *value);
    let ends = values().reduce(f64::min).zip(values().reduce(f64::max));
    ends.map_or_else(String::new, |(least, most)| match text(least) == text(most) {
        true => text(least),
        false => format!("{} to {}", text(least), text(most)),
    })
}
