//! Single delays recovered from a printed summary, where it determines them.
//!
//! resp1 took at least as many points as the title says, and printed low, high, median, average and
//! the S.D. or the ratio of 1-S.D. averages. Of five points two were not printed
//! ([`stats::FivePoints`]). So:
//!
//! - Only a table whose title names five points is tried.
//! - A row that no five points explain had more, and is refused.
//! - Ratios refer to the 1-S.D. average of `noload`. If more than half of the loads agree with five
//!   points there, ratios narrow the rows; if some do, they only refuse rows; if none does,
//!   `noload` had more points and all rows are refused.

use model::resp1::{NOLOAD, Resp1Format, Resp1Row, Resp1Table};
use serde::Serialize;
use stats::{Bounds, FivePoints, Recovered, Spread};

const HALF_UNIT: f64 = 0.000_5;

/// Largest relative half width of a recovered point: half of what comparisons ignore.
const MOST_UNCERTAIN: f64 = 0.05;

const POINTS: u32 = 5;

/// What is known about a row's single delays.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowPoints {
    /// The row's test.
    pub test: String,
    /// Its points.
    pub points: Points,
}

/// A row's single delays, as far as its figures determine them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Points {
    /// All five are determined.
    Recovered {
        /// The second lowest, in ms.
        second_ms: Bounds,
        /// The second highest, in ms.
        fourth_ms: Bounds,
    },
    /// Low, median and high are known; the other two have wide bounds.
    Ambiguous {
        /// The second lowest, in ms.
        second_ms: Bounds,
        /// The second highest, in ms.
        fourth_ms: Bounds,
    },
    /// No five points have these figures: the row had more.
    MoreThanFive,
    /// The title does not name five points.
    NotFive,
}

impl RowPoints {
    /// The five delays in ascending order, in ms, if determined.
    pub fn samples_ms(&self, row: &Resp1Row) -> Option<Vec<f64>> {
        let Points::Recovered { second_ms, fourth_ms } = self.points else { return None };
        let second = second_ms.middle().clamp(row.low_ms, row.median_ms);
        let fourth = fourth_ms.middle().clamp(row.median_ms, row.high_ms);
        Some(vec![row.low_ms, second, row.median_ms, fourth, row.high_ms])
    }
}

/// What each row determines about its single delays.
pub fn recover_points(table: &Resp1Table) -> Vec<RowPoints> {
    let base = table.noload().and_then(|row| figures(row).recovered(Spread::Unknown));
    let base = base.map(|base| (base.one_sd_mean, Agreement::new(table, base.one_sd_mean)));
    let points = |row: &Resp1Row| match (table.format, base) {
        _ if table.minimum_points != Some(POINTS) => Points::NotFive,
        (Resp1Format::First, _) => judged(figures(row).recovered(deviation(row))),
        (Resp1Format::Second, Some((base, agreement))) => agreement.points(row, base),
        (Resp1Format::Second, None) => Points::MoreThanFive,
    };
    let row = |row: &Resp1Row| RowPoints { test: row.test.clone(), points: points(row) };
    table.rows.iter().map(row).collect()
}

/// How many ratios five points without load explain.
#[derive(Clone, Copy)]
enum Agreement {
    None,
    Some,
    Most,
}

impl Agreement {
    fn new(table: &Resp1Table, base: Bounds) -> Self {
        let loads = || table.rows.iter().filter(|row| row.test != NOLOAD && row.ratio_sd.is_some());
        let agreeing = loads().filter(|row| with_ratio(row, base).is_some()).count();
        match (agreeing, loads().count()) {
            (0, 1..) => Self::None,
            (agreeing, all) if 2 * agreeing > all => Self::Most,
            _ => Self::Some,
        }
    }

    fn points(self, row: &Resp1Row, base: Bounds) -> Points {
        let plain = figures(row).recovered(Spread::Unknown);
        let narrowed = with_ratio(row, base);
        match self {
            Self::None => Points::MoreThanFive,
            _ if row.test == NOLOAD => judged(plain),
            Self::Some => judged(narrowed.and(plain)),
            Self::Most => judged(narrowed),
        }
    }
}

fn judged(recovered: Option<Recovered>) -> Points {
    let Some(Recovered { second, fourth, .. }) = recovered else { return Points::MoreThanFive };
    let is_narrow = |bounds: Bounds| bounds.half_width() <= MOST_UNCERTAIN * bounds.middle();
    let (second_ms, fourth_ms) = (second, fourth);
    match is_narrow(second) && is_narrow(fourth) {
        true => Points::Recovered { second_ms, fourth_ms },
        false => Points::Ambiguous { second_ms, fourth_ms },
    }
}

fn figures(row: &Resp1Row) -> FivePoints {
    let printed = |value| Bounds::printed(value, HALF_UNIT);
    FivePoints {
        low: printed(row.low_ms),
        median: printed(row.median_ms),
        high: printed(row.high_ms),
        average: printed(row.average_ms),
    }
}

/// The printed standard deviation, in ms.
fn deviation(row: &Resp1Row) -> Spread {
    let printed = |sd_s: f64| Bounds::printed(1e3 * sd_s, 1e3 * HALF_UNIT);
    row.sd_s.map_or(Spread::Unknown, |sd_s| Spread::Deviation(printed(sd_s)))
}

/// The row, constrained by its ratio to the 1-S.D. average without load.
fn with_ratio(row: &Resp1Row, base: Bounds) -> Option<Recovered> {
    let spread = row.ratio_sd.map_or(Spread::Unknown, |ratio| {
        let ratio = Bounds::printed(ratio, HALF_UNIT);
        Spread::OneSdMean(Bounds { low: ratio.low * base.low, high: ratio.high * base.high })
    });
    figures(row).recovered(spread)
}

/// Notes on the points; empty without rows.
pub fn points_notes(rows: &[RowPoints]) -> Vec<String> {
    let tests = |of: fn(&Points) -> bool| -> Vec<&str> {
        rows.iter().filter(|row| of(&row.points)).map(|row| row.test.as_str()).collect()
    };
    let within = |bounds: &Bounds| format!("{:.3} ± {:.3}", bounds.middle(), bounds.half_width());
    let mut notes = Vec::new();
    let recovered: Vec<String> = rows
        .iter()
        .filter_map(|row| match &row.points {
            Points::Recovered { second_ms, fourth_ms } => {
                Some(format!("{} {} and {}", row.test, within(second_ms), within(fourth_ms)))
            }
            _ => None,
        })
        .collect();
    if !recovered.is_empty() {
        notes.push(format!(
            "of five points the second and fourth were not printed and are recovered from the \
             printed figures, in ms: {}; this assumes that no more than the five requested \
             points were taken",
            recovered.join("; ")
        ));
    }
    let left_open = [
        (tests(|of| matches!(of, Points::Ambiguous { .. })), "two points can lie too far apart"),
        (
            tests(|of| *of == Points::MoreThanFive),
            "no five points have the printed figures, so there were more or those of noload were",
        ),
        (tests(|of| *of == Points::NotFive), "the title does not name five points"),
    ];
    for (tests, why) in left_open.into_iter().filter(|(tests, _)| !tests.is_empty()) {
        let tests = tests.join(", ");
        notes.push(format!(
            "not recovered: {tests}: {why}; there is a median, and no interval and no test"
        ));
    }
    notes
}
