//! The rows of the responsiveness matrix.

use std::collections::BTreeMap;

use model::{EndStatus, Observation};
use serde::Serialize;

use super::claim::Ratio;
use super::why_slow::WhySlow;
use crate::{Remarks, Setup};

/// Multiple of the median without load above which a response is stalled.
pub const STALL_FACTOR: f64 = 3.0;
/// Share of its volume below which a load was not delivered.
pub const DELIVERED_AT_LEAST: f64 = 0.8;

/// The result of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// The setup, from the header of the first run.
    pub setup: Setup,
    /// A row per load, `noload` first, then in run order.
    pub rows: Vec<Row>,
    /// Causes of slow responses; empty without `noload` and for high-rate probes.
    pub why_slow: Vec<WhySlow>,
    /// The conclusion, one sentence.
    pub reading: String,
    /// Remarks on the runs.
    #[serde(flatten)]
    pub remarks: Remarks,
}

/// The effect of one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The load.
    pub load: String,
    /// Version of the load.
    pub version: u32,
    /// Delays in ns from the intended start, in time order.
    pub delays_ns: Vec<Observation>,
    /// Number of censored delays (timed out, failed, or the probe died).
    pub censored: usize,
    /// Median delay in ns.
    pub median_ns: Option<f64>,
    /// 90 % quantile of the delays in ns (type 7: interpolated between the samples).
    pub p90_ns: Option<f64>,
    /// Longest delay in ns.
    pub max_ns: Option<f64>,
    /// Which of these three are lower bounds.
    #[serde(skip_serializing_if = "LowerBounds::is_none")]
    pub lower_bounds: LowerBounds,
    /// Hodges–Lehmann ratio to no load with its interval.
    pub ratio: Option<Ratio>,
    /// Number of stalled responses.
    pub stalled: usize,
    /// Medians of the parts timed by the probe, in ns.
    pub parts_ns: BTreeMap<String, f64>,
    /// Delivered share of the intended load volume; `None` if it has none.
    pub delivered: Option<f64>,
    /// Totals of the load, with the time counted as `elapsed_ns`.
    pub totals: BTreeMap<String, u64>,
    /// Whether the load reached its warm state.
    pub warm: bool,
    /// The first run ending that was not complete, else complete.
    pub status: EndStatus,
    /// The effect on the user, one line.
    pub reading: String,
}

/// Which figures of a row are lower bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LowerBounds {
    /// The median.
    pub median: bool,
    /// The 90 % quantile.
    pub p90: bool,
    /// The longest delay.
    pub max: bool,
}

impl LowerBounds {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Row {
    /// Median, 90 % quantile and longest delay in ns.
    pub fn quantiles_ns(&self) -> [Option<Observation>; 3] {
        let LowerBounds { median, p90, max } = self.lower_bounds;
        [(self.median_ns, median), (self.p90_ns, p90), (self.max_ns, max)].map(
            |(delay_ns, is_lower_bound)| Some(Observation { value: delay_ns?, is_lower_bound }),
        )
    }

    /// Share of stalled responses.
    pub fn stalled_share(&self) -> Option<f64> {
        let count = self.delays_ns.len();
        (count > 0).then(|| self.stalled as f64 / count as f64)
    }
}
