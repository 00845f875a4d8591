//! Results of lkp-tests: `stats.json` of a run, `matrix.json` of a run or of a result root.
//!
//! The matrix of a result root has one column per run; `stats_source` lists their files. A matrix
//! without it is of one run, with what was sampled during that run. The reader takes the
//! benchmark's keys whose direction is known; monitors have thousands of others.

mod folder;

use std::collections::BTreeMap;
use std::path::Path;

use analysis::{Dataset, Direction, listed};
use model::{Environment, Observation};
use serde_json::{Map, Value};

pub(crate) use self::folder::files;
use crate::dataset::{Imported, Options, Refusal, json, measure};
use crate::measurement::{ForeignMeasurement, ForeignTrial, TrialOutcome, WHOLE_FILE};
use crate::results::ForeignResults;

const SOURCE: &str = "stats_source";
/// Where result roots are.
const RESULTS: &str = "/result/";
const STATS_FILE: &str = "/stats.json";

/// Unit and direction of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Meaning {
    unit: &'static str,
    direction: Direction,
}

/// Endings of a benchmark's keys: unit, and whether more is better; the first match counts.
const ENDINGS: [(&str, &str, bool); 32] = [
    ("MBps", "MB/s", true),
    ("MB/s", "MB/s", true),
    ("MB/sec", "MB/s", true),
    ("MB_per_sec", "MB/s", true),
    ("KBps", "KB/s", true),
    ("Mbps", "Mbit/s", true),
    ("Kbps", "kbit/s", true),
    ("kbps_in", "kbit/s", true),
    ("kbps_out", "kbit/s", true),
    ("bps", "bit/s", true),
    ("GFlops", "Gflop/s", true),
    ("Tflops", "Tflop/s", true),
    ("_ops", "/s", true),
    ("_iops", "/s", true),
    ("_tps", "/s", true),
    (".tps", "/s", true),
    ("_rps", "/s", true),
    ("per_sec", "/s", true),
    ("per_second", "/s", true),
    ("/s", "/s", true),
    ("/sec", "/s", true),
    ("jobs-per-min", "/min", true),
    ("jobs_per_min", "/min", true),
    ("score", "", true),
    ("scalability", "", true),
    ("-jOPS", "", true),
    ("_per_iteration", "s", false),
    ("seconds", "s", false),
    ("elapsed_time", "s", false),
    ("_ns", "ns", false),
    ("_us", "us", false),
    ("_ms", "ms", false),
];

/// Keys whose ending does not show their unit and direction.
const KEYS: [(&str, &str, bool); 3] = [
    ("vm-scalability.median", "", true),
    ("fsmark.app_overhead", "us", false),
    ("exit-free.duration", "", false),
];

/// Programs that observe the system or the run during a benchmark.
const MONITORS: [&str; 44] = [
    "boot-meminfo",
    "boot-memory",
    "boot-slabinfo",
    "boot-time",
    "buddyinfo",
    "cpufreq",
    "cpuidle",
    "diskstats",
    "dmesg",
    "ftrace",
    "gpu-usage",
    "interrupts",
    "iostat",
    "irq_exception_noise",
    "kmemleak",
    "kmsg",
    "last_state",
    "latency_stats",
    "lock_stat",
    "meminfo",
    "mpstat",
    "nfsstat",
    "numa-meminfo",
    "numa-numastat",
    "numa-vmstat",
    "pagetypeinfo",
    "perf-c2c",
    "perf-node",
    "perf-profile",
    "perf-sched",
    "perf-stat",
    "pmeter",
    "proc-stat",
    "proc-vmstat",
    "sched_debug",
    "schedstat",
    "slabinfo",
    "softirqs",
    "stderr",
    "syscalls",
    "time",
    "turbostat",
    "uptime",
    "vmstat",
];

/// Keys that are not 0 if the run failed.
const FAILURES: [&str; 2] = ["last_state.exit_fail", "last_state.is_incomplete_run"];

/// Where lkp-tests keeps the facts of a run in the path of its folder, last component first.
const PATH_FACTS: [&str; 5] = ["commit", "compiler", "kconfig", "rootfs", "testbox"];

/// Whether this has the shape of `stats.json` or `matrix.json`.
pub(super) fn looks_right(value: &Value) -> bool {
    let Some(map) = value.as_object() else { return false };
    let is_figure = |(key, value): (&String, &Value)| {
        let is_list = value.as_array().is_some_and(|list| list.iter().all(Value::is_number));
        key.contains('.') && (value.is_number() || is_list)
    };
    map.get(SOURCE).is_some_and(Value::is_array)
        || (!map.is_empty() && map.iter().filter(|(key, _)| *key != SOURCE).all(is_figure))
}

/// Every run is a trial.
pub(super) fn read(text: &str, options: &Options) -> Imported {
    let map: Map<String, Value> = json(text)?;
    let runs = runs(&map)?;
    let mut columns = BTreeMap::new();
    for (key, value) in map.iter().filter(|(key, _)| *key != SOURCE) {
        columns.insert(key.as_str(), figures(key, value, runs.as_ref().map(Vec::len))?);
    }
    let failed = |run: usize| {
        let is_set = |key: &&&str| {
            let column = columns.get(**key);
            let figures = column.and_then(|column| column.get(run));
            figures.is_some_and(|figures| figures.iter().any(|it| *it != 0.0))
        };
        FAILURES.iter().find(is_set)
    };
    let count = runs.as_ref().map_or(1, Vec::len);
    let all_failed = (0..count).all(|run| failed(run).is_some());
    let wanted = wanted(&columns, options, all_failed)?;
    let mut results = ForeignResults::default();
    let mut omitted = BTreeMap::new();
    for run in 0..count {
        let path = runs.as_ref().map(|runs| runs[run]);
        let name = path.map_or(WHOLE_FILE, |path| path.strip_suffix(STATS_FILE).unwrap_or(path));
        let mut trial = ForeignTrial::of_file(name, [], Vec::new());
        // Every run of a result root is a session.
        trial.session = None;
        trial.meaning = measure("lkp");
        if let Some(path) = path {
            (trial.environment, trial.meaning) = of_path(path, trial.meaning.clone());
        }
        for (key, meaning) in &wanted {
            let Some(figures) = columns[key].get(run) else { continue };
            // A result root has one figure per run, and 0 where a run had none.
            if path.is_some() && figures == &[0.0] {
                *omitted.entry(*key).or_insert(0) += 1;
            } else if !figures.is_empty() {
                let values = figures.iter().copied().map(Observation::exact).collect();
                let Meaning { unit, direction } = meaning;
                trial.measurements.push(ForeignMeasurement::values(*key, unit, *direction, values));
            }
        }
        // An incomplete run lost its end, but not the figures that it has.
        trial.problem = failed(run).map(|key| format!("{key} is set: the run failed"));
        let is_lost = |key: &&str| *key == FAILURES[0] || trial.measurements.is_empty();
        if let Some(key) = failed(run).filter(|key| is_lost(key)) {
            trial.outcome = TrialOutcome::Failed(format!("{key} is set"));
            trial.problem = None;
        }
        results.trials.push(trial);
    }
    results.notes = notes(columns.len() - wanted.len(), omitted, &wanted);
    results.finish(options)
}

/// The files that the columns come from; `None` if the file is of one run.
fn runs(map: &Map<String, Value>) -> Result<Option<Vec<&str>>, Refusal> {
    let Some(Value::Array(sources)) = map.get(SOURCE) else { return Ok(None) };
    if sources.is_empty() {
        return Err(Refusal::whole("\"stats_source\" is empty: no run"));
    }
    let path = |(index, source)| {
        let reason = || format!("\"stats_source\", entry {}: not a path", index + 1);
        Value::as_str(source).ok_or_else(|| Refusal::whole(reason()))
    };
    sources.iter().enumerate().map(path).collect::<Result<_, _>>().map(Some)
}

/// The figures of a key, a list per run; runs at the end may lack them.
fn figures(key: &str, value: &Value, runs: Option<usize>) -> Result<Vec<Vec<f64>>, Refusal> {
    let list = match value {
        Value::Array(list) => list.as_slice(),
        single => std::slice::from_ref(single),
    };
    let number = |(index, value): (usize, &Value)| {
        let found = value.as_f64().filter(|number| number.is_finite());
        found.ok_or_else(|| {
            Refusal::whole(format!("{key:?}, value {}: {value} is not a number", index + 1))
        })
    };
    let numbers: Vec<f64> = list.iter().enumerate().map(number).collect::<Result<_, _>>()?;
    match runs {
        None => Ok(vec![numbers]),
        Some(runs) if numbers.len() > runs => Err(Refusal::whole(format!(
            "{key:?} has {} values, but \"stats_source\" lists {runs} runs",
            numbers.len()
        ))),
        Some(_) => Ok(numbers.into_iter().map(|number| vec![number]).collect()),
    }
}

/// The keys to take: those that were named, else those of the benchmark with a known direction.
fn wanted<'a>(
    columns: &BTreeMap<&'a str, Vec<Vec<f64>>>,
    options: &Options,
    may_be_empty: bool,
) -> Result<BTreeMap<&'a str, Meaning>, Refusal> {
    let is_named = |key: &str| options.responses.iter().any(|named| named == key);
    let found: BTreeMap<&str, Meaning> = match options.responses.is_empty() {
        true => columns.keys().filter_map(|key| Some((*key, meaning(key)?))).collect(),
        false => {
            let named = columns.keys().filter(|key| is_named(key));
            named.map(|key| (*key, meaning(key).unwrap_or_default())).collect()
        }
    };
    if !found.is_empty() || may_be_empty {
        return Ok(found);
    }
    Err(Refusal::whole(match options.responses.is_empty() {
        true => {
            let of_benchmark: Vec<&str> =
                columns.keys().copied().filter(|key| is_of_benchmark(key)).take(5).collect();
            let of_benchmark = match of_benchmark.is_empty() {
                true => "it has only keys of monitors".to_owned(),
                false => format!("it has {} and others", of_benchmark.join(", ")),
            };
            format!(
                "no key of a benchmark of which it is known whether more is better: {of_benchmark}; \
                 name keys with import --response"
            )
        }
        false => format!("no key is named {}", listed(&options.responses)),
    }))
}

/// Whether a key is of a benchmark: not of a monitor, nor of time(1) around the benchmark.
fn is_of_benchmark(key: &str) -> bool {
    let Some((program, rest)) = key.split_once('.') else { return false };
    let doubtful = ["error", "fail", "stddev"];
    !MONITORS.contains(&program)
        && !rest.starts_with("time.")
        && !doubtful.iter().any(|word| rest.contains(word))
}

/// Unit and direction of a benchmark's key, if known.
fn meaning(key: &str) -> Option<Meaning> {
    if !is_of_benchmark(key) {
        return None;
    }
    let whole = KEYS.iter().find(|(known, ..)| *known == key);
    let known = whole.or_else(|| ENDINGS.iter().find(|(ending, ..)| key.ends_with(ending)));
    if let Some((_, unit, more_is_better)) = known {
        return Some(Meaning { unit, direction: Direction::from_more(*more_is_better) });
    }
    let directions = [("throughput", true), ("bandwidth", true), ("latency", false)];
    let direction = directions.into_iter().find(|(word, _)| key.contains(word));
    direction.map(|(_, more_is_better)| Meaning {
        unit: "",
        direction: Direction::from_more(more_is_better),
    })
}

/// Adds what the path of the folder shows to runs whose files do not have their paths.
pub fn add_path_facts(set: &mut Dataset, folder: &Path) {
    let lkp = measure("lkp");
    for trial in set.trials.iter_mut().filter(|trial| trial.meaning == lkp) {
        let path = folder.join(&trial.name).to_string_lossy().into_owned();
        let below = path.rfind(RESULTS).map(|at| &path[at..]);
        if let Some(path) = below {
            (trial.environment, trial.meaning) = of_path(path, lkp.clone());
        }
    }
}

/// The facts in a run's path, `/result/TEST/PARAMETERS/TESTBOX/ROOTFS/KCONFIG/COMPILER/COMMIT/N`,
/// and what compared runs must share.
fn of_path(path: &str, mut meaning: Environment) -> (Environment, Environment) {
    let mut facts = Environment::new();
    let below = path.strip_suffix(STATS_FILE).and_then(|it| it.strip_prefix(RESULTS));
    let parts: Vec<&str> = below.map(|it| it.split('/').collect()).unwrap_or_default();
    if let [test, parameters, facts_of_run @ .., _run] = parts.as_slice()
        && facts_of_run.len() == PATH_FACTS.len()
    {
        meaning.insert("lkp_test".to_owned(), format!("{test}/{parameters}"));
        let named = PATH_FACTS.iter().zip(facts_of_run.iter().rev());
        facts.extend(named.map(|(name, fact)| (format!("lkp_{name}"), (*fact).to_owned())));
    }
    (facts, meaning)
}

fn notes(
    others: usize,
    omitted: BTreeMap<&str, usize>,
    taken: &BTreeMap<&str, Meaning>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if others > 0 {
        notes.push(
            "only keys of the benchmark whose direction is known are taken: import --response KEY \
             shows others"
                .to_owned(),
        );
    }
    let unknown = taken.iter().filter(|(_, meaning)| meaning.direction == Direction::Unknown);
    let unknown: Vec<&str> = unknown.map(|(key, _)| *key).collect();
    if !unknown.is_empty() {
        notes.push(format!("it is unknown whether more is better: {}", listed(&unknown)));
    }
    notes.extend(omitted.into_iter().map(|(key, runs)| {
        format!("{key}: 0 in {runs} runs left out, since lkp-tests writes 0 for a missing value")
    }));
    notes
}
