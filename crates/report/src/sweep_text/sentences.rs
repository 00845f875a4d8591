//! What a sweep found, in sentences.

use analysis::sweep::{Curve, End, FaultCost, Found, Headroom, Hysteresis, KneeOf};
use stats::{Knee, KneeKind, NoKnee, Shape, WhyNoKnee};

use super::amounts::{Amounts, plain, time};

/// What is known of the knee so far, in a line.
#[must_use]
pub fn sweep_so_far(curve: &Curve, found: &Found) -> String {
    let amounts = Amounts::of(curve);
    let count = curve.points.len();
    let so_far = match &found.shape {
        Shape::Knee(knee) => format!(
            "after {count} measurements a knee at {}, between {} and {}",
            amounts.level(knee.level),
            amounts.level(knee.low),
            amounts.level(knee.high)
        ),
        Shape::NoKnee(_) => {
            format!("after {count} measurements no knee {}", reach(curve, &amounts))
        }
        Shape::TooFew(why) => format!("after {count} measurements too few: {why}"),
    };
    match found.ended_by_budget {
        Some(budget) => format!("{so_far}; {}", out_of_budget(budget)),
        None => so_far,
    }
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
    let level = |level: f64| amounts.level(level);
    let side = match plateau {
        End::Low => "beyond",
        End::High => "below",
    };
    let steepness = plain_ratio(knee.steepness);
    // Of a step only its ends were measured, and it may be steeper between them.
    let (kind, steepness) = match knee.kind {
        KneeKind::Step => ("a step", format!("at least as steep as level^{steepness}")),
        KneeKind::Hinge => ("a bend", format!("{side} it the cost goes with level^{steepness}")),
    };
    let mut text = format!(
        "Knee at {} [{}, {}], {kind}: {} is still on the plateau at {}, {} costs {} times as much; \
         {steepness}.",
        level(knee.level),
        level(knee.low.min(knee.high)),
        level(knee.low.max(knee.high)),
        level(knee.capacity),
        amounts.cost(knee.plateau_cost),
        level(knee.beyond),
        plain_ratio(knee.rise),
    );
    if knee.support < 0.95 {
        text += &format!(
            " It is in {:.0} % of the resampled curves only: more passes would tell.",
            100.0 * knee.support
        );
    }
    for other in &knee.others {
        text += &format!(
            " Another step between {} and {}: {} times.",
            level(other.capacity),
            level(other.beyond),
            plain_ratio(other.rise)
        );
    }
    text
}

/// A ratio or exponent with three digits.
fn plain_ratio(value: f64) -> String {
    match value.abs() {
        large if large >= 99.95 => format!("{value:.0}"),
        large if large >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn no_knee(none: &NoKnee, reach: &str, amounts: &Amounts<'_>, least_rise: f64) -> String {
    let answer = match none.why {
        WhyNoKnee::LastLevelOnce { .. } | WhyNoKnee::FirstLevelOnce { .. } => {
            "It cannot be told whether there is a knee"
        }
        _ => "No knee",
    };
    format!(
        "{answer} {reach}: {}. The cost goes with level^{}; the most expensive level costs {} times the \
         cheapest one ({} times would count).",
        why(&none.why, amounts),
        plain_ratio(none.growth),
        plain_ratio(none.largest_rise),
        plain(least_rise),
    )
}

/// Why there is none, with the level as it is written everywhere else.
fn why(why: &WhyNoKnee, amounts: &Amounts<'_>) -> String {
    let text = why.to_string();
    match why {
        WhyNoKnee::OneLevel { level }
        | WhyNoKnee::LastLevelOnce { level }
        | WhyNoKnee::FirstLevelOnce { level }
        | WhyNoKnee::Returns { level } => text.replace(&level.to_string(), &amounts.level(*level)),
        WhyNoKnee::NeverRises | WhyNoKnee::GrowsSteadily | WhyNoKnee::Noise => text,
    }
}

/// Everything else that was found out, a sentence each.
pub(crate) fn others(found: &Found, amounts: &Amounts<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(found.capacity.filter(|_| matches!(found.shape, Shape::Knee(_))).map(
        |capacity| {
            format!(
                "Capacity, the last level at nine tenths of full speed: {}.",
                amounts.level(capacity)
            )
        },
    ));
    sentences.extend(verification(found, amounts));
    sentences.extend(found.hysteresis.as_ref().map(|both| hysteresis(both, amounts)));
    sentences.extend(fault_cost(&found.fault_cost));
    sentences.extend(found.headroom.as_ref().map(|room| headroom(room, amounts, found.plateau)));
    sentences.extend(found.unmeasurable.as_ref().map(|boundary| {
        format!(
            "Not measurable from {} on, after {}: {}.",
            amounts.level(boundary.first),
            amounts.level(boundary.last),
            boundary.reason
        )
    }));
    sentences.extend(
        found.ended_by_budget.map(|budget| format!("Not finished: {}.", out_of_budget(budget))),
    );
    sentences
}

fn verification(found: &Found, amounts: &Amounts<'_>) -> Option<String> {
    let (verification, Shape::Knee(knee)) = (found.verification.as_ref()?, &found.shape) else {
        return None;
    };
    let (capacity, beyond) = (&verification.capacity, &verification.beyond);
    if capacity.len() < 2 && beyond.len() < 2 {
        return None;
    }
    let sides = format!(
        "{} ({} measurements) and {} ({})",
        amounts.level(knee.capacity),
        capacity.len(),
        amounts.level(knee.beyond),
        beyond.len()
    );
    Some(match verification.holds {
        true => format!("Verified: every measurement of {sides} is on its side."),
        false => format!(
            "Not verified: of {sides} some are on the other side; the knee moves from pass to pass."
        ),
    })
}

fn hysteresis(both: &Hysteresis, amounts: &Amounts<'_>) -> String {
    let knee = |knee: &Option<KneeOf>| match knee {
        Some(KneeOf { level, low, high }) => format!(
            "{} [{}, {}]",
            amounts.level(*level),
            amounts.level(low.min(*high)),
            amounts.level(low.max(*high))
        ),
        None => "none".to_owned(),
    };
    let factor = plain_ratio(both.factor);
    match both.is_there {
        true => format!(
            "Hysteresis: on the way down the cost is {factor} times that on the way up; knee \
             upwards {}, downwards {}.",
            knee(&both.up),
            knee(&both.down)
        ),
        false => {
            format!("No hysteresis: on the way down the cost is {factor} times that on the way up.")
        }
    }
}

fn fault_cost(cost: &FaultCost) -> Option<String> {
    let FaultCost::Known { cost_ns, low_ns, high_ns, r_squared, measurements, faults } = cost
    else {
        return None;
    };
    let half_ns = (high_ns - low_ns) / 2.0;
    Some(format!(
        "A fault costs {} ± {} of system time (regression on {faults} over {measurements} measurements, R² \
         {r_squared:.4}).",
        time(*cost_ns),
        time(half_ns)
    ))
}

fn headroom(room: &Headroom, amounts: &Amounts<'_>, plateau: End) -> String {
    let present = amounts.level(room.present);
    let change = match plateau {
        End::Low => "grow",
        End::High => "shrink",
    };
    match room.factor >= 1.0 {
        true => format!(
            "Headroom: {present} can {change} {} times [{}, {}] before the knee.",
            plain_ratio(room.factor),
            plain_ratio(room.low),
            plain_ratio(room.high)
        ),
        false => format!(
            "No headroom: {present} is beyond the knee, by {} times [{}, {}].",
            plain_ratio(1.0 / room.factor),
            plain_ratio(1.0 / room.high),
            plain_ratio(1.0 / room.low)
        ),
    }
}
