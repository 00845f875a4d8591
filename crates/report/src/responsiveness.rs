//! From runs to the responsiveness matrix.

use std::collections::{BTreeMap, BTreeSet};

use model::{BASELINE, EndStatus, Header, Line, Observation, Phase, REMOTE_FACT, Run, SubjectSpec};
use stats::{bounded_quantile, median};

use crate::claim::Units;
use crate::matrix::{LowerBounds, Machine, Matrix, Row, STALL_FACTOR, Setup};
use crate::reading::{overall, reading};
use crate::unavailable::unavailable;
use crate::why_slow::{WhySlow, why_slow};

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
    let baseline = groups.first().filter(|(load, _)| load == BASELINE);
    let baseline = Units::of(baseline.map_or(&[], |(_, group)| group));
    let baseline_median =
        rows.first().filter(|row| row.load == BASELINE).and_then(|row| row.median_ns);
    for (row, (_, group)) in rows.iter_mut().zip(&groups) {
        if let Some(reference_ns) = baseline_median {
            let limit_ns = STALL_FACTOR * reference_ns;
            row.stalled = row.delays_ns.iter().filter(|delay| delay.value > limit_ns).count();
        }
        if row.load != BASELINE {
            row.ratio = Units::of(group).ratio(&baseline);
        }
        row.reading = reading(row, baseline_median);
    }
    let why_slow = |limit_ns: f64| -> Vec<WhySlow> {
        groups.iter().filter_map(|(load, group)| why_slow(load, group, limit_ns)).collect()
    };
    let headers = || runs.iter().filter_map(|run| run.header.as_ref());
    Matrix {
        setup: headers()
            .find(|header| header.spec.load.name != BASELINE)
            .or(headers().next())
            .map_or_else(Setup::default, |header| setup(header, seeds(headers()))),
        why_slow: baseline_median
            .map_or_else(Vec::new, |median_ns| why_slow(STALL_FACTOR * median_ns)),
        reading: overall(&rows),
        rows,
        warnings: warnings(runs),
        missed: unavailable(headers()),
        skipped,
    }
}

/// The seeds of all runs, each once.
pub(crate) fn seeds<'a>(headers: impl Iterator<Item = &'a Header>) -> Vec<u64> {
    headers.map(|header| header.spec.seed).collect::<BTreeSet<u64>>().into_iter().collect()
}

/// The memory that the heading tells: of a machine its own, not that of a sandbox in it.
fn memory_bytes(subject: &SubjectSpec) -> u64 {
    match subject {
        SubjectSpec::Vm(vm) => vm.machine.memory_bytes,
        other => other.memory_bytes(),
    }
}

fn machine(subject: &SubjectSpec) -> Option<Machine> {
    match subject {
        SubjectSpec::Host { .. } | SubjectSpec::Sandbox(_) => None,
        SubjectSpec::Vm(vm) => Some(Machine {
            name: vm.machine.name.clone(),
            deterministic: vm.machine.is_deterministic(),
            simulated: None,
            sandbox_bytes: vm.sandbox.as_ref().map(|sandbox| sandbox.memory_bytes),
        }),
        SubjectSpec::Mmu(mmu) => Some(Machine {
            name: mmu.machine.clone(),
            deterministic: true,
            simulated: Some(mmu.asked.clone()),
            sandbox_bytes: None,
        }),
    }
}

pub(crate) fn setup(header: &Header, seeds: Vec<u64>) -> Setup {
    let fact = |name: &str| header.environment.get(name).cloned();
    let number = |name: &str| fact(name).and_then(|text| text.parse().ok());
    Setup {
        subject: header.spec.subject.kind().to_owned(),
        remote: fact(REMOTE_FACT),
        machine: machine(&header.spec.subject),
        memory_bytes: memory_bytes(&header.spec.subject),
        cpus_milli: number("cpus_milli"),
        swap_bytes: number("swap_bytes"),
        kernel: fact("kernel"),
        probe: header.spec.measure.name().to_owned(),
        profile: header.spec.timing.profile.clone(),
        interval_ns: header.spec.timing.interval_ns,
        points: header.spec.timing.points,
        seeds,
    }
}

/// A row without what depends on the baseline.
fn row(load: &str, runs: &[&Run]) -> Row {
    let mut delays_ns: Vec<Observation> = Vec::new();
    let mut parts: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let (mut intended, mut delivered) = (0_u64, 0_u64);
    let mut totals = BTreeMap::new();
    let mut warm = true;
    for line in runs.iter().flat_map(|run| &run.lines) {
        match line {
            Line::Sample(sample) => {
                delays_ns.push(sample.delay());
                for (name, part_ns) in &sample.parts {
                    parts.entry(name).or_default().push(*part_ns as f64);
                }
            }
            Line::Histogram(record) => {
                delays_ns.extend(record.delays_ns().unwrap_or_default());
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
    let quantile = |probability| bounded_quantile(&delays_ns, probability);
    let (half, p90, max) = (quantile(0.5), quantile(0.9), quantile(1.0));
    let value = |found: Option<Observation>| found.map(|found| found.value);
    let is_bound = |found: Option<Observation>| found.is_some_and(|found| found.is_lower_bound);
    let statuses = runs.iter().map(|run| run.status());
    Row {
        load: load.to_owned(),
        version: runs[0].header.as_ref().map_or(0, |header| header.spec.load.version),
        censored: delays_ns.iter().filter(|delay| delay.is_lower_bound).count(),
        median_ns: value(half),
        p90_ns: value(p90),
        max_ns: value(max),
        lower_bounds: LowerBounds {
            median: is_bound(half),
            p90: is_bound(p90),
            max: is_bound(max),
        },
        ratio: None,
        stalled: 0,
        parts_ns: parts
            .into_iter()
            .filter_map(|(name, part)| median(&part).map(|median| (name.to_owned(), median)))
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

/// Each warning and each death once, with the loads that it belongs to.
pub(crate) fn warnings(runs: &[Run]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut doubts = Vec::new();
    let mut all_loads = BTreeSet::new();
    for run in runs {
        let Some(header) = &run.header else { continue };
        let load = header.spec.load.name.as_str();
        all_loads.insert(load);
        for line in &run.lines {
            let Some(note) = line.note() else { continue };
            match found.iter_mut().find(|(text, _)| *text == note) {
                Some((_, loads)) if loads.contains(&load) => {}
                Some((_, loads)) => loads.push(load),
                None => found.push((note, vec![load])),
            }
        }
        if run.checksum_ok == Some(false) {
            doubts.push(format!("{}: the run file was changed after the run", header.run_id));
        }
        let is_lost = |line: &&Line| matches!(line, Line::Histogram(it) if it.is_unreadable());
        match run.lines.iter().filter(is_lost).count() {
            0 => {}
            lost => doubts.push(format!("{}: {lost} histograms cannot be read", header.run_id)),
        }
    }
    let said = found.into_iter().map(|(text, loads)| match loads.len() {
        several if several > 1 && several == all_loads.len() => format!("all loads: {text}"),
        _ => format!("{}: {text}", loads.join(", ")),
    });
    said.chain(doubts).collect()
}
