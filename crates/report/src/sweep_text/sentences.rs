//! What a sweep found, in sentences.

use analysis::sweep::{Curve, End, FaultCost, Found, Headroom, Hysteresis, KneeOf};
use render::format::{duration, factor, number, share};
use stats::{Knee, KneeKind, NoKnee, Shape, WhyNoKnee};

use super::Amounts;

/// What is known of the knee so far, in a line.
pub fn sweep_so_far(curve: &Curve, found: &Found) -> String {
    let amounts = Amounts::of(curve);
    let [level, low, high] = match &found.shape {
        Shape::Knee(knee) => [knee.level, knee.low, knee.high].map(|level| amounts.level(level)),
        _ => Default::default(),
    };
    let so_far = match &found.shape {
        Shape::Knee(_) => format!("a knee at {level}, between {low} and {high}"),
        Shape::NoKnee(_) => format!("no knee {}", reach(curve, &amounts)),
        Shape::TooFew(why) => format!("too few: {why}"),
    };
    let budget = found.ended_by_budget.map(|budget| format!("; {}", out_of_budget(budget)));
    let count = curve.points.len();
    format!("after {count} measurements {so_far}{}", budget.unwrap_or_default())
}

/// That the search could have gone on.
fn out_of_budget(budget: usize) -> String {
    format!("the budget of {budget} measurements ended the search early: a higher one continues it")
}

/// How far a curve goes, in the direction in which it was measured first: `up to 96M`.
fn reach(curve: &Curve, amounts: &Amounts<'_>) -> String {
    let levels = || curve.points.iter().filter(|point| point.cost.is_some()).map(|p| p.level);
    let (low, high) = (levels().fold(f64::INFINITY, f64::min), levels().fold(0.0, f64::max));
    match levels().next() {
        Some(first) if first == high && low < high => format!("down to {}", amounts.level(low)),
        _ => format!("up to {}", amounts.level(high)),
    }
}

/// Where the knee is, or that there is none.
pub(crate) fn knee(curve: &Curve, found: &Found, least_rise: f64) -> String {
    let amounts = &Amounts::of(curve);
    match &found.shape {
        Shape::Knee(knee) => knee_text(knee, amounts, found.plateau),
        Shape::NoKnee(none) => no_knee(none, &reach(curve, amounts), amounts, least_rise),
        Shape::TooFew(why) => format!("It cannot be told whether there is a knee: {why}."),
    }
}

fn knee_text(knee: &Knee, amounts: &Amounts<'_>, plateau: End) -> String {
    let side = if plateau == End::Low { "beyond" } else { "below" };
    let steepness = factor(knee.steepness);
    // Of a step only its ends were measured, and it may be steeper between them.
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
            " It is in {} of the resampled curves only: more passes would tell.",
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
    // With the level as it is written everywhere else.
    let why = none.why.to_string();
    let (answer, why) = match none.why {
        WhyNoKnee::LastLevelOnce { level } | WhyNoKnee::FirstLevelOnce { level } => (
            "It cannot be told whether there is a knee",
            why.replace(&level.to_string(), &amounts.level(level)),
        ),
        WhyNoKnee::OneLevel { level } | WhyNoKnee::Returns { level } => {
            ("No knee", why.replace(&level.to_string(), &amounts.level(level)))
        }
        WhyNoKnee::NeverRises | WhyNoKnee::GrowsSteadily | WhyNoKnee::Noise => ("No knee", why),
    };
    format!(
        "{answer} {reach}: {why}. The cost goes with level^{}; the most expensive level costs {} \
         times the cheapest one ({} times would count).",
        factor(none.growth),
        factor(none.largest_rise),
        number(least_rise),
    )
}

/// Everything else that was found out, a sentence each.
pub(crate) fn others(found: &Found, amounts: &Amounts<'_>) -> Vec<String> {
    let level = |level| amounts.level(level);
    let capacity = found
        .capacity
        .filter(|_| matches!(found.shape, Shape::Knee(_)))
        .map(|it| format!("Capacity, the last level at nine tenths of full speed: {}.", level(it)));
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

fn verification(found: &Found, amounts: &Amounts<'_>) -> Option<String> {
    let (verification, Shape::Knee(knee)) = (found.verification.as_ref()?, &found.shape) else {
        return None;
    };
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
    Some(format!(
        "A fault costs {} ± {} of system time (regression on {faults} over {measurements} \
         measurements, R² {r_squared:.4}).",
        duration(*cost_ns),
        duration((high_ns - low_ns) / 2.0)
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
