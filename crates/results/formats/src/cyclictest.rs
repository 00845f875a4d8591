//! The JSON of cyclictest and other rt-tests (`--json=FILE`); see `docs/exchange.md`.

use std::collections::BTreeMap;

use analysis::Direction::LessIsBetter;
use model::{Environment, Observation};
use serde::Deserialize;
use serde_json::Value;

use crate::dataset::{Imported, Options, Refusal, fact, facts, json, measure, unix_ns};
use crate::measurement::{ForeignMeasurement, ForeignTrial, TrialOutcome, WHOLE_FILE};
use crate::results::ForeignResults;

const DELAY: &str = "delay_ns";
/// Most delays of a file; cyclictest runs for years until it has more.
const MOST_DELAYS: u64 = 1_000_000_000_000;
/// Most delays that are held: of more, equally many are represented by each one.
const MOST_HELD: u64 = 100_000;

#[derive(Default, Deserialize)]
pub(super) struct Output {
    // Both keys end in a colon up to rt-tests 2.4 at least.
    #[serde(rename = "cmdline:", alias = "cmdline")]
    command: Option<String>,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version")]
    version: Option<String>,
    start_time: Option<String>,
    return_code: Option<i64>,
    #[serde(default)]
    resolution_in_ns: u64,
    #[serde(default)]
    sysinfo: BTreeMap<String, Value>,
    thread: BTreeMap<String, Thread>,
}

#[derive(Default, Deserialize)]
pub(super) struct Thread {
    #[serde(default)]
    pub(super) histogram: BTreeMap<String, u64>,
    pub(super) cycles: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) avg: f64,
}

/// A thread's measurements, in ns; samples only with a histogram.
struct Measured {
    cycles: f64,
    least: f64,
    mean: f64,
    longest: f64,
    samples: Vec<Observation>,
    /// The number of delays beyond the histogram.
    beyond: u64,
}

/// The file is one trial, threads are its parts, and all delays together the whole.
pub(super) fn read(text: &str, options: &Options) -> Imported {
    let output: Output = json(text)?;
    observations(output, options)
}

/// The observations of an output, of JSON or text.
pub(super) fn observations(output: Output, options: &Options) -> Imported {
    let unit_ns = if output.resolution_in_ns == 1 { 1 } else { 1000 };
    let limit = output.limit();
    let cycles = output.thread.values().try_fold(0_u64, |sum, thread| {
        sum.checked_add(thread.cycles).filter(|sum| *sum <= MOST_DELAYS)
    });
    let with_delays = limit.is_some() || output.thread.values().any(|it| !it.histogram.is_empty());
    if with_delays && cycles.is_none() {
        return Err(Refusal::whole(format!(
            "more than {MOST_DELAYS} delays: measure for a shorter time, or without -h for a summary"
        )));
    }
    let mut results = ForeignResults::default();
    let each = cycles.unwrap_or(0).div_ceil(MOST_HELD).max(1);
    let mut found: Vec<(u64, Measured)> = Vec::new();
    for (key, thread) in &output.thread {
        let refused = |what: String| Refusal::whole(format!("thread {key:?}: {what}"));
        let number = key.parse().map_err(|_| refused("its name is not a number".to_owned()))?;
        if thread.cycles == 0 {
            results.notes.push(format!("thread {key} completed no cycle"));
            continue;
        }
        let limit = with_delays.then_some(limit.unwrap_or(0));
        found.push((number, thread.found(unit_ns as f64, limit, each).map_err(refused)?));
    }
    if found.is_empty() {
        return Err(Refusal::whole("no thread completed a cycle"));
    }
    found.sort_by_key(|(number, _)| *number);
    let whole = Measured::of_all(&found);
    let mut measurements = whole.measurements(None);
    for (number, one) in found.iter().filter(|_| found.len() > 1) {
        measurements.extend(one.measurements(Some(format!("thread {number}"))));
    }
    results.notes.extend(notes(&whole, unit_ns, each));
    let mut trial = ForeignTrial::of_file(WHOLE_FILE, [], measurements);
    (trial.meaning, trial.environment) = output.facts();
    // RFC 2822.
    let started = output.start_time.and_then(|it| jiff::fmt::rfc2822::parse(&it).ok());
    trial.started_unix_ns = started.and_then(|time| unix_ns(time.timestamp()));
    if let Some(code) = output.return_code.filter(|code| *code != 0) {
        trial.outcome = TrialOutcome::Failed(format!("exit code {code}"));
    }
    results.trials.push(trial);
    results.finish(options)
}

impl Output {
    /// An output that has nothing but its threads, and the options if they are known.
    pub(super) fn of_threads(thread: BTreeMap<String, Thread>, command: Option<String>) -> Self {
        Self { thread, command, ..Self::default() }
    }

    /// The histogram's upper end, from the command line.
    fn limit(&self) -> Option<u64> {
        let words: Vec<&str> = self.command.as_deref()?.split_whitespace().collect();
        words.iter().enumerate().find_map(|(index, word)| {
            let long = word.strip_prefix("--histogram=").or(word.strip_prefix("--histofall="));
            let value = match *word {
                "-h" | "-H" | "--histogram" | "--histofall" => words.get(index + 1).copied(),
                _ => long.or(word.strip_prefix("-h")).or(word.strip_prefix("-H")),
            };
            value?.parse().ok()
        })
    }

    /// The measure, and facts of the system.
    fn facts(&self) -> (Environment, Environment) {
        let command = self.command.as_deref().unwrap_or("cyclictest");
        let (program, options) = command.split_once(' ').unwrap_or((command, ""));
        let tool = program.rsplit('/').next().unwrap_or(program).to_owned();
        let is_of_run = |word: &&str| !word.starts_with("--json");
        let options: Vec<&str> = options.split_whitespace().filter(is_of_run).collect();
        let told = |key: &str| self.sysinfo.get(key).map(fact);
        let environment = facts([
            (
                format!("{tool}_options").as_str(),
                Some(options.join(" ")).filter(|options| !options.is_empty()),
            ),
            ("rt_tests", self.version.clone()),
            // As in run files.
            ("kernel", told("release")),
            ("kernel_version", told("version")),
            ("hostname", told("nodename")),
            ("architecture", told("machine")),
            ("kernel_realtime", told("realtime")),
        ]);
        (measure(&tool), environment)
    }
}

impl Thread {
    /// With individual delays if the histogram has a limit.
    fn found(&self, unit_ns: f64, limit: Option<u64>, each: u64) -> Result<Measured, String> {
        let (least, longest) = (self.min as f64 * unit_ns, self.max as f64 * unit_ns);
        let (cycles, mean) = (self.cycles as f64, self.avg * unit_ns);
        let samples = match limit {
            Some(limit) => self.delays(unit_ns, limit, each)?,
            // All three were truncated.
            None if !(least <= mean && mean <= longest) => {
                return Err(format!(
                    "\"avg\" {} is not between \"min\" {} and \"max\" {}",
                    self.avg, self.min, self.max
                ));
            }
            None => Vec::new(),
        };
        let beyond = self.cycles.saturating_sub(self.histogram.values().sum());
        Ok(Measured { cycles, least, mean, longest, samples, beyond })
    }

    /// The delays in order, of which each one represents as many as `each`, and one represents a
    /// thread that has fewer. Those beyond the histogram are lower bounds, except the longest.
    fn delays(&self, unit_ns: f64, limit: u64, each: u64) -> Result<Vec<Observation>, String> {
        let bucket = |(bucket, count): (&String, &u64)| match bucket.parse::<u64>() {
            Ok(number) => Ok((number, *count)),
            Err(_) => Err(format!("bucket {bucket:?} is not a number")),
        };
        let mut buckets = self.histogram.iter().map(bucket).collect::<Result<Vec<_>, _>>()?;
        buckets.sort_unstable();
        let inside = buckets.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count));
        let beyond =
            inside.and_then(|inside| self.cycles.checked_sub(inside)).ok_or_else(|| {
                format!("the histogram holds more delays than the {} cycles", self.cycles)
            })?;
        let last = buckets.iter().rev().find(|(_, count)| *count > 0).map(|(bucket, _)| *bucket);
        let passed = last.map_or(self.min, |last| last.saturating_add(1));
        let limit = limit.max(passed);
        let longest = if beyond > 0 { limit } else { last.unwrap_or(0) };
        let agrees = if beyond > 0 { self.max >= longest } else { self.max == longest };
        if !agrees {
            return Err(format!(
                "the longest delay is {}{longest} in the histogram, but {} in \"max\"",
                if beyond > 0 { "at least " } else { "" },
                self.max
            ));
        }
        let exact = |value: u64| Observation::exact(value as f64 * unit_ns);
        let passed = (Observation::at_least(limit as f64 * unit_ns), beyond.saturating_sub(1));
        let inside = buckets.into_iter().map(|(bucket, count)| (exact(bucket), count));
        let mut samples: Vec<Observation> = Vec::new();
        let each = each.min(self.cycles);
        let mut before = 0_u64;
        for (delay, count) in inside.chain([passed]) {
            // Held are those in the middle of their group in the order of all delays.
            let held = |position: u64| (position + each - 1 - each / 2) / each;
            let count_held = held(before + count) - held(before);
            samples.extend(std::iter::repeat_n(delay, count_held as usize));
            before += count;
        }
        samples.extend((beyond > 0).then(|| exact(self.max)));
        Ok(samples)
    }
}

impl Measured {
    fn of_all(found: &[(u64, Self)]) -> Self {
        let all = || found.iter().map(|(_, one)| one);
        let cycles = all().map(|one| one.cycles).sum();
        Self {
            cycles,
            least: all().map(|one| one.least).fold(f64::INFINITY, f64::min),
            mean: all().map(|one| one.mean * one.cycles).sum::<f64>() / cycles,
            longest: all().map(|one| one.longest).fold(0.0, f64::max),
            samples: all().flat_map(|one| &one.samples).copied().collect(),
            beyond: all().map(|one| one.beyond.saturating_sub(1)).sum(),
        }
    }

    fn measurements(&self, part: Option<String>) -> Vec<ForeignMeasurement> {
        let figure = |(name, value)| ForeignMeasurement::figure(name, "ns", LessIsBetter, value);
        let all = match self.samples.is_empty() {
            false => {
                let samples = self.samples.clone();
                vec![ForeignMeasurement::values(DELAY, "ns", LessIsBetter, samples)]
            }
            true => [("average_ns", self.mean), ("low_ns", self.least), ("high_ns", self.longest)]
                .map(figure)
                .into(),
        };
        all.into_iter().map(|one| ForeignMeasurement { part: part.clone(), ..one }).collect()
    }
}

fn notes(whole: &Measured, unit_ns: u64, each: u64) -> Vec<String> {
    let beyond = if whole.samples.is_empty() { 0 } else { whole.beyond };
    let text = |text: &str| Some(text.to_owned());
    let told = [
        text(
            "cyclictest leaves out the wake-ups that it slept through: a long stall is one delay, \
             where it should be many",
        ),
        text(match whole.samples.is_empty() {
            true => {
                "no histogram, so minimum, mean and maximum delay only: there are ratios, but no \
                 intervals, no tests and no percentiles; use cyclictest -h"
            }
            false => "a histogram has no order in time: the delays are sorted by size",
        }),
        text("cyclictest cuts delays to whole µs")
            .filter(|_| unit_ns > 1 && !whole.samples.is_empty()),
        (each > 1 && !whole.samples.is_empty()).then(|| {
            format!("{} delays are represented by every {each}th of them in order", whole.cycles)
        }),
        (beyond > 0).then(|| {
            format!(
                "{beyond} delays lie beyond the histogram and count as its limit, which they \
                 passed; use a larger -h"
            )
        }),
    ];
    told.into_iter().flatten().collect()
}
