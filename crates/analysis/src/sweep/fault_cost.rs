//! What a fault costs: the slope of system time on faults.

use serde::Serialize;

use super::{Curve, Settings};

/// Figures that count as faults; the first that was measured is taken.
const FAULTS: [&str; 3] = ["translation_faults", "faults", "major_faults"];
/// Faults must explain at least this part of the variance of system time.
const LEAST_EXPLAINED: f64 = 0.5;

/// Time of the system for one fault, by regression over all measurements.
///
/// Where the work of each is known both are taken by the unit of work, so that what the system
/// does for the work itself stands in the intercept, however much work was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultCost {
    /// It can be told.
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
        /// The figure that counted as faults: `translation_faults`, `faults`.
        faults: String,
    },
    /// It cannot.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// System time over faults.
pub(super) fn fault_cost(curve: &Curve, settings: &Settings) -> FaultCost {
    regression(curve, settings).unwrap_or_else(|why| FaultCost::Unknown { why })
}

fn regression(curve: &Curve, settings: &Settings) -> Result<FaultCost, String> {
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
    let cost = stats::unit_cost(&[pairs], settings.confidence)
        .ok_or("too few measurements, or all had equally many faults")?;
    if cost.r_squared < LEAST_EXPLAINED {
        let percent = 100.0 * cost.r_squared;
        return Err(format!("faults explain {percent:.0} % of the variance of system time"));
    }
    if cost.low <= 0.0 {
        return Err("system time does not grow with faults for certain".to_owned());
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
