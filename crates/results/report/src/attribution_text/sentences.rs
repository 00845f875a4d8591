//! The conclusions of an attribution as sentences (`docs/attribution.md`).

use analysis::attribution::{
    Attribution, CostOrigin, Effects, FactorPart, Mediated, MediationOutcome, Neighbour, Noise,
    Revert, Scale, Share, SimpleEffect, Step, TwoScales,
};
use itertools::Itertools;
use render::format::and;

use super::words::{
    Words, counts, interval_of_ratio, noun, number_like, percent, ratio, times, times_of,
};

/// Smaller changes are slight.
const SLIGHT: f64 = 0.05;
/// Values within this factor are about the same.
const ABOUT_THE_SAME: f64 = 1.5;
/// Parts are named until they make up this percentage.
const MOST_NAMED: f64 = 90.0;

/// The sentences in order: whether it changed, causes, additivity, reverts, open questions.
pub(crate) fn sentences(attribution: &Attribution) -> Vec<String> {
    let words = &Words::new(attribution);
    let mut told = Vec::new();
    for (index, step) in attribution.steps.iter().enumerate() {
        let several = step.factors.len() > 1;
        if index > 0 && several {
            // For later steps only what differs from the first one is new.
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
        told.extend(parts(step, words));
    }
    told.extend(attribution.neighbours.iter().map(|found| neighbour(found, words)));
    told.extend(mediation(attribution, words));
    told.extend(still_open(attribution, words));
    told
}

/// "From one on 17.11 to two on 18.9 …"
fn whole(step: &Step, words: &Words) -> String {
    let levels =
        |index: usize| and(step.factors.iter().map(|f| format!("{} {}", f.name, f.levels[index])));
    let (from, to, noun) = (levels(0), levels(1), &words.noun);
    let total = &step.scales.additive.total;
    let difference = words.difference_with_interval(total);
    if !counts(total, 0.0) {
        return format!("From {from} to {to} no change of {noun} exceeds the noise: {difference}.");
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
    let other = and(other.map(|(name, here, there)| format!("{name} {here} instead of {there}")));
    let figures = factors(&step.scales, words, true);
    let shares = shares(step, words).map_or_else(String::new, |shares| format!(" {shares}"));
    format!("With {other}: {figures}{shares}")
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
                format!("{what} makes no difference that these trials can show")
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
    format!("{}.", told.format("; "))
}

fn none(scale: Scale) -> f64 {
    if scale == Scale::Log { 1.0 } else { 0.0 }
}

/// "Of the loss of 4,814 page faults 87.0 % is …"
fn shares(step: &Step, words: &Words) -> Option<String> {
    let (shares, scale) = match step.scales.scale {
        Scale::Additive => (&step.shares, ""),
        Scale::Log => (&step.log_shares, ", as ratios,"),
    };
    let known = shares.iter();
    let known = known.filter_map(|it| Some(format!("{} is {}'s", percent(it.percent?), it.factor)));
    let known = and(known);
    if known.is_empty() || !counts(&step.scales.additive.total, 0.0) {
        return None;
    }
    let change = step.after - step.before;
    let bounds = |Share { factor, order_bounds, .. }: &Share| {
        let (low, high) = (*order_bounds)?;
        Some(format!(
            " ({low:.1} to {high:.1} % for {factor}, depending on which is counted first)"
        ))
    };
    let bounds = shares.first().and_then(bounds).unwrap_or_default();
    let (kind, size) = (words.change(change), words.quantity(change.abs()));
    Some(format!("Of the {kind} of {size}{scale} {known}{bounds}."))
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
        let sizes = differences.iter().map(|d| words.difference(*d)).join(" and ");
        let times = ratios.iter().map(|r| ratio(*r)).join(" and ") + " times";
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
    // The last named factor is usually the new system.
    told(1).or_else(|| told(0))
}

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
            "Together {one} {level} and {other} {of_other} make {size} on top of the {of} of \
             the two."
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
            (_, false) => "would change nothing measurably:",
        };
        let noun =
            if index == 0 { words.quantity(change.abs()) } else { words.amount(change.abs()) };
        let share = revert.percent.map(|share| format!(" ({} of the change)", percent(share)));
        let share = share.unwrap_or_default();
        format!("{} alone to {} {verb} {noun}{share}", revert.factor, revert.to)
    };
    let told = step.reverts.iter().enumerate().map(told).join("; reverting ");
    (!told.is_empty()).then(|| format!("Reverting {told}."))
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
        return format!("{what}: {size}: no change that these trials can show.");
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

/// "95.9 % of the loss came with pl1 list (58.7 %, 2.76 times) and …"
fn parts(step: &Step, words: &Words) -> Vec<String> {
    let change = step.after - step.before;
    if step.parts.is_empty() || !counts(&step.scales.additive.total, 0.0) {
        return Vec::new();
    }
    let mut sum = 0.0;
    let mut named = Vec::new();
    for part in &step.parts {
        let Some(share) = part.percent.filter(|share| *share > 0.0 && sum < MOST_NAMED) else {
            break;
        };
        sum += share;
        let size = |it: &&FactorPart| it.contribution.abs();
        let by = part.factors.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
        let by = by.map_or_else(String::new, |by| format!(", mostly by {}", by.factor));
        let times = times_of(part.before, part.after);
        named.push(format!("{} ({}{times}{by})", part.part, percent(share)));
    }
    let rest = step.parts[named.len()..].iter().map(|part| {
        let change = words.difference(part.after - part.before);
        format!("{} {change}{}", part.part, times_of(part.before, part.after))
    });
    let rest = and(rest);
    let (percent, kind, size) = (percent(sum), words.change(change), words.quantity(change.abs()));
    let named = format!("{percent} of the {kind} of {size} came with {}.", and(named));
    let rest = (!rest.is_empty()).then(|| format!("The rest is small: {rest}."));
    [named].into_iter().chain(rest).collect()
}

/// "40,000 page faults × 8 ms / 6 users explain 53.3 s of 65.8 s: 81 %. …" for significant changes.
fn mediation(attribution: &Attribution, words: &Words) -> Vec<String> {
    let Some(found) = &attribution.mediation else { return Vec::new() };
    let steps = attribution.steps.iter().zip(&found.steps);
    let steps = steps.filter(|(step, _)| counts(&step.scales.additive.total, 0.0));
    steps.map(|(_, mediated)| explained(found, mediated, words)).collect()
}

fn explained(found: &MediationOutcome, step: &Mediated, words: &Words) -> String {
    let counter = noun(&found.mediator, "faults");
    let each = step.cost_of_all.filter(|cost| *cost > 0.0).map(|cost| words.price(cost));
    let range = found.unit_cost_interval;
    let range = range.map(|(low, high)| format!("{} to {}", words.price(low), words.price(high)));
    let origin = match (found.cost_origin, range) {
        (CostOrigin::Given, _) => "as given".to_owned(),
        (CostOrigin::Fact, _) => "as published".to_owned(),
        (CostOrigin::Estimated, None) => "as estimated".to_owned(),
        // A price that may be 0 explains nothing.
        (CostOrigin::Estimated, Some(range))
            if found.unit_cost_interval.is_some_and(|(low, _)| low <= 0.0) =>
        {
            let (count, of) = (number_like(step.counted, step.counted), words.quantity(step.of));
            let all = each.map_or_else(String::new, |each| {
                format!("; {count} of them at {each} each would explain all {of}")
            });
            return format!(
                "Trials of equal levels do not determine what one of the {counter} costs \
                 ({range}){all}. Name a price with --unit-cost."
            );
        }
        (CostOrigin::Estimated, Some(range)) => {
            format!("as estimated from trials of equal levels, {range}")
        }
    };
    let users = if found.per == 1.0 { String::new() } else { format!(" / {} users", found.per) };
    let share = step.percent.map_or_else(String::new, |share| format!(": {share:.0} %"));
    let all =
        each.map_or_else(String::new, |each| format!("; at {each} each they would explain all"));
    let rest = step.percent.map_or_else(String::new, |share| match share {
        share if share > 100.0 => ". More than all is explained: the price is too high, or \
                                   something else became cheaper"
            .to_owned(),
        share if share < 0.0 => {
            format!(". The {counter} went the other way, so the whole change remains unexplained")
        }
        share => format!(
            ". {} ({}) remain unexplained by {counter}",
            words.quantity(step.of - step.explained),
            percent(100.0 - share)
        ),
    });
    format!(
        "{} {counter} × {} ({origin}){users} explain {} of {}{share}{all}{rest}.",
        number_like(step.counted, step.counted),
        words.price(found.unit_cost),
        words.quantity(step.explained),
        words.quantity(step.of),
    )
}

fn still_open(attribution: &Attribution, words: &Words) -> Vec<String> {
    let mut sentences = Vec::new();
    let step = attribution.steps.first().filter(|_| attribution.mediation.is_none());
    if let Some(step) = step.filter(|step| step.parts.is_empty()) {
        let main = step.scales.additive.main.iter().filter(|main| counts(&main.figure, 0.0));
        let open = main.map(|it| format!("{} ({})", it.factor, words.difference(it.figure.value)));
        let open: Vec<String> = open.collect();
        if !open.is_empty() {
            sentences.push(format!(
                "How {} {} this about remains unexplained: no part of the work and no counter was \
                 measured with the {}.",
                and(&open),
                if open.len() == 1 { "brings" } else { "bring" },
                words.noun
            ));
        }
    }
    if attribution.noise == Noise::Absent {
        let text = "Nothing was repeated, so all of this may be chance; repeat the trials, or \
                    run more seeds.";
        sentences.push(text.to_owned());
    }
    sentences
}
