//! What the measurements of a sweep show, of one curve or of several.

use serde::Serialize;
use stats::{Knee, Shape};

use super::rows::{Verification, verification};
use super::{
    Boundary, Curve, End, Hysteresis, Moved, PressureCosts, Priced, Remedy, Row, Settings,
    hysteresis, moved, orient, remedy,
};

/// Irlam's capacity is the last level with at least this part of the first level's speed.
const CAPACITY_SPEED: f64 = 0.9;

/// Figures that count as faults; the first that was measured is used.
const FAULTS: [&str; 3] = ["translation_faults", "faults", "major_faults"];
/// Minimum share of the variance of system time that faults must explain.
const LEAST_EXPLAINED: f64 = 0.5;

/// What the measurements of a sweep show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepResult {
    /// The levels, from low to high.
    pub rows: Vec<Row>,
    /// The end of the plateau.
    pub plateau: End,
    /// The knee, or that there is none, in the curve's levels. With a plateau at high levels `beyond`
    /// is below `capacity`, `up_to` is the lowest level, `others` descend, and slopes are negative.
    pub shape: Shape,
    /// Irlam's capacity: the last level from the plateau with nine tenths of the first one's speed.
    pub capacity: Option<f64>,
    /// Where measurability ends, beyond the plateau.
    pub unmeasurable: Option<Boundary>,
    /// How well the two sides of the knee are separated.
    pub verification: Option<Verification>,
    /// The directions near the knee, if both were measured.
    pub hysteresis: Option<Hysteresis>,
    /// The cost of a fault.
    pub fault_cost: FaultCost,
    /// The distance of the current level from the knee.
    pub headroom: Option<Headroom>,
    /// The counters that moved at the knee.
    pub moved: Option<Moved>,
    /// What limits cost, if a price was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priced: Option<Priced>,
    /// Pressure and cost side by side, if a price was requested and pressure was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<PressureCosts>,
    /// What would let the work do with a lower limit, if a price was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
    /// The budget, if it ended the search early ([`super::Search::ended_by_budget`]).
    pub ended_by_budget: Option<usize>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// The distance of the current level from the knee.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Headroom {
    /// The present level.
    pub present: f64,
    /// The factor from the current level to the knee, below 1 beyond it: knee / present with the
    /// plateau at low levels, else present / knee.
    pub factor: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// Reads the measurements of a curve.
pub fn find(curve: &Curve, settings: &Settings) -> SweepResult {
    let orient::Oriented { rows, plateau, shape, unmeasurable, notes, .. } =
        orient::orient(curve, settings);
    let knee = shape.knee();
    let confidence = settings.knee.confidence;
    let priced = settings.price.and_then(|price| Priced::of(curve, price, confidence));
    let of_price = priced.as_ref().and_then(|priced| priced.knee);
    let sides = match settings.price {
        Some(_) => of_price.map(|knee| (knee.cheap, knee.dear)),
        None => knee.map(|knee| (knee.capacity, knee.beyond)),
    };
    let moved = sides.map(|sides| moved::moved(curve, sides, plateau));
    let is_fast = |row: &&Row| row.relative_speed.is_some_and(|speed| speed >= CAPACITY_SPEED);
    let capacity = match plateau {
        End::Low => rows.iter().rfind(is_fast),
        End::High => rows.iter().find(is_fast),
    };
    SweepResult {
        capacity: capacity.map(|row| row.level),
        verification: knee.map(|knee| verification(curve, knee)),
        hysteresis: knee.and_then(|knee| hysteresis::hysteresis(curve, knee, plateau, settings)),
        fault_cost: fault_cost(curve, confidence).unwrap_or_else(|why| FaultCost::Unknown { why }),
        headroom: knee.and_then(|knee| headroom(plateau, settings.present?, knee)),
        remedies: priced
            .as_ref()
            .map_or_else(Vec::new, |priced| remedy::remedies(curve, priced, moved.as_ref())),
        moved,
        pressure: priced.as_ref().and_then(|priced| PressureCosts::of(curve, priced)),
        priced,
        rows,
        plateau,
        shape,
        unmeasurable,
        ended_by_budget: None,
        notes,
    }
}

/// `None` if a level is not above 0.
fn headroom(plateau: End, present: f64, knee: &Knee) -> Option<Headroom> {
    let Knee { level, low, high, .. } = *knee;
    if [present, level, low, high].iter().any(|level| *level <= 0.0) {
        return None;
    }
    let (factor, low, high) = match plateau {
        End::Low => (level / present, low / present, high / present),
        End::High => (present / level, present / high, present / low),
    };
    Some(Headroom { present, factor, low, high })
}

/// System time for one fault, by regression over all measurements, for a unit of work where that is
/// known: then the system time of the work itself is the intercept.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultCost {
    /// It is known.
    Known {
        /// Estimate, ns.
        cost_ns: f64,
        /// Lower end of its interval, ns.
        low_ns: f64,
        /// Upper end of its interval, ns.
        high_ns: f64,
        /// Part of the variance of system time that faults explain.
        r_squared: f64,
        /// How many measurements it rests on.
        measurements: usize,
        /// The figure that counted as faults.
        faults: String,
    },
    /// It is not.
    Unknown {
        /// Why not.
        why: String,
    },
}

fn fault_cost(curve: &Curve, confidence: f64) -> Result<FaultCost, String> {
    let has = |name: &str| curve.points.iter().any(|point| point.figures.contains_key(name));
    let faults = FAULTS.into_iter().find(|name| has(name)).ok_or("faults were not counted")?;
    let figures = curve.points.iter().filter_map(|point| {
        let figure = |name: &str| point.figures.get(name).copied();
        let system_ns = figure("system_ns").or_else(|| figure("system_s").map(|s| s * 1e9));
        Some((figure(faults)?, system_ns?, figure("work").filter(|work| *work > 0.0)))
    });
    let figures: Vec<(f64, f64, Option<f64>)> = figures.collect();
    if figures.is_empty() {
        return Err("system time was not measured with the faults".to_owned());
    }
    let by_work = figures.iter().all(|(.., work)| work.is_some());
    let pairs = figures.into_iter().map(|(faults, system_ns, work)| {
        let unit = work.filter(|_| by_work).unwrap_or(1.0);
        (faults / unit, system_ns / unit)
    });
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let measurements = pairs.len();
    let cost = stats::unit_cost(&[pairs], confidence)
        .ok_or("too few measurements, or all had equally many faults")?;
    if cost.r_squared < LEAST_EXPLAINED {
        let percent = 100.0 * cost.r_squared;
        return Err(format!("faults explain {percent:.0} % of the variance of system time"));
    }
    if cost.low <= 0.0 {
        return Err("system time does not certainly grow with faults".to_owned());
    }
    Ok(FaultCost::Known {
        cost_ns: cost.cost,
        low_ns: cost.low,
        high_ns: cost.high,
        r_squared: cost.r_squared,
        measurements,
        faults: faults.to_owned(),
    })
}

/// Costs over two parameters, for a map.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grid {
    /// What the rows are levels of.
    pub row_parameter: String,
    /// What the columns are levels of.
    pub column_parameter: String,
    /// Unit of the columns' levels.
    pub column_unit: String,
    /// Unit of the cost.
    pub cost_unit: String,
    /// Levels of the columns, from low to high: all that a row has.
    pub columns: Vec<f64>,
    /// One a level of the second parameter.
    pub rows: Vec<GridRow>,
}

/// One level of the second parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridRow {
    /// The level, in words.
    pub level: String,
    /// Median costs, one per column.
    pub costs: Vec<Option<f64>>,
    /// The shape of the row by itself.
    pub shape: Shape,
}

impl Grid {
    /// A map of `curves`, each with its level of `row_parameter`, in the order given.
    pub fn new(row_parameter: &str, curves: &[(String, Curve)], settings: &Settings) -> Self {
        let found: Vec<_> = curves.iter().map(|(_, curve)| find(curve, settings)).collect();
        let mut columns: Vec<f64> =
            found.iter().flat_map(|found| found.rows.iter().map(|row| row.level)).collect();
        columns.sort_by(f64::total_cmp);
        columns.dedup();
        let rows = curves.iter().zip(found).map(|((level, _), found)| {
            let cost = |column: &f64| {
                found.rows.iter().find(|row| row.level == *column).and_then(|row| row.cost)
            };
            GridRow {
                level: level.clone(),
                costs: columns.iter().map(cost).collect(),
                shape: found.shape,
            }
        });
        let first = curves.first().map(|(_, curve)| curve.clone()).unwrap_or_default();
        Self {
            row_parameter: row_parameter.to_owned(),
            column_parameter: first.parameter,
            column_unit: first.level_unit,
            cost_unit: first.cost_unit,
            rows: rows.collect(),
            columns,
        }
    }
}
