//! The conclusions of an attribution as sentences, by rules over its figures
//! (`docs/attribution.md`).

use analysis::attribution::{
    Attribution, Effects, Neighbour, Revert, Scale, Share, SimpleEffect, Step, TwoScales,
};

use render::format::and;

use super::causes;
use super::words::{Words, counts, interval_of_ratio, percent, ratio, times};

/// Smaller changes are slight.
const SLIGHT: f64 = 0.05;
/// Values within this factor are about the same.
const ABOUT_THE_SAME: f64 = 1.5;

/// All sentences in the order of the questions: did it change, by what, does that add up, where,
/// what would help, and what remains open.
pub(crate) fn sentences(attribution: &Attribution) -> Vec<String> {
    let words = &Words::of(attribution);
    let mut told = Vec::new();
    for (index, step) in attribution.steps.iter().enumerate() {
        let several = step.factors.len() > 1;
        if index > 0 && several {
            // Only what another level changes in the answers is new.
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

/// "From one on 17.11 to two on 18.9 …"
fn whole(step: &Step, words: &Words) -> String {
    let levels = |index: usize| {
        let named = step.factors.iter().map(|f| format!("{} {}", f.name, f.levels[index]));
        and(&named.collect::<Vec<_>>())
    };
    let (from, to, noun) = (levels(0), levels(1), &words.noun);
    let total = &step.scales.additive.total;
    let difference = words.difference_with_interval(total);
    if !counts(total, 0.0) {
        return format!(
            "From {from} to {to} no change of {noun} can be told from noise: {difference}."
        );
    }
    let verb = if total.value > 0.0 { "rose" } else { "fell" };
    let times =
        step.scales.log.as_ref().map_or_else(String::new, |log| format!("{}, ", times(&log.total)));
    let before = words.amount(step.before);
    let after = words.quantity(step.after).replace(&format!(" {noun}"), "");
    format!("From {from} to {to} the {noun} {verb} from {before} to {after}: {times}{difference}.")
}

/// "With system 18.11 instead of 18.9: …"
fn instead(step: &Step, first: &Step, words: &Words) -> String {
    let other = step.factors.iter().zip(&first.factors);
    let other = other.map(|(here, there)| (&here.name, &here.levels[1], &there.levels[1]));
    let other = other.filter(|(_, here, there)| here != there);
    let other: Vec<String> =
        other.map(|(name, here, there)| format!("{name} {here} instead of {there}")).collect();
    let figures = factors(&step.scales, words, true);
    let shares = shares(step, words).map_or_else(String::new, |shares| format!(" {shares}"));
    format!("With {}: {figures}{shares}", and(&other))
}

/// "pl1_version two against one costs 2.96 times the page faults [2.89, 3.03]; …"
fn factors(scales: &TwoScales, words: &Words, again: bool) -> String {
    let effects = scales.log.as_ref().unwrap_or(&scales.additive);
    let (noun, verb) = (&words.noun, words.verb());
    let told = effects.main.iter().enumerate().map(|(index, main)| {
        let what = format!("{} {} against {}", main.factor, main.level, main.against);
        let figure = &main.figure;
        match (effects.scale, index) {
            (scale, _) if !counts(figure, none(scale)) => {
                format!("{what} makes no difference that these trials can tell")
            }
            (Scale::Log, 0) if !again => {
                let (size, interval) = (ratio(figure.value), interval_of_ratio(figure));
                format!("{what} {verb} {size} times the {noun}{interval}")
            }
            (Scale::Log, _) => format!("{what} {}", times(figure)),
            (Scale::Additive, _) => {
                format!("{what} {verb} {}", words.difference_with_interval(figure))
            }
        }
    });
    format!("{}.", told.collect::<Vec<_>>().join("; "))
}

/// The figure of no effect on a scale.
fn none(scale: Scale) -> f64 {
    if scale == Scale::Log { 1.0 } else { 0.0 }
}

/// "Of the loss of 4,814 page faults 87.0 % is …"
fn shares(step: &Step, words: &Words) -> Option<String> {
    let (shares, scale) = match step.scales.scale {
        Scale::Additive => (&step.shares, ""),
        Scale::Log => (&step.log_shares, ", as ratios,"),
    };
    let told = shares.iter();
    let told = told.filter_map(|it| Some(format!("{} is {}'s", percent(it.percent?), it.factor)));
    let told: Vec<String> = told.collect();
    if told.is_empty() || !counts(&step.scales.additive.total, 0.0) {
        return None;
    }
    let change = step.after - step.before;
    let bounds = |Share { factor, order_bounds, .. }: &Share| {
        let (low, high) = (*order_bounds)?;
        Some(format!(" ({low:.1} to {high:.1} % for {factor}, whichever is counted first)"))
    };
    let bounds = shares.first().and_then(bounds).unwrap_or_default();
    let (kind, size, told) = (words.change(change), words.quantity(change.abs()), and(&told));
    Some(format!("Of the {kind} of {size}{scale} {told}{bounds}."))
}

/// Whether a factor's effect is the same at both levels of another, as a difference or as a ratio.
fn adds_or_multiplies(step: &Step, words: &Words) -> Option<String> {
    if step.factors.len() != 2 {
        return None;
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
        let (sizes, times) = (sizes.join(" and "), times.join(" and ") + " times");
        let excess: Vec<f64> = ratios.iter().map(|ratio| ratio - 1.0).collect();
        let change = if differences.iter().sum::<f64>() < 0.0 { "decrease" } else { "increase" };
        let same = format!("{change} from {name} is about the same for both levels of {other}");
        match step.scales.scale {
            Scale::Additive if alike(&differences) && !alike(&excess) => Some(format!(
                "The absolute {same} ({sizes}), the relative one is not ({times}), so the two add \
                 rather than multiply."
            )),
            Scale::Log if alike(&excess) && !alike(&differences) => Some(format!(
                "The relative {same} ({times}), the absolute one is not ({sizes}), so the two \
                 multiply rather than add."
            )),
            _ => None,
        }
    };
    // The factor that was named last is usually the new system.
    told(1).or_else(|| told(0))
}

/// Whether all values have the same sign and similar sizes.
fn alike(values: &[f64]) -> bool {
    let sizes = || values.iter().map(|value| value.abs());
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    values.iter().all(|value| value.signum() == values[0].signum())
        && least > 0.0
        && most <= ABOUT_THE_SAME * least
}

fn together(step: &Step, words: &Words) -> Vec<String> {
    let effects = step.scales.fitting();
    let none = none(effects.scale);
    let found = effects.interactions.iter();
    let found = found.filter(|it| counts(&it.figure, none) && it.figure.value != none);
    let told = found.map(|found| {
        let (size, of) = match effects.scale {
            Scale::Additive => (words.difference_with_interval(&found.figure), "sum"),
            Scale::Log => (times(&found.figure), "product"),
        };
        let ((one, other), (level, of_other)) = (&found.factors, &found.levels);
        format!(
            "Together {one} {level} and {other} {of_other} make {size} beside the {of} of the two."
        )
    });
    told.collect()
}

/// "Reverting the compiler alone would regain …"
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
        let share = revert.percent.map(|share| format!(" ({} of the change)", percent(share)));
        let share = share.unwrap_or_default();
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
    let change = log.figure.value - 1.0;
    let kind = match (change.abs() < SLIGHT, words.is_loss(change)) {
        (true, true) => "a slight deterioration",
        (true, false) => "a slight improvement",
        (false, true) => "a deterioration",
        (false, false) => "an improvement",
    };
    format!("{what}: {size}: {kind}.")
}
