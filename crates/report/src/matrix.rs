//! The responsiveness matrix: what each load does to a small interaction, against no load.

use std::collections::BTreeMap;

use model::{EndStatus, Header, Line, Phase, Run, histogram};
use serde::Serialize;
use stats::{hodges_lehmann_ratio, median, quantile};

pub use crate::matrix_resp1::{VerboseLine, resp1_table, verbose_lines};
pub use crate::matrix_text::text;
use crate::reading::{overall, reading};

/// Name of the load that everything is compared with.
pub const BASELINE: &str = "noload";
/// A response is stalled if it takes more than this many times the median without load.
pub const STALL_FACTOR: f64 = 3.0;
/// Confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;
/// A load that delivered less than this part of its dose was not delivered.
pub const DELIVERED_AT_LEAST: f64 = 0.8;

/// The result of one invocation: a row a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// What was measured where, from the header of the first run.
    pub setup: Setup,
    /// One row a load, `noload` first, then in the order in which they were run.
    pub rows: Vec<Row>,
    /// One sentence on the whole.
    pub reading: String,
    /// Warnings of the runs, each once, with the load it belongs to.
    pub warnings: Vec<String>,
    /// What the runs could not have, each once.
    pub missed: Vec<String>,
    /// Loads that could not be run at all, with the reasons.
    pub skipped: BTreeMap<String, String>,
}

/// What was measured where.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Setup {
    /// `host` or `sandbox`.
    pub subject: String,
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
    /// The seed.
    pub seed: u64,
}

/// What one load does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The load.
    pub load: String,
    /// Version of the load.
    pub version: u32,
    /// Delays in ns, from the intended start, in the order in which they were measured; a
    /// censored sample counts with its lower bound.
    pub delays_ns: Vec<f64>,
    /// How many of them are censored (timed out, failed, or the probe died).
    pub censored: usize,
    /// Median delay in ns.
    pub median_ns: Option<f64>,
    /// 90 % quantile of the delays in ns (type 7: interpolated between the samples).
    pub p90_ns: Option<f64>,
    /// Longest delay in ns.
    pub max_ns: Option<f64>,
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

/// A ratio of delays with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Hodges–Lehmann estimate: the median of all ratios of a delay under load to one without.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence that the interval has, which is less than asked for where there are too few
    /// samples.
    pub confidence: f64,
}

/// Makes the matrix from the runs of one invocation. Runs without a header (killed before they
/// began) are left out.
#[must_use]
pub fn analyse(runs: &[Run], skipped: BTreeMap<String, String>) -> Matrix {
    let mut groups: Vec<(String, Vec<&Run>)> = Vec::new();
    for run in runs {
        let Some(header) = &run.header else { continue };
        let name = &header.spec.load.name;
        match groups.iter_mut().find(|(load, _)| load == name) {
            Some((_, group)) => group.push(run),
            None => groups.push((name.clone(), vec![run])),
        }
    }
    groups.sort_by_key(|(load, _)| load != BASELINE);
    let mut rows: Vec<Row> = groups.iter().map(|(load, group)| row(load, group)).collect();
    let baseline = rows
        .first()
        .filter(|row| row.load == BASELINE)
        .map_or(Vec::new(), |row| row.delays_ns.clone());
    let baseline_median = median(&baseline);
    for row in &mut rows {
        if let Some(reference_ns) = baseline_median {
            let limit_ns = STALL_FACTOR * reference_ns;
            row.stalled = row.delays_ns.iter().filter(|delay| **delay > limit_ns).count();
        }
        if row.load != BASELINE {
            row.ratio = hodges_lehmann_ratio(&baseline, &positive(&row.delays_ns), CONFIDENCE).map(
                |found| Ratio {
                    ratio: found.ratio,
                    low: found.low,
                    high: found.high,
                    confidence: found.confidence_attained,
                },
            );
        }
        row.reading = reading(row, baseline_median);
    }
    let headers = || runs.iter().filter_map(|run| run.header.as_ref());
    Matrix {
        setup: headers()
            .find(|header| header.spec.load.name != BASELINE)
            .or(headers().next())
            .map_or_else(Setup::default, setup),
        reading: overall(&rows),
        rows,
        warnings: warnings(runs),
        missed: missed(headers()),
        skipped,
    }
}

fn setup(header: &Header) -> Setup {
    let fact = |name: &str| header.environment.get(name).cloned();
    let number = |name: &str| fact(name).and_then(|text| text.parse().ok());
    Setup {
        subject: header.spec.subject.kind().to_owned(),
        memory_bytes: header.spec.subject.memory_bytes(),
        cpus_milli: number("cpus_milli"),
        swap_bytes: number("swap_bytes"),
        kernel: fact("kernel"),
        probe: header.spec.probe.name.clone(),
        profile: header.spec.timing.profile.clone(),
        interval_ns: header.spec.timing.interval_ns,
        points: header.spec.timing.points,
        seed: header.spec.seed,
    }
}

/// A row without what depends on the baseline.
fn row(load: &str, runs: &[&Run]) -> Row {
    let mut delays_ns = Vec::new();
    let mut parts: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut censored = 0;
    let (mut intended, mut delivered) = (0_u64, 0_u64);
    let mut totals = BTreeMap::new();
    let mut warm = true;
    for line in runs.iter().flat_map(|run| &run.lines) {
        match line {
            Line::Sample(sample) => {
                delays_ns.push(sample.delay_ns() as f64);
                censored += usize::from(sample.completed_ns.is_none());
                for (name, part_ns) in &sample.parts {
                    parts.entry(name.clone()).or_default().push(*part_ns as f64);
                }
            }
            Line::Histogram(record) => {
                let found = histogram::decode(&record.hdr_v2_base64).unwrap_or_default();
                delays_ns.extend(found.into_iter().map(|delay_ns| delay_ns as f64));
            }
            Line::Delivered(dose) => {
                intended = intended.saturating_add(dose.intended);
                delivered = delivered.saturating_add(dose.delivered);
                add(&mut totals, "elapsed_ns", dose.elapsed_ns);
                for (name, amount) in &dose.totals {
                    add(&mut totals, name, *amount);
                }
            }
            Line::Phase(record) if record.phase == Phase::NotWarm => warm = false,
            _ => {}
        }
    }
    let statuses = runs.iter().map(|run| run.status());
    Row {
        load: load.to_owned(),
        version: runs[0].header.as_ref().map_or(0, |header| header.spec.load.version),
        censored,
        median_ns: median(&delays_ns),
        p90_ns: quantile(&delays_ns, 0.9),
        max_ns: quantile(&delays_ns, 1.0),
        ratio: None,
        stalled: 0,
        parts_ns: parts
            .into_iter()
            .filter_map(|(name, part)| median(&part).map(|median| (name, median)))
            .collect(),
        delivered: (intended > 0).then(|| delivered as f64 / intended as f64),
        totals,
        warm,
        status: statuses
            .clone()
            .find(|status| *status != EndStatus::Complete)
            .unwrap_or(EndStatus::Complete),
        reading: String::new(),
        delays_ns,
    }
}

fn add(totals: &mut BTreeMap<String, u64>, name: &str, amount: u64) {
    let total = totals.entry(name.to_owned()).or_insert(0);
    *total = total.saturating_add(amount);
}

/// Delays as a ratio can use them: 0 (a wake-up within the clock's step) counts as 1 ns.
fn positive(delays_ns: &[f64]) -> Vec<f64> {
    delays_ns.iter().map(|delay_ns| delay_ns.max(1.0)).collect()
}

fn warnings(runs: &[Run]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for run in runs {
        let Some(header) = &run.header else { continue };
        for line in &run.lines {
            let Line::Warning(warning) = line else { continue };
            let load = &header.spec.load.name;
            let text = format!("{load}: {}", warning.text);
            let said = found.iter().any(|other| other.ends_with(&format!(": {}", warning.text)));
            if !said {
                found.push(text);
            }
        }
        if run.checksum_ok == Some(false) {
            found.push(format!("{}: the run file was changed after the run", header.run_id));
        }
    }
    found
}

fn missed<'a>(headers: impl Iterator<Item = &'a Header>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for miss in headers.flat_map(|header| &header.missed) {
        let text = format!("{}: {}", miss.capability, miss.reason);
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}
