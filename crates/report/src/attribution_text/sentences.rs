//! What follows from an attribution, in sentences, each with its figures.
//!
//! The sentences are rules over the figures. Their thresholds:
//! - an effect counts when its interval excludes "no effect"; without an interval all count;
//! - a ratio is slight below [`SLIGHT`] from 1;
//! - differences are about the same when the largest is at most [`ABOUT_THE_SAME`] times the
//!   smallest; the same holds for what ratios are above 1;
//! - the parts named are the fewest that make up [`causes::MOST`] % of the change.

use analysis::attribution::{
    Attribution, Effects, Neighbour, Revert, Scale, Share, SimpleEffect, Step, TwoScales,
};

use super::causes::{self, counts};
use super::words::{Words, and, interval_of_ratio, percent, ratio, times};

/// A change by less than this part is slight.
const SLIGHT: f64 = 0.05;
/// Differences within this factor of each other are about the same.
const ABOUT_THE_SAME: f64 = 1.5;

/// All sentences, in the order of the questions: has it changed, by what, does that add up, where,
/// what would help, and what is still open.
pub(super) fn sentences(attribution: &Attribution, words: &Words) -> Vec<String> {
    let mut told = Vec::new();
    for (index, step) in attribution.steps.iter().enumerate() {
        let several = step.factors.len() > 1;
        if index > 0 && several {
            // The questions are the same; only what another level makes of the answers is news.
            told.push(instead(step, &attribution.steps[0], words));
            continue;
        }
        told.push(whole(step, words));
        if several {
            told.push(factors(&step.scales, words, false));
            told.extend(shares(step, words));
            told.extend(adds_or_multiplies(step, words));
            told.extend(together(step, words));
            told.extend(reverts(step, words));
        }
        told.extend(causes::parts(step, words));
    }
    told.extend(attribution.neighbours.iter().map(|found| neighbour(found, words)));
    told.extend(causes::mediation(attribution, words));
    told.extend(causes::still_open(attribution, words));
    told
}

/// "From one on 17.11 to two on 18.9 …".
fn whole(step: &Step, words: &Words) -> String {
    let levels = |index: usize| {
        let named = step.factors.iter().map(|f| format!("{} {}", f.name, f.levels[index]));
        and(&named.collect::<Vec<_>>())
    };
    let total = &step.scales.additive.total;
    let verb = match (counts(total, 0.0), total.value > 0.0) {
        (false, _) => {
            return format!(
                "From {} to {} no change of {} can be told from noise: {}.",
                levels(0),
                levels(1),
                words.noun,
                words.difference_with_interval(total)
            );
        }
        (true, true) => "rose",
        (true, false) => "fell",
    };
    let times =
        step.scales.log.as_ref().map_or_else(String::new, |log| format!("{}, ", times(&log.total)));
    format!(
        "From {} to {} the {} {verb} from {} to {}: {times}{}.",
        levels(0),
        levels(1),
        words.noun,
        words.amount(step.before),
        words.quantity(step.after).replace(&format!(" {}", words.noun), ""),
        words.difference_with_interval(total)
    )
}

/// "With system 18.11 instead of 18.9: …".
fn instead(step: &Step, first: &Step, words: &Words) -> String {
    let other: Vec<String> = step
        .factors
        .iter()
        .zip(&first.factors)
        .filter(|(here, there)| here.levels[1] != there.levels[1])
        .map(|(here, there)| {
            format!("{} {} instead of {}", here.name, here.levels[1], there.levels[1])
        })
        .collect();
    let figures = factors(&step.scales, words, true);
    let shares = shares(step, words).map_or_else(String::new, |shares| format!(" {shares}"));
    format!("With {}: {figures}{shares}", and(&other))
}

/// "pl1_version two against one costs 2.96 times the page faults [2.89, 3.03]; …".
fn factors(scales: &TwoScales, words: &Words, again: bool) -> String {
    let effects = scales.log.as_ref().unwrap_or(&scales.additive);
    let told: Vec<String> = effects
        .main
        .iter()
        .enumerate()
        .map(|(index, main)| {
            let what = format!("{} {} against {}", main.factor, main.level, main.against);
            let figure = &main.figure;
            let none = if effects.scale == Scale::Log { 1.0 } else { 0.0 };
            if !counts(figure, none) {
                return format!("{what} makes no difference that these trials can tell");
            }
            let interval = interval_of_ratio(figure);
            match (effects.scale, index) {
                (Scale::Log, 0) if !again => {
                    let (verb, size) = (words.verb(), ratio(figure.value));
                    format!("{what} {verb} {size} times the {}{interval}", words.noun)
                }
                (Scale::Log, _) => format!("{what} {}", times(figure)),
                (Scale::Additive, _) => {
                    format!("{what} {} {}", words.verb(), words.difference_with_interval(figure))
                }
            }
        })
        .collect();
    format!("{}.", told.join("; "))
}

/// "Of the loss of 4,814 page faults 87.0 % is …".
fn shares(step: &Step, words: &Words) -> Option<String> {
    let shares = match step.scales.scale {
        Scale::Additive => &step.shares,
        Scale::Log => &step.log_shares,
    };
    let told: Vec<String> = shares
        .iter()
        .filter_map(|share| share.percent.map(|p| format!("{} is {}'s", percent(p), share.factor)))
        .collect();
    if told.is_empty() || !counts(&step.scales.additive.total, 0.0) {
        return None;
    }
    let change = step.after - step.before;
    let scale = match step.scales.scale {
        Scale::Additive => "",
        Scale::Log => ", as ratios,",
    };
    let bounds = |share: &Share| {
        share.order_bounds.map(|(low, high)| {
            format!(" ({low:.1} to {high:.1} % for {}, whichever is counted first)", share.factor)
        })
    };
    Some(format!(
        "Of the {} of {}{scale} {}{}.",
        words.change(change),
        words.quantity(change.abs()),
        and(&told),
        shares.first().and_then(bounds).unwrap_or_default()
    ))
}

/// Whether a factor costs the same beside each level of another, as a difference or as a ratio.
fn adds_or_multiplies(step: &Step, words: &Words) -> Vec<String> {
    if step.factors.len() != 2 {
        return Vec::new();
    }
    let told = |factor: usize| {
        let name = &step.factors[factor].name;
        let other = &step.factors[1 - factor].name;
        let of = |effects: &Effects| -> Vec<f64> {
            let is_it = |simple: &&SimpleEffect| simple.factor == *name;
            effects.simple.iter().filter(is_it).map(|simple| simple.figure.value).collect()
        };
        let differences = of(&step.scales.additive);
        let ratios = step.scales.log.as_ref().map(of).unwrap_or_default();
        let sizes: Vec<String> = differences.iter().map(|d| words.difference(*d)).collect();
        let times: Vec<String> = ratios.iter().map(|r| ratio(*r)).collect();
        let excess: Vec<f64> = ratios.iter().map(|ratio| ratio - 1.0).collect();
        let increase = if differences.iter().sum::<f64>() < 0.0 { "decrease" } else { "increase" };
        match step.scales.scale {
            Scale::Additive if alike(&differences) && !alike(&excess) => Some(format!(
                "The absolute {increase} from {name} is about the same for both levels of {other} \
                 ({}), the relative one is not ({} times), so the two add rather than multiply.",
                sizes.join(" and "),
                times.join(" and ")
            )),
            Scale::Log if alike(&excess) && !alike(&differences) => Some(format!(
                "The relative {increase} from {name} is about the same for both levels of {other} \
                 ({} times), the absolute one is not ({}), so the two multiply rather than add.",
                times.join(" and "),
                sizes.join(" and ")
            )),
            _ => None,
        }
    };
    // The factor that was named last is the one that a new system is: it is asked first.
    told(1).or_else(|| told(0)).into_iter().collect()
}

/// Whether all have one sign and sizes within [`ABOUT_THE_SAME`].
fn alike(values: &[f64]) -> bool {
    let sizes = || values.iter().map(|value| value.abs());
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    values.iter().all(|value| value.signum() == values[0].signum())
        && least > 0.0
        && most <= ABOUT_THE_SAME * least
}

/// What is left over when effects are added (or multiplied) on the scale that fits.
fn together(step: &Step, words: &Words) -> Vec<String> {
    let effects = step.scales.fitting();
    let none = if effects.scale == Scale::Log { 1.0 } else { 0.0 };
    effects
        .interactions
        .iter()
        .filter(|found| counts(&found.figure, none) && found.figure.value != none)
        .map(|found| {
            let (size, of) = match effects.scale {
                Scale::Additive => (words.difference_with_interval(&found.figure), "sum"),
                Scale::Log => (times(&found.figure), "product"),
            };
            format!(
                "Together {} {} and {} {} make {size} beside the {of} of the two.",
                found.factors.0, found.levels.0, found.factors.1, found.levels.1
            )
        })
        .collect()
}

/// "Reverting the compiler alone would regain …".
fn reverts(step: &Step, words: &Words) -> Option<String> {
    let told = |(index, revert): (usize, &Revert)| {
        let change = revert.change.value;
        let verb = match (words.is_loss(-change), counts(&revert.change, 0.0)) {
            (true, true) => "would regain",
            (false, true) => "would lose",
            (_, false) => "would change nothing that can be told:",
        };
        let noun =
            if index == 0 { words.quantity(change.abs()) } else { words.amount(change.abs()) };
        let share = revert
            .percent
            .map_or_else(String::new, |share| format!(" ({} of the change)", percent(share)));
        format!("{} alone to {} {verb} {noun}{share}", revert.factor, revert.to)
    };
    let told: Vec<String> = step.reverts.iter().enumerate().map(told).collect();
    (!told.is_empty()).then(|| format!("Reverting {}.", told.join("; reverting ")))
}

/// "18.11 against 18.9: 0.974 times [0.955, 0.993]: a slight improvement."
fn neighbour(found: &Neighbour, words: &Words) -> String {
    let what = format!(
        "{} {} against {}",
        found.additive.factor, found.additive.level, found.additive.against
    );
    let difference = &found.additive.figure;
    let Some(log) = &found.log else {
        return format!("{what}: {}.", words.difference_with_interval(difference));
    };
    let size = times(&log.figure);
    if !counts(&log.figure, 1.0) {
        return format!("{what}: {size}: no change that these trials can tell.");
    }
    let slight = if (log.figure.value - 1.0).abs() < SLIGHT { "a slight " } else { "" };
    let kind = if words.is_loss(log.figure.value - 1.0) { "deterioration" } else { "improvement" };
    let article =
        if slight.is_empty() { if kind == "improvement" { "an " } else { "a " } } else { "" };
    format!("{what}: {size}: {article}{slight}{kind}.")
}
