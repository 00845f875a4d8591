//! A curve compared with a published one: ratios level by level, and the publication's conditions.

use serde::Serialize;
use stats::Shape;

use crate::sweep::{Curve, Point};

/// A condition on a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Its kind.
    pub kind: ConditionKind,
    /// The figure or counter, as in [`Point`]; empty for a knee.
    pub figure: String,
    /// First level, in the curve's unit; of a knee the last one on the plateau.
    pub from: f64,
    /// Last level; of a knee the first one beyond the plateau.
    pub to: f64,
    /// Least value.
    pub least: Option<f64>,
    /// Largest value.
    pub most: Option<f64>,
    /// How far the true figure may lie below the printed, rounded one.
    pub printed_below: f64,
    /// How far it may lie above.
    pub printed_above: f64,
}

model::named! {
    /// Kinds of conditions.
    pub enum ConditionKind {
        /// The figure over the published one, at each level.
        Ratio = "ratio",
        /// The rate per second over all levels.
        Rate = "rate",
        /// The figure at the last level over that at the first.
        Growth = "growth",
        /// The figure of every measurement at each level.
        Count = "count",
        /// The knee lies between two levels.
        Knee = "knee",
        /// There is no knee.
        NoKnee = "no-knee",
    }
}

/// A curve compared with a published one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Beside {
    /// A row per common level, from low to high.
    pub rows: Vec<BesideRow>,
    /// The conditions whose levels were measured.
    pub judged: Vec<Judged>,
}

/// One level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BesideRow {
    /// The level.
    pub level: f64,
    /// The measurement with the least elapsed time, as in published tables.
    pub best: Point,
    /// The published figures.
    pub published: Point,
    /// Ratio conditions at this level: index in [`Beside::judged`], and whether it holds here.
    pub ratios: Vec<(usize, bool)>,
}

/// A condition and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The condition.
    pub condition: Condition,
    /// Each level and its value; the two sides of a knee.
    pub values: Vec<(f64, f64)>,
    /// Levels at which it fails.
    pub missed: Vec<f64>,
    /// Whether it holds.
    pub holds: bool,
}

impl Beside {
    /// Compares a curve with a published one of the same unit.
    pub fn new(curve: &Curve, shape: &Shape, published: &Curve, conditions: &[Condition]) -> Self {
        let mut levels: Vec<f64> = curve.points.iter().map(|point| point.level).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        let judge = |condition: &Condition| judge(condition, curve, shape, published, &levels);
        let judged: Vec<Judged> = conditions.iter().filter_map(judge).collect();
        let row = |level: &f64| {
            let is_ratio = |judged: &Judged| {
                judged.condition.kind == ConditionKind::Ratio
                    && judged.values.iter().any(|(tried, _)| tried == level)
            };
            let of_ratios = judged.iter().enumerate().filter(|(_, judged)| is_ratio(judged));
            Some(BesideRow {
                level: *level,
                best: best(curve, *level)?.clone(),
                published: best(published, *level)?.clone(),
                ratios: of_ratios.map(|(at, told)| (at, !told.missed.contains(level))).collect(),
            })
        };
        Self { rows: levels.iter().filter_map(row).collect(), judged }
    }

    /// Whether all judged conditions hold.
    pub fn holds(&self) -> bool {
        self.judged.iter().all(|judged| judged.holds)
    }
}

/// The measurement of a level with the least elapsed time, which was disturbed least.
pub fn best(curve: &Curve, level: f64) -> Option<&Point> {
    let elapsed = |point: &&Point| figure(point, "elapsed_ns").unwrap_or(f64::INFINITY);
    let of_level = curve.points.iter().filter(|point| point.level == level);
    of_level.min_by(|one, other| elapsed(one).total_cmp(&elapsed(other)))
}

fn figure(point: &Point, name: &str) -> Option<f64> {
    point.figures.get(name).or_else(|| point.counters.get(name)).copied()
}

/// `None` if the levels or figures of the condition were not measured.
fn judge(
    condition: &Condition,
    curve: &Curve,
    shape: &Shape,
    published: &Curve,
    levels: &[f64],
) -> Option<Judged> {
    let name = condition.figure.as_str();
    let inside =
        levels.iter().copied().filter(|level| (condition.from..=condition.to).contains(level));
    let of_best = |level: f64, name: &str| figure(best(curve, level)?, name);
    let at_last = |value: f64| Some((condition.to, value));
    let values: Vec<(f64, f64)> = match condition.kind {
        ConditionKind::Ratio => inside
            .filter_map(|level| {
                let printed = figure(best(published, level)?, name)?;
                Some((level, of_best(level, name)? / printed))
            })
            .collect(),
        ConditionKind::Rate => {
            let of = |level| Some((of_best(level, name)?, of_best(level, "elapsed_ns")?));
            let (counts, elapsed_ns): (Vec<f64>, Vec<f64>) = inside.filter_map(of).unzip();
            let rate = counts.iter().sum::<f64>() / (elapsed_ns.iter().sum::<f64>() / 1e9);
            at_last(rate).filter(|_| rate.is_finite()).into_iter().collect()
        }
        ConditionKind::Count => inside
            .flat_map(|level| curve.points.iter().filter(move |point| point.level == level))
            .filter_map(|point| Some((point.level, figure(point, name)?)))
            .collect(),
        ConditionKind::Growth => {
            let first = of_best(condition.from, name).filter(|first| *first > 0.0);
            let growth = first.zip(of_best(condition.to, name)).map(|(first, last)| last / first);
            growth.and_then(at_last).into_iter().collect()
        }
        ConditionKind::Knee | ConditionKind::NoKnee => {
            let has_ends = levels.contains(&condition.from) && levels.contains(&condition.to);
            let is_inside =
                |knee: &stats::Knee| knee.capacity >= condition.from && knee.beyond <= condition.to;
            let holds = match (condition.kind, shape.knee()) {
                (ConditionKind::Knee, knee) => knee.is_some_and(is_inside),
                (_, knee) => knee.is_none(),
            };
            let sides = shape.knee().map(|knee| [(knee.capacity, 0.0), (knee.beyond, 0.0)]);
            let values = sides.into_iter().flatten().collect();
            let condition = condition.clone();
            return has_ends.then(|| Judged { condition, values, missed: Vec::new(), holds });
        }
    };
    // Rounding of the printed figure widens the bounds of a ratio.
    let is_held = |(level, value): (f64, f64)| {
        let printed = best(published, level).filter(|_| condition.kind == ConditionKind::Ratio);
        let printed = printed.and_then(|point| figure(point, name));
        let wider = |bound: f64, by: f64| printed.map_or(bound, |value| bound * (1.0 + by / value));
        condition.least.is_none_or(|least| value >= wider(least, -condition.printed_below))
            && condition.most.is_none_or(|most| value <= wider(most, condition.printed_above))
    };
    let missed = values.iter().filter(|it| !is_held(**it)).map(|(level, _)| *level);
    let missed: Vec<f64> = missed.collect();
    let holds = missed.is_empty();
    (!values.is_empty()).then(|| Judged { condition: condition.clone(), values, missed, holds })
}

#[cfg(test)]
mod tests {
    use crate::sweep::{Settings, find};

    use super::*;

    fn point(level: f64, elapsed_ns: f64, faults: f64) -> Point {
        Point {
            level,
            cost: Some(elapsed_ns / level),
            figures: [
                ("elapsed_ns".to_owned(), elapsed_ns),
                ("translation_faults".to_owned(), faults),
            ]
            .into(),
            counters: [("hat.pmgstolen_ctx".to_owned(), 0.0)].into(),
            ..Point::default()
        }
    }

    fn curve(points: Vec<Point>) -> Curve {
        Curve { points, level_unit: "bytes".to_owned(), ..Curve::default() }
    }

    fn condition(kind: ConditionKind, figure: &str, bounds: [Option<f64>; 2]) -> Condition {
        let [least, most] = bounds;
        Condition {
            kind,
            figure: figure.to_owned(),
            from: 2.0,
            to: 4.0,
            least,
            most,
            printed_below: 0.0,
            printed_above: 0.0,
        }
    }

    /// Twice as slow at 4 as it was published, and once more than that.
    fn measured() -> Curve {
        curve(vec![
            point(2.0, 2e9, 10.0),
            point(4.0, 9e9, 900.0),
            point(4.0, 8e9, 800.0),
            point(8.0, 8e9, 0.0),
        ])
    }

    fn beside(conditions: &[Condition]) -> Beside {
        let published = curve(vec![point(2.0, 2e9, 10.0), point(4.0, 4e9, 800.0)]);
        let measured = measured();
        Beside::new(&measured, &find(&measured, &Settings::default()).shape, &published, conditions)
    }

    #[test]
    fn the_fastest_run_stands_beside_the_published_one() {
        let ratio = condition(ConditionKind::Ratio, "elapsed_ns", [Some(0.9), Some(1.1)]);
        let told = beside(&[ratio]);
        let levels: Vec<f64> = told.rows.iter().map(|row| row.level).collect();
        assert_eq!(levels, [2.0, 4.0], "8 was not published");
        assert_eq!(told.rows[1].best.figures["elapsed_ns"], 8e9);
        assert_eq!(told.judged[0].values, [(2.0, 1.0), (4.0, 2.0)]);
        assert_eq!((&told.judged[0].missed[..], told.holds()), (&[4.0][..], false));
        assert_eq!(told.rows[0].ratios, [(0, true)]);
        assert_eq!(told.rows[1].ratios, [(0, false)]);
    }

    #[test]
    fn a_figure_that_was_cut_off_when_printed_has_room_above() {
        let cut = Condition {
            printed_above: 4e9,
            ..condition(ConditionKind::Ratio, "elapsed_ns", [Some(0.9), Some(1.1)])
        };
        assert!(beside(&[cut]).holds());
    }

    #[test]
    fn rates_growths_and_counts_have_bounds() {
        for (kind, figure, inside, outside) in [
            (ConditionKind::Rate, "translation_faults", [81.0, 81.0], [82.0, 100.0]),
            (ConditionKind::Growth, "translation_faults", [80.0, 80.0], [81.0, 99.0]),
            (ConditionKind::Count, "hat.pmgstolen_ctx", [0.0, 0.0], [1.0, 2.0]),
            (ConditionKind::Count, "translation_faults", [10.0, 900.0], [10.0, 899.0]),
        ] {
            let told = |bounds: [f64; 2]| beside(&[condition(kind, figure, bounds.map(Some))]);
            assert!(told(inside).holds(), "{kind:?} {inside:?}: {:?}", told(inside));
            assert!(!told(outside).holds(), "{kind:?} {outside:?}");
        }
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let other = condition(ConditionKind::Ratio, "user_ns", [Some(0.9), None]);
        let far = Condition { to: 16.0, ..condition(ConditionKind::Knee, "", [None, None]) };
        let told = beside(&[other, far]);
        assert!(told.judged.is_empty() && told.holds());
    }

    #[test]
    fn a_knee_lies_between_two_levels_or_nowhere() {
        let steps: Vec<Point> =
            [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 40.0), (5.0, 50.0), (6.0, 60.0)]
                .map(|(level, elapsed)| point(level, elapsed, 0.0))
                .into();
        let steps = curve(steps);
        let found = find(&steps, &Settings::default());
        for (kind, from, to, holds) in [
            (ConditionKind::Knee, 3.0, 4.0, true),
            (ConditionKind::Knee, 4.0, 5.0, false),
            (ConditionKind::NoKnee, 1.0, 6.0, false),
        ] {
            let asked = Condition { from, to, ..condition(kind, "", [None, None]) };
            assert_eq!(
                Beside::new(&steps, &found.shape, &steps, &[asked]).holds(),
                holds,
                "{kind:?}"
            );
        }
    }
}
