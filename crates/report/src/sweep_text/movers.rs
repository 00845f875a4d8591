//! What lies under a knee: the counters that moved there, as text.

use analysis::sweep::{Moved, Mover};

use super::amounts::{Amounts, count, time};
use crate::columns::aligned;

/// The counters, what stayed still, and the conclusion; empty if there are no counters.
pub(crate) fn text(moved: &Moved, amounts: &Amounts<'_>) -> String {
    let mut text = String::new();
    if moved.movers.is_empty() && moved.still.is_empty() && moved.conclusion.is_none() {
        return text;
    }
    text += &format!(
        "What lies under it, per {}: {} against {}\n",
        unit(&moved.per),
        span(&moved.plateau, amounts),
        span(&moved.beyond, amounts)
    );
    if !moved.movers.is_empty() {
        let heading = ["counter", "before", "after", "times", "with cost", "what it means"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        rows.extend(moved.movers.iter().map(row));
        text += &aligned(&rows);
    }
    for still in &moved.still {
        text += &format!("Still: {still}\n");
    }
    if let Some(conclusion) = &moved.conclusion {
        text += &format!("{conclusion}\n");
    }
    text
}

fn unit(per: &str) -> &str {
    match per {
        "work" => "unit of work",
        other => other,
    }
}

/// Levels from the lowest to the highest.
fn span(levels: &[f64], amounts: &Amounts<'_>) -> String {
    let low = levels.iter().copied().fold(f64::INFINITY, f64::min);
    let high = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match levels {
        [] => "nothing".to_owned(),
        [one] => amounts.level(*one),
        _ => format!("{} to {}", amounts.level(low), amounts.level(high)),
    }
}

fn row(mover: &Mover) -> Vec<String> {
    let also = match mover.also.is_empty() {
        true => String::new(),
        false => format!(" (also {})", mover.also.join(", ")),
    };
    vec![
        format!("{}{also}", mover.name),
        rate(&mover.name, mover.before),
        rate(&mover.name, mover.after),
        mover.factor.map_or_else(|| "new".to_owned(), count_of_times),
        format!("{:.2}", mover.association),
        mover.meaning.clone().unwrap_or_default(),
    ]
}

fn count_of_times(factor: f64) -> String {
    match factor {
        large if large >= 99.95 => format!("{large:.0}"),
        small => format!("{small:.2}"),
    }
}

/// A rate: of a unit of work it may be very small.
fn rate(name: &str, rate: f64) -> String {
    if name.ends_with("_ns") {
        return time(rate);
    }
    match rate.abs() {
        tiny if tiny > 0.0 && tiny < 1e-3 => format!("{rate:.2e}"),
        _ => count(rate),
    }
}
