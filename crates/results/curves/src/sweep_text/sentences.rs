//! The results of a sweep as sentences.

use analysis::sweep::{Curve, End, FaultCost, Headroom, Hysteresis, KneeOf, SweepResult};
use render::format::{counted, duration, factor, number, share};
use stats::{Knee, KneeKind, NoKnee, Shape, WhyNoKnee};

use super::{Amounts, limit};

/// The knee found so far, in one line.
pub fn sweep_so_far(curve: &Curve, found: &SweepResult) -> String {
    let amounts = Amounts::new(curve);
    let so_far = match &found.shape {
        _ if let Some(priced) = &found.priced => limit::so_far(curve, priced),
        Shape::Knee(knee) => {
            let [at, low, high] = [knee.level, knee.low, knee.high].map(|it| amounts.level(it));
            format!("a knee at {at}, between {low} and {high}")
        }
        Shape::NoKnee(_) => format!("no knee {}", reach(curve, &amounts)),
        Shape::TooFew(_) if curve.points.iter().all(|point| point.cost.is_none()) => {
            "no level has a cost".to_owned()
        }
        Shape::TooFew(why) => format!("too few: {why}"),
    };
    let budget = found.ended_by_budget.map(|budget| format!("; {}", out_of_budget(budget)));
    let count = counted(curve.points.len(), "measurement");
    format!("after {count} {so_far}{}", budget.unwrap_or_default())
}

fn out_of_budget(budget: usize) -> String {
    format!("the budget of {budget} measurements ended the search early: a higher one continues it")
}

/// The extent of a curve in the direction of its first pass: `up to 96M`.
fn reach(curve: &Curve, amounts: &Amounts<'_>) -> String {
    let levels = || curve.points.iter().filter(|point| point.cost.is_some()).map(|p| p.level);
    let (low, high) = (levels().fold(f64::INFINITY, f64::min), levels().fold(0.0, f64::max));
    match levels().next() {
        Some(first) if first == high && low < high => format!("down to {}", amounts.level(low)),
        _ => format!("up to {}", amounts.level(high)),
    }
}

/// A sentence on the knee, or on why there is none.
pub fn knee(curve: &Curve, found: &SweepResult, least_rise: f64) -> String {
    let amounts = &Amounts::new(curve);
    match &found.shape {
        Shape::Knee(knee) => knee_text(knee, amounts, found.plateau),
        Shape::NoKnee(none) => no_knee(none, &reach(curve, amounts), amounts, least_rise),
        Shape::TooFew(why) => format!("It is unclear whether there is a knee: {why}."),
    }
}

fn knee_text(knee: &Knee, amounts: &Amounts<'_>, plateau: End) -> String {
    let side = if plateau == End::Low { "beyond" } else { "below" };
    let steepness = factor(knee.steepness);
    // Only the ends of a step were measured; between them it may be steeper.
    let (kind, steepness) = match knee.kind {
        KneeKind::Step => ("a step", format!("at least as steep as level^{steepness}")),
        KneeKind::Hinge => ("a bend", format!("{side} it the cost goes with level^{steepness}")),
    };
    let [level, capacity, beyond] =
        [knee.level, knee.capacity, knee.beyond].map(|level| amounts.level(level));
    let mut text = format!(
        "Knee at {level} {}, {kind}: {capacity} is still on the plateau at {}, {beyond} costs {} \
         times as much; {steepness}.",
        amounts.interval(knee.low, knee.high),
        amounts.cost(knee.plateau_cost),
        factor(knee.rise),
    );
    if knee.support < 0.95 {
        text += &format!(
            " It is in {} of the resampled curves only: more passes would decide.",
            share(knee.support)
        );
    }
    for other in &knee.others {
        text += &format!(
            " Another step between {} and {}: {} times.",
            amounts.level(other.capacity),
            amounts.level(other.beyond),
            factor(other.rise)
        );
    }
    text
}

fn no_knee(none: &NoKnee, reach: &str, amounts: &Amounts<'_>, least_rise: f64) -> String {
    let (answer, level) = match none.why {
        WhyNoKnee::LastLevelOnce { level } | WhyNoKnee::FirstLevelOnce { level } => {
            ("It is unclear whether there is a knee", Some(level))
        }
        WhyNoKnee::OneLevel { level } | WhyNoKnee::Returns { level } => ("No knee", Some(level)),
        WhyNoKnee::NeverRises | WhyNoKnee::GrowsSteadily | WhyNoKnee::Noise => ("No knee", None),
    };
    let mut why = none.why.to_string();
    if let Some(level) = level {
        why = why.replace(&level.to_string(), &amounts.level(level));
    }
    format!(
        "{answer} {reach}: {why}. The cost goes with level^{:.2}; the most expensive level costs {} \
         times the cheapest one ({} times would count).",
        none.growth,
        factor(none.largest_rise),
        number(least_rise),
    )
}

/// Sentences on what was found besides the knee.
pub fn others(found: &SweepResult, amounts: &Amounts<'_>) -> Vec<String> {
    let level = |level| amounts.level(level);
    let capacity = found.shape.knee().and(found.capacity).map(level);
    let capacity =
        capacity.map(|it| format!("Capacity, the last level at nine tenths of full speed: {it}."));
    let boundary = found.unmeasurable.as_ref().map(|boundary| {
        let [first, last] = [boundary.first, boundary.last].map(level);
        format!("Not measurable from {first} on, after {last}: {}.", boundary.reason)
    });
    let sentences = [
        capacity,
        verification(found, amounts),
        found.hysteresis.as_ref().map(|both| hysteresis(both, amounts)),
        fault_cost(&found.fault_cost),
        found.headroom.as_ref().map(|room| headroom(room, amounts, found.plateau)),
        boundary,
        found.ended_by_budget.map(|budget| format!("Not finished: {}.", out_of_budget(budget))),
    ];
    sentences.into_iter().flatten().collect()
}

fn verification(found: &SweepResult, amounts: &Amounts<'_>) -> Option<String> {
    let (knee, verification) = (found.shape.knee()?, found.verification.as_ref()?);
    let [capacity, beyond] = [&verification.capacity, &verification.beyond].map(Vec::len);
    if capacity < 2 && beyond < 2 {
        return None;
    }
    let sides = format!(
        "{} ({capacity} measurements) and {} ({beyond})",
        amounts.level(knee.capacity),
        amounts.level(knee.beyond),
    );
    Some(match verification.holds {
        true => format!("Verified: every measurement of {sides} is on its side."),
        false => format!(
            "Not verified: of {sides} some are on the other side; the knee moves from pass to pass."
        ),
    })
}

fn hysteresis(both: &Hysteresis, amounts: &Amounts<'_>) -> String {
    let [up, down] = [&both.up, &both.down].map(|knee| match knee {
        Some(KneeOf { level, low, high }) => {
            format!("{} {}", amounts.level(*level), amounts.interval(*low, *high))
        }
        None => "none".to_owned(),
    });
    let factor = factor(both.factor);
    let cost = format!("on the way down the cost is {factor} times that on the way up");
    match both.is_there {
        true => format!("Hysteresis: {cost}; knee upwards {up}, downwards {down}."),
        false => format!("No hysteresis: {cost}."),
    }
}

fn fault_cost(cost: &FaultCost) -> Option<String> {
    let FaultCost::Known { cost_ns, low_ns, high_ns, r_squared, measurements, faults } = cost
    else {
        return None;
    };
    let [cost, margin] = [*cost_ns, (high_ns - low_ns) / 2.0].map(duration);
    Some(format!(
        "A fault costs {cost} ± {margin} of system time (regression on {faults} over \
         {measurements} measurements, R² {r_squared:.4})."
    ))
}

fn headroom(room: &Headroom, amounts: &Amounts<'_>, plateau: End) -> String {
    let present = amounts.level(room.present);
    let change = if plateau == End::Low { "grow" } else { "shrink" };
    let times = |value, low, high| {
        format!("{} times {}", factor(value), render::format::interval(low, high, factor))
    };
    match room.factor >= 1.0 {
        true => format!(
            "Headroom: {present} can {change} {} before the knee.",
            times(room.factor, room.low, room.high)
        ),
        false => format!(
            "No headroom: {present} is beyond the knee, by {}.",
            times(1.0 / room.factor, 1.0 / room.high, 1.0 / room.low)
        ),
    }
}
