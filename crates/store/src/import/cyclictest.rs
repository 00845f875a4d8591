//! The JSON that cyclictest of rt-tests writes (`--json=FILE`), and other rt-tests with it.
//!
//! With a histogram (`-h N`) every delay is there, cut to the whole µs (or ns, with `--nsecs`), so
//! the buckets expand to delays exactly. Delays beyond the histogram are known by their number, by
//! the limit that they passed, and by the longest of them: the others are kept as lower bounds.
//! Without a histogram there are least, mean and longest delay and nothing else.

use std::collections::BTreeMap;

use analysis::{Dataset, Trial, Values};
use model::{Environment, Observation};
use serde::Deserialize;
use serde_json::Value;

use super::folder::WHOLE_FILE;
use super::{Format, Options, Refusal, fact, json, measure, response};

/// What this file reads.
pub(super) const FORMAT: Format = Format {
    name: "cyclictest",
    looks_right: |it| it.key("thread").is_some_and(Value::is_object),
    read,
};

/// The delays of a histogram, in the word that run files have for them.
const DELAY: &str = "delay_ns";
/// Most delays that are taken from a file: they are held one by one.
const MOST_DELAYS: u64 = 20_000_000;

#[derive(Deserialize)]
struct Output {
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

#[derive(Deserialize)]
struct Thread {
    #[serde(default)]
    histogram: BTreeMap<String, u64>,
    cycles: u64,
    min: u64,
    max: u64,
    avg: f64,
}

/// What the threads' numbers mean.
struct Scale {
    /// ns in a number of the file.
    unit_ns: u64,
    /// Delays from this many units on are not in the histogram, as the command line says.
    limit: Option<u64>,
}

/// What one thread measured, in ns.
enum Found {
    Delays { samples: Vec<Observation> },
    Summary { cycles: u64, least: f64, mean: f64, longest: f64 },
}

/// The file is one trial, its threads are parts of it, and all delays together are the whole.
fn read(text: &str, _: &Options) -> Result<Dataset, Refusal> {
    let output: Output = json(text)?;
    let scale = Scale::of(&output);
    let cycles = output.thread.values().try_fold(0_u64, |sum, thread| {
        sum.checked_add(thread.cycles).filter(|sum| *sum <= MOST_DELAYS)
    });
    let with_delays =
        scale.limit.is_some() || output.thread.values().any(|it| !it.histogram.is_empty());
    if with_delays && cycles.is_none() {
        return Err(Refusal::whole(format!(
            "more than {MOST_DELAYS} delays: measure for a shorter time, or without -h for a summary"
        )));
    }
    let mut set = Dataset::default();
    let mut found: Vec<(u64, Found)> = Vec::new();
    for (key, thread) in &output.thread {
        let refused = |what: String| Refusal::whole(format!("thread {key:?}: {what}"));
        let number = key.parse().map_err(|_| refused("its name is no number".to_owned()))?;
        if thread.cycles == 0 {
            set.notes.push(format!("thread {key} made no cycle"));
            continue;
        }
        let one = match with_delays {
            true => thread.delays(&scale).map_err(refused)?,
            false => thread.summary(&scale).map_err(refused)?,
        };
        found.push((number, one));
    }
    if found.is_empty() {
        return Err(Refusal::whole("no thread made a cycle"));
    }
    found.sort_by_key(|(number, _)| *number);
    set.notes.extend(notes(&found, with_delays, scale.unit_ns));
    let values = values(&found);
    for one in &values {
        set.responses.insert(one.response.clone(), response("ns", false));
    }
    let (meaning, environment) = output.facts();
    let started = output.start_time.as_deref().and_then(moment);
    set.trials.push(Trial {
        name: WHOLE_FILE.to_owned(),
        values,
        environment,
        meaning,
        started_unix_ns: started,
        problem: output.return_code.filter(|code| *code != 0).map(|it| format!("exit code {it}")),
        ..Trial::default()
    });
    Ok(set)
}

/// A time of day as rt-tests write it (RFC 2822), in ns since 1970 UTC.
fn moment(text: &str) -> Option<u64> {
    let time = jiff::fmt::rfc2822::parse(text).ok()?;
    u64::try_from(time.timestamp().as_nanosecond()).ok()
}

impl Scale {
    fn of(output: &Output) -> Self {
        let words: Vec<&str> = output.command.iter().flat_map(|it| it.split_whitespace()).collect();
        let limit = words.iter().enumerate().find_map(|(index, word)| {
            let long = word.strip_prefix("--histogram=").or(word.strip_prefix("--histofall="));
            let value = match *word {
                "-h" | "-H" | "--histogram" | "--histofall" => words.get(index + 1).copied(),
                _ => long.or(word.strip_prefix("-h")).or(word.strip_prefix("-H")),
            };
            value?.parse().ok()
        });
        Self { unit_ns: if output.resolution_in_ns == 1 { 1 } else { 1000 }, limit }
    }

    fn ns(&self, value: u64) -> f64 {
        value as f64 * self.unit_ns as f64
    }
}

impl Output {
    /// What must be the same where outputs are compared, and facts of the system.
    fn facts(&self) -> (Environment, Environment) {
        let command = self.command.as_deref().unwrap_or("cyclictest");
        let (program, options) = command.split_once(' ').unwrap_or((command, ""));
        let tool = program.rsplit('/').next().unwrap_or(program).to_owned();
        let is_of_run = |word: &&str| !word.starts_with("--json");
        let options: Vec<&str> = options.split_whitespace().filter(is_of_run).collect();
        let mut environment = Environment::from([(format!("{tool}_options"), options.join(" "))]);
        environment.extend(self.version.clone().map(|version| ("rt_tests".to_owned(), version)));
        // The words that run files have for them.
        for (key, name) in [
            ("release", "kernel"),
            ("version", "kernel_version"),
            ("nodename", "hostname"),
            ("machine", "architecture"),
            ("realtime", "kernel_realtime"),
        ] {
            environment.extend(self.sysinfo.get(key).map(|it| (name.to_owned(), fact(it))));
        }
        (measure(&tool), environment)
    }
}

impl Thread {
    /// All delays, those beyond the histogram as lower bounds but for the longest.
    fn delays(&self, scale: &Scale) -> Result<Found, String> {
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        for (bucket, count) in &self.histogram {
            let bucket = bucket.parse().map_err(|_| format!("bucket {bucket:?} is no number"))?;
            buckets.push((bucket, *count));
        }
        buckets.sort_unstable();
        let inside = buckets.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count));
        let beyond =
            inside.and_then(|inside| self.cycles.checked_sub(inside)).ok_or_else(|| {
                format!("the histogram holds more delays than the {} cycles", self.cycles)
            })?;
        let last = buckets.iter().rev().find(|(_, count)| *count > 0).map(|(bucket, _)| *bucket);
        let passed = last.map_or(self.min, |last| last.saturating_add(1));
        let limit = scale.limit.unwrap_or(0).max(passed);
        let longest = if beyond > 0 { limit } else { last.unwrap_or(0) };
        let agrees = if beyond > 0 { self.max >= longest } else { self.max == longest };
        if !agrees {
            return Err(format!(
                "the histogram says that the longest delay is {}{longest}, and \"max\" is {}",
                if beyond > 0 { "at least " } else { "" },
                self.max
            ));
        }
        let mut samples = Vec::new();
        for (bucket, count) in buckets {
            let delay = Observation::exact(scale.ns(bucket));
            samples.extend(std::iter::repeat_n(delay, count as usize));
        }
        let passed = Observation::at_least(scale.ns(limit));
        samples.extend(std::iter::repeat_n(passed, beyond.saturating_sub(1) as usize));
        samples.extend((beyond > 0).then(|| Observation::exact(scale.ns(self.max))));
        Ok(Found::Delays { samples })
    }

    fn summary(&self, scale: &Scale) -> Result<Found, String> {
        let (least, longest) = (scale.ns(self.min), scale.ns(self.max));
        let mean = self.avg * scale.unit_ns as f64;
        // A mean is of numbers that were cut, as least and longest are.
        if !(least <= mean && mean <= longest) {
            return Err(format!(
                "\"avg\" {} is not between \"min\" {} and \"max\" {}",
                self.avg, self.min, self.max
            ));
        }
        Ok(Found::Summary { cycles: self.cycles, least, mean, longest })
    }
}

/// The values of the whole and, where there are several threads, of each of them.
fn values(found: &[(u64, Found)]) -> Vec<Values> {
    let mut values = of_whole(found);
    if found.len() > 1 {
        for (number, one) in found {
            values.extend(of_thread(Some(format!("thread {number}")), one));
        }
    }
    values
}

fn of_thread(part: Option<String>, one: &Found) -> Vec<Values> {
    match one {
        Found::Delays { samples } => {
            vec![Values { part, response: DELAY.to_owned(), samples: samples.clone() }]
        }
        Found::Summary { least, mean, longest, .. } => {
            [("average_ns", mean), ("low_ns", least), ("high_ns", longest)]
                .map(|(response, figure)| Values::exact(part.clone(), response, &[*figure]))
                .into()
        }
    }
}

fn of_whole(found: &[(u64, Found)]) -> Vec<Values> {
    let mut samples = Vec::new();
    let (mut low, mut high, mut sum, mut all) = (f64::INFINITY, 0.0_f64, 0.0, 0.0);
    for (_, one) in found {
        match one {
            Found::Delays { samples: own } => samples.extend(own),
            Found::Summary { cycles, least, mean, longest } => {
                (low, high) = (low.min(*least), high.max(*longest));
                sum += mean * *cycles as f64;
                all += *cycles as f64;
            }
        }
    }
    let whole = match samples.is_empty() {
        false => Found::Delays { samples },
        true => Found::Summary { cycles: all as u64, least: low, mean: sum / all, longest: high },
    };
    of_thread(None, &whole)
}

/// What a reader of any result must know.
fn notes(found: &[(u64, Found)], with_delays: bool, unit_ns: u64) -> Vec<String> {
    let mut notes = vec![
        "cyclictest leaves out the wake-ups that it slept through: a long stall is one delay, \
         where it should be many"
            .to_owned(),
    ];
    if !with_delays {
        notes.push(
            "no histogram, so least, mean and longest delay only: there are ratios, but no \
             intervals, no tests and no percentiles; use cyclictest -h"
                .to_owned(),
        );
        return notes;
    }
    notes.push("a histogram has no order of time: the delays stand by size".to_owned());
    if unit_ns > 1 {
        notes.push("cyclictest cuts delays to whole µs".to_owned());
    }
    let beyond: usize = found
        .iter()
        .map(|(_, one)| match one {
            Found::Delays { samples } => samples.iter().filter(|it| it.is_lower_bound).count(),
            Found::Summary { .. } => 0,
        })
        .sum();
    if beyond > 0 {
        notes.push(format!(
            "{beyond} delays lie beyond the histogram and count as its limit, which they passed; \
             use a larger -h"
        ));
    }
    notes
}
