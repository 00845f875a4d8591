//! Where a change comes from: parts of the work, a counter at its price, and what stays open.

use analysis::attribution::{
    Attribution, CostOrigin, Figure, Mediated, MediationOutcome, Noise, Step,
};

use super::words::{Words, and, noun, number, percent, ratio};

/// Parts are named until they make up this percentage.
pub(super) const MOST: f64 = 90.0;

/// Whether an effect is told apart from none.
pub(super) fn counts(figure: &Figure, none: f64) -> bool {
    figure.interval.is_none_or(|(low, high)| none < low || none > high)
}

/// "95.9 % of the loss came with pl1 list (58.7 %, 2.76 times) and …".
pub(super) fn parts(step: &Step, words: &Words) -> Vec<String> {
    let change = step.after - step.before;
    if step.parts.is_empty() || !counts(&step.scales.additive.total, 0.0) {
        return Vec::new();
    }
    let mut sum = 0.0;
    let mut named = Vec::new();
    for part in &step.parts {
        let Some(share) = part.percent.filter(|share| *share > 0.0 && sum < MOST) else { break };
        sum += share;
        let times = match part.before {
            before if before > 0.0 => format!(", {} times", ratio(part.after / before)),
            _ => String::new(),
        };
        let by = part
            .factors
            .iter()
            .max_by(|a, b| a.contribution.abs().total_cmp(&b.contribution.abs()));
        let by = by.map_or_else(String::new, |by| format!(", mostly by {}", by.factor));
        named.push(format!("{} ({}{times}{by})", part.part, percent(share)));
    }
    let rest: Vec<String> = step.parts[named.len()..]
        .iter()
        .map(|part| {
            let change = words.difference(part.after - part.before);
            let times = if part.before > 0.0 {
                format!(", {} times", ratio(part.after / part.before))
            } else {
                String::new()
            };
            format!("{} {change}{times}", part.part)
        })
        .collect();
    let mut told = vec![format!(
        "{} of the {} of {} came with {}.",
        percent(sum),
        words.change(change),
        words.quantity(change.abs()),
        and(&named)
    )];
    if !rest.is_empty() {
        told.push(format!("The rest is small: {}.", and(&rest)));
    }
    told
}

/// "40,000 page faults × 8 ms / 6 users explain 53.3 s of 65.8 s: 81 %. …", one for each step
/// whose change is told apart from none.
pub(super) fn mediation(attribution: &Attribution, words: &Words) -> Vec<String> {
    let Some(found) = &attribution.mediation else { return Vec::new() };
    let steps = attribution.steps.iter().zip(&found.steps);
    steps
        .filter(|(step, _)| counts(&step.scales.additive.total, 0.0))
        .map(|(_, mediated)| explained(found, mediated, words))
        .collect()
}

/// A price that may as well be nothing explains nothing.
fn unpriced(found: &MediationOutcome, step: &Mediated, words: &Words) -> Option<String> {
    let (CostOrigin::Estimated, Some((low, high))) = (found.cost_origin, found.unit_cost_interval)
    else {
        return None;
    };
    (low <= 0.0).then(|| {
        let counter = noun(&found.mediator, "faults");
        let of_all = step.cost_of_all.filter(|cost| *cost > 0.0).map_or_else(String::new, |cost| {
            let (count, of) = (number(step.counted), words.quantity(step.of));
            format!("; {count} of them at {} each would explain all {of}", words.price(cost))
        });
        format!(
            "What one of the {counter} costs cannot be told from trials of equal levels ({} to \
             {}){of_all}. Name a price with --unit-cost.",
            words.price(low),
            words.price(high)
        )
    })
}

fn explained(found: &MediationOutcome, step: &Mediated, words: &Words) -> String {
    if let Some(text) = unpriced(found, step, words) {
        return text;
    }
    let counter = noun(&found.mediator, "faults");
    let users = if found.per == 1.0 { String::new() } else { format!(" / {} users", found.per) };
    let share = step.percent.map_or_else(String::new, |share| format!(": {share:.0} %"));
    let origin = match (found.cost_origin, found.unit_cost_interval) {
        (CostOrigin::Given, _) => "as given".to_owned(),
        (CostOrigin::Fact, _) => "as published".to_owned(),
        (CostOrigin::Estimated, None) => "as estimated".to_owned(),
        (CostOrigin::Estimated, Some((low, high))) => format!(
            "as estimated from trials of equal levels, {} to {}",
            words.price(low),
            words.price(high)
        ),
    };
    let mut text = format!(
        "{} {counter} × {} ({origin}){users} explain {} of {}{share}",
        number(step.counted),
        words.price(found.unit_cost),
        words.quantity(step.explained),
        words.quantity(step.of),
    );
    if let Some(cost) = step.cost_of_all.filter(|cost| *cost > 0.0) {
        text.push_str(&format!("; at {} each they would explain all", words.price(cost)));
    }
    if let Some(share) = step.percent {
        let rest = step.of - step.explained;
        text.push_str(&match share {
            share if share > 100.0 => ". More than all is explained: the price is too high, or \
                                       something else became cheaper"
                .to_owned(),
            share if share < 0.0 => format!(
                ". The {counter} went the other way, so the whole change remains unexplained"
            ),
            share => format!(
                ". {} ({}) remain unexplained by {counter}",
                words.quantity(rest),
                percent(100.0 - share)
            ),
        });
    }
    text + "."
}

/// What these data do not say.
pub(super) fn still_open(attribution: &Attribution, words: &Words) -> Vec<String> {
    let mut told = Vec::new();
    let step = attribution.steps.first();
    if let Some(step) = step.filter(|step| step.parts.is_empty() && attribution.mediation.is_none())
    {
        let open: Vec<String> = step
            .scales
            .additive
            .main
            .iter()
            .filter(|main| counts(&main.figure, 0.0))
            .map(|main| format!("{} ({})", main.factor, words.difference(main.figure.value)))
            .collect();
        if !open.is_empty() {
            told.push(format!(
                "How {} {} this about remains unexplained: no part of the work and no counter was \
                 measured beside the {}.",
                and(&open),
                if open.len() == 1 { "brings" } else { "bring" },
                words.noun
            ));
        }
    }
    if attribution.noise == Noise::Absent {
        told.push(
            "Nothing was repeated, so none of this can be told from chance; repeat the trials, or \
             run more seeds."
                .to_owned(),
        );
    }
    told
}
