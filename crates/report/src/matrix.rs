//! The responsiveness matrix: what each load does to a small interaction, against no load.

use std::collections::BTreeMap;

use model::units::format_duration;
use model::{EndStatus, Observation};
use serde::Serialize;

pub use crate::claim::{CONFIDENCE, Claim, Ratio};
use crate::why_slow::WhySlow;

/// A response is stalled if it takes more than this many times the median without load.
pub const STALL_FACTOR: f64 = 3.0;
/// A load that delivered less than this part of its dose was not delivered.
pub const DELIVERED_AT_LEAST: f64 = 0.8;

/// The result of one invocation: a row a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// What was measured where, from the header of the first run.
    pub setup: Setup,
    /// One row a load, `noload` first, then in the order in which they were run.
    pub rows: Vec<Row>,
    /// Why the slow responses under each load were slow; empty without a response under no load to
    /// tell what is slow, and of a probe of a high rate.
    pub why_slow: Vec<WhySlow>,
    /// One sentence on the whole.
    pub reading: String,
    /// Warnings of the runs, each once, with the loads that it belongs to.
    pub warnings: Vec<String>,
    /// What the runs could not have, each once.
    pub missed: Vec<String>,
    /// Loads that could not be run at all, with the reasons.
    pub skipped: BTreeMap<String, String>,
}

impl Matrix {
    /// Keeps only the slowest responses of each load, at most so many.
    pub fn keep_worst(&mut self, most: usize) {
        for load in &mut self.why_slow {
            load.worst.truncate(most);
        }
    }
}

/// What was measured where.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Setup {
    /// `host`, `sandbox`, `vm` or `mmu`.
    pub subject: String,
    /// The machine's address, if the subject was on another one (`ssh://HOST`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The machine, where the subject is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The subject's memory in bytes.
    pub memory_bytes: u64,
    /// CPU bandwidth that the subject may use, in thousandths of a CPU.
    pub cpus_milli: Option<u64>,
    /// Swap space in bytes.
    pub swap_bytes: Option<u64>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The probe.
    pub probe: String,
    /// The timing profile.
    pub profile: String,
    /// Time between two intended starts, in ns.
    pub interval_ns: u64,
    /// Intended interactions under each load.
    pub points: u32,
    /// The seeds, in ascending order.
    pub seeds: Vec<u64>,
}

/// A machine of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Whether equal inputs give equal bytes.
    pub deterministic: bool,
    /// Of a simulated machine: the settings that were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<BTreeMap<String, String>>,
    /// Memory of the sandbox inside it, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_bytes: Option<u64>,
}

/// What one load does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The load.
    pub load: String,
    /// Version of the load.
    pub version: u32,
    /// Delays in ns, from the intended start, in the order in which they were measured.
    pub delays_ns: Vec<Observation>,
    /// How many of them are censored (timed out, failed, or the probe died).
    pub censored: usize,
    /// Median delay in ns.
    pub median_ns: Option<f64>,
    /// 90 % quantile of the delays in ns (type 7: interpolated between the samples).
    pub p90_ns: Option<f64>,
    /// Longest delay in ns.
    pub max_ns: Option<f64>,
    /// Which of these three censored delays decide, so that they are lower bounds.
    #[serde(skip_serializing_if = "LowerBounds::is_none")]
    pub lower_bounds: LowerBounds,
    /// Hodges–Lehmann ratio to no load with its interval.
    pub ratio: Option<Ratio>,
    /// How many responses took more than [`STALL_FACTOR`] times the median without load.
    pub stalled: usize,
    /// Medians of the parts that the probe timed by itself, in ns.
    pub parts_ns: BTreeMap<String, f64>,
    /// What was delivered as a part of what was intended; `None` without a dose.
    pub delivered: Option<f64>,
    /// Totals of the load, with the time over which they were counted as `elapsed_ns`.
    pub totals: BTreeMap<String, u64>,
    /// Whether the load reached its warm state.
    pub warm: bool,
    /// How the runs of this load ended; the first that was not complete.
    pub status: EndStatus,
    /// What it feels like, in a line.
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
    /// Median, 90 % quantile and longest delay as texts, with `≥` before a lower bound.
    pub(crate) fn delay_texts(&self) -> [String; 3] {
        let text = |delay_ns: Option<f64>, is_bound: bool| match delay_ns {
            None => "-".to_owned(),
            Some(delay_ns) => {
                let mark = if is_bound { "≥ " } else { "" };
                format!("{mark}{}", format_duration(delay_ns as u64))
            }
        };
        let bounds = &self.lower_bounds;
        [
            text(self.median_ns, bounds.median),
            text(self.p90_ns, bounds.p90),
            text(self.max_ns, bounds.max),
        ]
    }
}
