//! The causes of a change: parts of the work, a counter at its price, and what remains open.

use analysis::attribution::{
    Attribution, CostOrigin, FactorPart, Mediated, MediationOutcome, Noise, Step,
};
use render::format::and;

use super::words::{Words, counts, noun, number, percent, times_of};

/// Parts are named until they make up this percentage.
pub(super) const MOST: f64 = 90.0;

/// "95.9 % of the loss came with pl1 list (58.7 %, 2.76 times) and …"
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
    let rest: Vec<String> = rest.collect();
    let (percent, kind, size) = (percent(sum), words.change(change), words.quantity(change.abs()));
    let named = format!("{percent} of the {kind} of {size} came with {}.", and(&named));
    let rest = (!rest.is_empty()).then(|| format!("The rest is small: {}.", and(&rest)));
    [named].into_iter().chain(rest).collect()
}

/// "40,000 page faults × 8 ms / 6 users explain 53.3 s of 65.8 s: 81 %. …" for each step with a
/// significant change.
pub(super) fn mediation(attribution: &Attribution, words: &Words) -> Vec<String> {
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
            let (count, of) = (number(step.counted), words.quantity(step.of));
            let all = each.map_or_else(String::new, |each| {
                format!("; {count} of them at {each} each would explain all {of}")
            });
            return format!(
                "What one of the {counter} costs cannot be told from trials of equal levels \
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
        number(step.counted),
        words.price(found.unit_cost),
        words.quantity(step.explained),
        words.quantity(step.of),
    )
}

/// What these data do not explain.
pub(super) fn still_open(attribution: &Attribution, words: &Words) -> Vec<String> {
    let mut sentences = Vec::new();
    let step = attribution.steps.first().filter(|_| attribution.mediation.is_none());
    if let Some(step) = step.filter(|step| step.parts.is_empty()) {
        let main = step.scales.additive.main.iter().filter(|main| counts(&main.figure, 0.0));
        let open = main.map(|it| format!("{} ({})", it.factor, words.difference(it.figure.value)));
        let open: Vec<String> = open.collect();
        if !open.is_empty() {
            sentences.push(format!(
                "How {} {} this about remains unexplained: no part of the work and no counter was \
                 measured beside the {}.",
                and(&open),
                if open.len() == 1 { "brings" } else { "bring" },
                words.noun
            ));
        }
    }
    if attribution.noise == Noise::Absent {
        let text = "Nothing was repeated, so none of this can be told from chance; repeat the \
                    trials, or run more seeds.";
        sentences.push(text.to_owned());
    }
    sentences
}
