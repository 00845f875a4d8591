//! The levels in the order from the plateau outwards, and the knee along it.

use stats::{Knee, KneeSettings, Level, NoKnee, OtherKnee, Shape, WhyNoKnee};

use super::{Boundary, Curve, End, Row, Settings, rows};

/// A curve of which it is known where the plateau lies.
pub(super) struct Oriented {
    pub(super) rows: Vec<Row>,
    pub(super) plateau: End,
    pub(super) shape: Shape,
    pub(super) unmeasurable: Option<Boundary>,
    pub(super) notes: Vec<String>,
}

/// Finds the plateau's end and the knee.
pub(super) fn orient(curve: &Curve, settings: &Settings) -> Oriented {
    let mut table = rows::rows(curve);
    let plateau = settings.plateau.unwrap_or_else(|| plateau(&table, settings));
    rows::relate(&mut table, plateau);
    let mut notes = Vec::new();
    let shape = shape(curve, plateau, settings, &mut notes);
    let unmeasurable = boundary(&table, plateau);
    for row in table.iter().filter(|row| row.cost.is_none()) {
        let is_beyond = unmeasurable.as_ref().is_some_and(|boundary| match plateau {
            End::Low => row.level >= boundary.first,
            End::High => row.level <= boundary.first,
        });
        if !is_beyond {
            let why = reason(row);
            notes.push(format!("level {} could not be measured and is left out: {why}", row.level));
        }
    }
    Oriented { rows: table, plateau, shape, unmeasurable, notes }
}

/// The end at which the cost is lower: the mean logarithm of the outer two levels that have a cost.
///
/// Where these differ by less than the least rise, and levels at one end alone cannot be measured,
/// that end is the one beyond.
fn plateau(rows: &[Row], settings: &Settings) -> End {
    let logs: Vec<f64> = rows.iter().filter_map(|row| row.cost).map(f64::ln).collect();
    let outer = logs.len().min(2);
    let low: f64 = logs.iter().take(outer).sum::<f64>() / outer.max(1) as f64;
    let high: f64 = logs.iter().rev().take(outer).sum::<f64>() / outer.max(1) as f64;
    let fails = |row: Option<&Row>| row.is_some_and(|row| row.cost.is_none());
    let by_cost = if high < low { End::High } else { End::Low };
    if (high - low).abs() >= settings.least_rise.ln() {
        return by_cost;
    }
    match (fails(rows.first()), fails(rows.last())) {
        (true, false) => End::High,
        (false, true) => End::Low,
        _ => by_cost,
    }
}

/// The last level with a cost, and the next one, if none from there on has a cost.
fn boundary(rows: &[Row], plateau: End) -> Option<Boundary> {
    let mut outwards: Vec<&Row> = rows.iter().collect();
    if plateau == End::High {
        outwards.reverse();
    }
    let last = outwards.iter().rposition(|row| row.cost.is_some())?;
    let first = outwards.get(last + 1)?;
    Some(Boundary { last: outwards[last].level, first: first.level, reason: reason(first) })
}

fn reason(row: &Row) -> String {
    if row.problems.is_empty() {
        return "no reason was given".to_owned();
    }
    row.problems.join("; ")
}

/// The knee over the levels, or over 1 / level if the plateau lies at high ones.
fn shape(curve: &Curve, plateau: End, settings: &Settings, notes: &mut Vec<String>) -> Shape {
    let mut levels: Vec<Level> = Vec::new();
    for (level, points) in rows::by_level(curve) {
        let costs = rows::costs(&points);
        if level <= 0.0 && !costs.is_empty() {
            notes.push(format!("level {level} has no logarithm and is left out of the fit"));
        } else if !costs.is_empty() {
            levels.push(Level { level, costs });
        }
    }
    let knee_settings = KneeSettings {
        confidence: settings.confidence,
        least_rise: settings.least_rise,
        resamples: settings.resamples,
        seed: settings.seed,
    };
    if plateau == End::Low {
        return knee(&levels, &knee_settings);
    }
    let measured: Vec<f64> = levels.iter().map(|level| level.level).collect();
    levels.reverse();
    for level in &mut levels {
        level.level = level.level.recip();
    }
    turned_back(knee(&levels, &knee_settings), &measured)
}

/// A shape over 1 / level as one over levels.
fn turned_back(shape: Shape, measured: &[f64]) -> Shape {
    // A reciprocal's reciprocal may be off by a bit; levels that were measured are exact.
    let exact = |inverse: f64| {
        let same = |level: &&f64| level.recip() == inverse;
        measured.iter().find(same).copied().unwrap_or(inverse.recip())
    };
    match shape {
        Shape::Knee(knee) => Shape::Knee(Knee {
            level: knee.level.recip(),
            low: exact(knee.high),
            high: exact(knee.low),
            capacity: exact(knee.capacity),
            beyond: exact(knee.beyond),
            steepness: -knee.steepness,
            others: knee
                .others
                .into_iter()
                .map(|other| OtherKnee {
                    capacity: exact(other.capacity),
                    beyond: exact(other.beyond),
                    ..other
                })
                .collect(),
            ..knee
        }),
        Shape::NoKnee(none) => Shape::NoKnee(NoKnee {
            up_to: exact(none.up_to),
            growth: -none.growth,
            why: match none.why {
                WhyNoKnee::OneLevel { level } => WhyNoKnee::OneLevel { level: exact(level) },
                WhyNoKnee::LastLevelOnce { level } => {
                    WhyNoKnee::LastLevelOnce { level: exact(level) }
                }
                why => why,
            },
            ..none
        }),
        too_few => too_few,
    }
}

/// The largest rise between neighbours, until the real one is there.
fn knee(levels: &[Level], settings: &KneeSettings) -> Shape {
    let medians: Vec<(f64, f64)> = levels
        .iter()
        .filter_map(|level| stats::median(&level.costs).map(|cost| (level.level, cost)))
        .collect();
    if medians.len() < 3 {
        return Shape::TooFew("fewer than three levels".to_owned());
    }
    let rise = |pair: &&[(f64, f64)]| pair[1].1 / pair[0].1;
    let Some(pair) = medians.windows(2).find(|pair| rise(pair) >= settings.least_rise) else {
        let (up_to, _) = medians[medians.len() - 1];
        return Shape::NoKnee(NoKnee {
            up_to,
            growth: 0.0,
            largest_rise: 1.0,
            why: WhyNoKnee::NeverRises,
        });
    };
    let (capacity, beyond) = (pair[0].0, pair[1].0);
    Shape::Knee(Knee {
        level: (capacity * beyond).sqrt(),
        low: capacity,
        high: beyond,
        capacity,
        beyond,
        plateau_cost: pair[0].1,
        rise: rise(&pair),
        steepness: rise(&pair).ln() / (beyond / capacity).ln(),
        support: 1.0,
        kind: stats::KneeKind::Step,
        others: Vec::new(),
    })
}
