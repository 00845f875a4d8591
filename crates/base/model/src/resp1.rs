//! A result of the resp1 response benchmark, in one of its two printed formats.

use serde::{Deserialize, Serialize};

/// Name of the row that all ratios are relative to.
pub const NOLOAD: &str = crate::BASELINE;

/// The loads of the published resp1 results, in order. Other names are allowed.
pub const TESTS: [&str; 7] =
    [NOLOAD, "smallwrite", "largewrite", "cpuload", "spawnload", "8ctx-mem", "2ctx-mem"];

/// Which of the two printed formats a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resp1Format {
    /// low, high, median, average, S.D. **in seconds**, ratio.
    First,
    /// low, high, median, average, raw ratio, ratio of the 1-S.D. averages.
    Second,
}

/// One resp1 result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resp1Table {
    /// Number of CPUs; `None` if not printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Size of memory, in MB as printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u64>,
    /// Minimum number of interactions per load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_points: Option<u32>,
    /// Time between two interactions, in s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_s: Option<f64>,
    /// Which columns the rows have.
    pub format: Resp1Format,
    /// One row per load, in printed order.
    pub rows: Vec<Resp1Row>,
    /// All other nonblank printed lines (verbose output, a file name, …), in order.
    pub extras: Vec<String>,
}

/// The delays under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resp1Row {
    /// Name of the load, without blanks.
    pub test: String,
    /// Shortest delay, in ms.
    pub low_ms: f64,
    /// Longest delay, in ms.
    pub high_ms: f64,
    /// Median of the delays, in ms.
    pub median_ms: f64,
    /// Mean of the delays, in ms.
    pub average_ms: f64,
    /// Standard deviation of the delays, **in s** (the other columns are ms); first format only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_s: Option<f64>,
    /// `average / average(noload)`.
    pub ratio_raw: f64,
    /// `a / a(noload)`, `a` the mean delay within 1 S.D. of the median; second format only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_sd: Option<f64>,
}

impl Resp1Table {
    /// The row that all ratios are relative to; `None` in a truncated table.
    pub fn noload(&self) -> Option<&Resp1Row> {
        self.row(NOLOAD)
    }

    /// The row of the load `test`.
    pub fn row(&self, test: &str) -> Option<&Resp1Row> {
        self.rows.iter().find(|row| row.test == test)
    }
}
