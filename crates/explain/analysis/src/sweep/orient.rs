//! The end of the plateau, and the knee from there.

use serde::Serialize;
use stats::{Knee, Shape};

use super::{Curve, End, Row, Settings, fit, hysteresis, rows};

/// A curve whose plateau is known.
pub(super) struct Oriented {
    pub(super) rows: Vec<Row>,
    pub(super) plateau: End,
    pub(super) shape: Shape,
    /// The knees of upward and downward passes, if they differ and `shape` spans them.
    pub(super) by_way: Option<[Knee; 2]>,
    pub(super) unmeasurable: Option<Boundary>,
    pub(super) notes: Vec<String>,
}

pub(super) fn orient(curve: &Curve, settings: &Settings) -> Oriented {
    let mut table = rows::rows(curve);
    let plateau = settings.plateau.unwrap_or_else(|| plateau(curve, &table, settings));
    let mut costs = table.iter().filter_map(|row| row.cost);
    let first = if plateau == End::Low { costs.next() } else { costs.next_back() };
    for row in &mut table {
        row.relative_speed = first.zip(row.cost).map(|(first, cost)| first / cost);
    }
    let (shape, by_way) = shape(curve, plateau, settings);
    let left_out = table.iter().filter(|row| row.level <= 0.0 && row.cost.is_some());
    let note =
        |row: &Row| format!("level {} has no logarithm and is left out of the fit", row.level);
    let mut notes: Vec<String> = left_out.map(note).collect();
    let unmeasurable = boundary(&table, plateau);
    for row in table.iter().filter(|row| row.cost.is_none()) {
        let is_beyond = |it: &Boundary| plateau.is_outside(row.level, it.first);
        if !unmeasurable.as_ref().is_some_and(is_beyond) {
            let why = reason(row);
            notes.push(format!("level {} could not be measured and is left out: {why}", row.level));
        }
    }
    Oriented { rows: table, plateau, shape, by_way, unmeasurable, notes }
}

/// The knee of all measurements; if it is in doubt and those of the directions differ, it spans both.
fn shape(curve: &Curve, plateau: End, settings: &Settings) -> (Shape, Option<[Knee; 2]>) {
    let shape = fit::shape(curve, plateau, settings);
    let is_certain = match &shape {
        Shape::Knee(knee) => rows::verification(curve, knee).holds,
        Shape::NoKnee(_) => false,
        Shape::TooFew(_) => true,
    };
    if !is_certain
        && !curve.deterministic
        && let [Some(up), Some(down)] = hysteresis::knees(curve, plateau, settings)
        && !hysteresis::meet(&up, &down)
    {
        return (Shape::Knee(hysteresis::spanning(&up, &down, plateau)), Some([up, down]));
    }
    (shape, None)
}

/// The end at which the cost, the mean logarithm of the outer two levels that have one, is lower. If
/// they differ by less than the least rise, it is the end at which the sweep began, if measurable.
fn plateau(curve: &Curve, rows: &[Row], settings: &Settings) -> End {
    let logs: Vec<f64> = rows.iter().filter_map(|row| row.cost).map(f64::ln).collect();
    let outer = logs.len().min(2);
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / outer.max(1) as f64;
    let (low, high) = (mean(&logs[..outer]), mean(&logs[logs.len() - outer..]));
    let fails = |row: Option<&Row>| row.is_some_and(|row| row.cost.is_none());
    let by_cost = if high < low { End::High } else { End::Low };
    if (high - low).abs() >= settings.knee.least_rise.ln() {
        return by_cost;
    }
    match (fails(rows.first()), fails(rows.last())) {
        (true, false) => End::High,
        (false, true) => End::Low,
        // The end at which the first measurement was made.
        _ => match (curve.points.first(), rows) {
            (Some(first), [_, .., last]) if first.level == last.level => End::High,
            _ => End::Low,
        },
    }
}

/// The last level with a cost, and the next one.
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
    match &row.problems[..] {
        [] => "no reason was given".to_owned(),
        problems => problems.join("; "),
    }
}

/// Between the last level that can be measured and the first that cannot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boundary {
    /// The last level that has a cost.
    pub last: f64,
    /// The first that has none, nor has any beyond it.
    pub first: f64,
    /// Why it has none.
    pub reason: String,
}
