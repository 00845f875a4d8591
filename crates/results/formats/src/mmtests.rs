//! Results of MMTests: the logs of its benchmarks in `RUN/iter-N/BENCHMARK/logs`.
//!
//! Benchmark and case (threads, groups, clients) are factors. A trial is an iteration of the
//! benchmark; what is measured several times within one execution are samples of one trial.

mod folder;
mod logs;
mod reading;
mod storage;

use std::collections::BTreeMap;

use analysis::{Dataset, Direction, Ending, Response, Trial, Values, listed};
use model::Environment;

pub use self::folder::{Results, is_results, read_results};
use self::logs::{LOGS, of_benchmark};
use crate::copies;
use crate::dataset::{self, Options, Refusal, add, measure, varied};
use crate::measurement::{ForeignMeasurement, ForeignTrial};

const BENCHMARK: &str = "benchmark";
const CASE: &str = "case";
/// The factor of a folder of several runs.
const RUN: &str = "run";
/// Lines of time(1) on a command that failed.
const FAILURES: [&str; 2] = ["Command exited with non-zero status", "Command terminated by signal"];
/// Output of `uname -a`.
const KERNEL_FILE: &str = "kernel.version";
/// Output of lscpu.
const CPU_FILE: &str = "lscpu.txt";
/// When tests began and ended.
const TIMES_FILE: &str = "tests-timestamp";

/// What is varied within a benchmark, and which repetition a file has.
#[derive(Debug)]
struct Case {
    name: String,
    iteration: Option<u64>,
}

/// A text of a results folder, without compression and its ending.
#[derive(Clone, Debug, Default)]
pub struct LogFile {
    /// The run, if the folder has several.
    pub run: Option<String>,
    /// The folder of the repetition, such as `iter-0`.
    pub iteration: String,
    /// The benchmark; empty for a file of facts.
    pub benchmark: String,
    /// The name, such as `time-8-1` or `kernel.version`.
    pub name: String,
    /// The content.
    pub text: String,
}

/// Whether a file in the logs of a benchmark has results that are read.
fn is_log(benchmark: &str, name: &str) -> bool {
    of_benchmark(benchmark).is_some_and(|log| (log.case)(name).is_some())
}

/// Reads the texts of a results folder. Benchmarks without a log that was read are noted. Fails,
/// with the benchmarks that are read, if there is no value, and when trials are copies.
pub fn mmtests(
    name: &str,
    files: &[LogFile],
    unread: &[String],
    options: &Options,
) -> Result<Dataset, Refusal> {
    let set = read_all(name, files, unread)?;
    if !options.allow_repeats {
        let trials: Vec<ForeignTrial> = set.trials.iter().map(as_foreign).collect();
        copies::refuse(&trials)?;
    }
    Ok(set)
}

fn read_all(name: &str, files: &[LogFile], unread: &[String]) -> Result<Dataset, Refusal> {
    let has_runs = files.iter().any(|file| file.run.is_some());
    let mut set = varied(has_runs.then_some(RUN).into_iter().chain([BENCHMARK, CASE]));
    name.clone_into(&mut set.name);
    let mut trials: BTreeMap<TrialKey, usize> = BTreeMap::new();
    // Where a trial has the values of a metric.
    let mut positions: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let mut empty = Vec::new();
    for file in in_order(files) {
        let Some((log, case)) =
            of_benchmark(&file.benchmark).and_then(|log| Some((log, (log.case)(&file.name)?)))
        else {
            continue;
        };
        if let Some(cause) = failure(&file.text) {
            let key = TrialKey::of(file, &case.name, case.iteration);
            let at = push(&mut set, file, &case, case.iteration);
            trials.insert(key, at);
            set.trials[at].ending = Some(Ending::failed(cause));
            continue;
        }
        let readings = (log.read)(&file.name, &file.text);
        if readings.is_empty() {
            empty.push(format!("{}/{}/{}", file.iteration, file.benchmark, file.name));
        }
        let mut repetitions: BTreeMap<String, u64> = BTreeMap::new();
        for reading in readings {
            let repetition = repetitions.entry(reading.metric.clone()).or_default();
            *repetition += 1;
            let iteration = match case.iteration {
                None if log.repeats => Some(*repetition),
                iteration => iteration,
            };
            let key = TrialKey::of(file, &case.name, iteration);
            let at = *trials.entry(key).or_insert_with(|| push(&mut set, file, &case, iteration));
            let value = Values::exact(None, &reading.metric, &[reading.value]);
            let values = &mut set.trials[at].values;
            let position = *positions.entry((at, reading.metric.clone())).or_insert(values.len());
            match values.get_mut(position) {
                Some(known) => known.samples.extend(value.samples),
                None => values.push(value),
            }
            let is_main = log.main.iter().any(|ending| reading.metric.ends_with(ending));
            if is_main && !set.wanted.contains(&reading.metric) {
                set.wanted.push(reading.metric.clone());
            }
            set.responses.entry(reading.metric).or_insert_with(|| Response {
                unit: reading.unit.to_owned(),
                direction: Direction::from_more(reading.more_is_better),
                additive: false,
            });
        }
    }
    let facts: Vec<(&LogFile, Environment)> =
        files.iter().filter(|it| it.benchmark.is_empty()).map(|it| (it, facts(it))).collect();
    for ((run, iteration), at) in places(&trials) {
        let own = facts.iter().filter(|(it, _)| (&it.run, &it.iteration) == (run, iteration));
        set.trials[at].environment.extend(own.flat_map(|(_, facts)| facts.clone()));
    }
    begin(&mut set, files, &trials);
    set.notes = notes(&set, unread, &empty);
    match set.trials.is_empty() {
        false => Ok(set),
        true => Err(Refusal::whole(format!(
            "no log of MMTests with a value that is read; of {} these are read: {}",
            listed(unread),
            known().join(", ")
        ))),
    }
}

/// A trial as far as copies are known by it.
fn as_foreign(trial: &Trial) -> ForeignTrial {
    let figures = trial.values.iter().map(|values| {
        let samples = values.samples.clone();
        ForeignMeasurement::values(&values.response, "", Direction::Unknown, samples)
    });
    let identity = trial.levels.iter().map(|(name, level)| (name.as_str(), level.clone()));
    ForeignTrial::of_file(trial.name.as_str(), identity, figures.collect())
}

/// Why the command of a log failed, as time(1) or fio reports it; its times are not those of a whole
/// run.
fn failure(text: &str) -> Option<String> {
    let is_failure = |line: &&str| FAILURES.iter().any(|words| line.starts_with(words));
    let of_time = text.lines().find(is_failure).map(|line| line.trim().to_owned());
    of_time.or_else(|| storage::fio_failure(text))
}

/// Run, iteration folder, benchmark, case, repetition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TrialKey {
    run: Option<String>,
    iteration: String,
    benchmark: String,
    case: String,
    repetition: Option<u64>,
}

impl TrialKey {
    fn of(file: &LogFile, case: &str, repetition: Option<u64>) -> Self {
        Self {
            run: file.run.clone(),
            iteration: file.iteration.clone(),
            benchmark: file.benchmark.clone(),
            case: case.to_owned(),
            repetition,
        }
    }
}

fn places(
    trials: &BTreeMap<TrialKey, usize>,
) -> impl Iterator<Item = ((&Option<String>, &String), usize)> {
    trials.iter().map(|(key, at)| ((&key.run, &key.iteration), *at))
}

/// Cases and iterations by number, so that 16 threads come after 8.
fn in_order(files: &[LogFile]) -> Vec<&LogFile> {
    let number = |text: &str| text.parse().unwrap_or(u64::MAX);
    let mut files: Vec<&LogFile> = files.iter().collect();
    files.sort_by_cached_key(|file| {
        let case = of_benchmark(&file.benchmark).and_then(|log| (log.case)(&file.name));
        let case = case.unwrap_or(Case { name: String::new(), iteration: None });
        let folder = number(file.iteration.trim_start_matches("iter-"));
        let place = (file.run.clone(), folder, file.benchmark.clone());
        (place, number(&case.name), case.name, case.iteration, file.name.clone())
    });
    files
}

/// A new trial without values.
fn push(set: &mut Dataset, file: &LogFile, case: &Case, repetition: Option<u64>) -> usize {
    let run = file.run.as_deref();
    let place = run.into_iter().chain([&*file.iteration, &*file.benchmark, &*case.name]);
    let mut name = place.collect::<Vec<_>>().join("/");
    name.extend(repetition.map(|number| format!("/{number}")));
    let levels = run.map(|run| (RUN, run.to_owned()));
    let levels =
        levels.into_iter().chain([(BENCHMARK, file.benchmark.clone()), (CASE, case.name.clone())]);
    let trial = add(set, name, levels);
    trial.meaning = measure("mmtests");
    // The iterations of a benchmark run one after the other in one boot.
    trial.session = Some(format!("{}/{}", run.unwrap_or_default(), file.iteration));
    set.trials.len() - 1
}

/// Facts of the system in a file, named as in run files.
fn facts(file: &LogFile) -> Environment {
    let after = |name: &str| {
        let lines = file.text.lines();
        let value = lines.filter_map(|line| line.strip_prefix(name)).next()?;
        Some(value.trim().to_owned())
    };
    let facts = match file.name.as_str() {
        KERNEL_FILE => {
            let kernel = file.text.split_whitespace().nth(2);
            vec![("kernel", kernel.map(str::to_owned))]
        }
        CPU_FILE => vec![("cpu_model", after("Model name:")), ("cpus_online", after("CPU(s):"))],
        _ => Vec::new(),
    };
    dataset::facts(facts)
}

/// When the benchmarks of the trials began: `test begin :: NAME SECONDS`.
fn begin(set: &mut Dataset, files: &[LogFile], trials: &BTreeMap<TrialKey, usize>) {
    let mut began = BTreeMap::new();
    for file in files.iter().filter(|it| it.benchmark.is_empty() && it.name == TIMES_FILE) {
        for line in file.text.lines().filter_map(|line| line.strip_prefix("test begin :: ")) {
            let place = line.rsplit_once(' ').and_then(|(benchmark, seconds)| {
                let seconds: u64 = seconds.trim().parse().ok().filter(|it| *it < 10_000_000_000)?;
                Some((benchmark.to_owned(), seconds * 1_000_000_000))
            });
            began.extend(place.map(|(name, ns)| ((&file.run, &file.iteration, name), ns)));
        }
    }
    for (key, at) in trials {
        let place = (&key.run, &key.iteration, key.benchmark.clone());
        set.trials[*at].started_unix_ns = began.get(&place).copied();
    }
}

fn known() -> Vec<&'static str> {
    LOGS.iter().flat_map(|log| log.benchmarks).copied().collect()
}

fn notes(set: &Dataset, unread: &[String], empty: &[String]) -> Vec<String> {
    let mut notes = vec![
        "the iterations of a benchmark ran one after the other in one boot: separate boots may \
         differ more"
            .to_owned(),
    ];
    if !unread.is_empty() && !set.trials.is_empty() {
        notes.push(format!("not read: {} (read are {})", listed(unread), known().join(", ")));
    }
    if !empty.is_empty() {
        notes.push(format!("without a value: {}", listed(empty)));
    }
    notes
}

#[cfg(test)]
mod tests {
    use analysis::Trial;

    use super::*;

    fn file(benchmark: &str, name: &str, text: &str) -> LogFile {
        LogFile {
            iteration: "iter-0".to_owned(),
            benchmark: benchmark.to_owned(),
            name: name.to_owned(),
            text: text.to_owned(),
            ..LogFile::default()
        }
    }

    /// A case, and its metrics with their values.
    type NamedValues = (String, Vec<(String, Vec<f64>)>);

    /// The values of each trial.
    fn read(files: &[LogFile]) -> Vec<NamedValues> {
        let set = mmtests("x", files, &[], &Options::default()).unwrap();
        let values = |trial: &Trial| {
            trial.values.iter().map(|it| (it.response.clone(), it.at_bounds())).collect()
        };
        set.trials.iter().map(|trial| (trial.levels[CASE].clone(), values(trial))).collect()
    }

    #[test]
    fn iterations_are_trials_and_cases_are_in_order() {
        let time =
            |elapsed: &str| format!("1.5user 0.25system {elapsed}elapsed 9%CPU (0avgtext)\n");
        let set = mmtests(
            "x",
            &[
                file("kernbench", "time-16-1", &time("1:02.5")),
                file("kernbench", "time-8-2", &time("0:09.5")),
                file("kernbench", "time-8-1", &time("1:00:01")),
                file("", KERNEL_FILE, "Linux host 6.1.0-18 #1 SMP x86_64 GNU/Linux\n"),
                file("", TIMES_FILE, "start :: 5\ntest begin :: kernbench 7\n"),
            ],
            &["pgbench".to_owned()],
            &Options::default(),
        )
        .unwrap();
        assert_eq!(set.factor(CASE).unwrap().levels, ["8", "16"]);
        let elapsed: Vec<f64> =
            set.trials.iter().map(|it| it.samples(None, "Elapsed").unwrap()[0].value).collect();
        assert_eq!(elapsed, [3601.0, 9.5, 62.5]);
        assert_eq!(set.trials[0].environment["kernel"], "6.1.0-18");
        assert_eq!(set.trials[0].started_unix_ns, Some(7_000_000_000));
        assert!(set.notes[1].starts_with("not read: pgbench"), "{:?}", set.notes);
    }

    #[test]
    fn a_command_that_failed_has_no_times() {
        let text =
            "Command exited with non-zero status 2\n1.5user 0.25system 0:00.5elapsed 9%CPU\n";
        let time = "1.5user 0.25system 0:09.5elapsed 9%CPU\n";
        let files = [file("kernbench", "time-8-1", text), file("kernbench", "time-8-2", time)];
        let set = mmtests("x", &files, &[], &Options::default()).unwrap();
        assert_eq!(set.trials[0].failed(), Some(true));
        assert!(set.trials[0].values.is_empty() && set.trials[0].remark().unwrap().contains("2"));
        assert_eq!(set.trials[1].samples(None, "Elapsed").unwrap()[0].value, 9.5);
    }

    #[test]
    fn each_log_has_the_metrics_of_mmtests() {
        let hackbench = "# 20 sender\n     Total time: 0.5 [sec]\n\n     Total time: 0.75 [sec]\n";
        let found = read(&[file("hackbench-process-pipes", "hackbench-4", hackbench)]);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], ("4".into(), vec![("time".into(), vec![0.75])]));
        let wis = "min:1 max:2 total:30\nmin:1 max:2 total:40\n";
        let found = read(&[file("wis-mmap", "benchlog-mmap1_threads-2", wis)]);
        assert_eq!(found, [("mmap1_threads-2".into(), vec![("ops".into(), vec![30.0, 40.0])])]);
        let pipe = "# Executed\n     Total time: 9.1 [sec]\n\n       4.5 usecs/op\n  222 ops/sec\n";
        let found = read(&[file("perfpipe", "benchlog-_-_-3", pipe)]);
        assert_eq!(found, [("_".into(), vec![("usecs-op".into(), vec![4.5])])]);
        let stream = "Function    Best Rate MB/s\nCopy:   100.5  0.1\nAdd:  7 0.2\n";
        let found = read(&[file("stream", "benchlog-1-_-1", stream)]);
        assert_eq!(found[0].1.len(), 2);
        let tcp = "Socket  Throughput\nbytes secs\n\n 87380  16384  64  10.00  940.25\n";
        let found = read(&[file("netperf-tcp", "TCP_STREAM-64.1", tcp)]);
        assert_eq!(found, [("64".into(), vec![("tcpstream-send".into(), vec![940.25])])]);
        let redis = "\"test\",\"rps\",\"avg\"\n\"SET\",\"100.5\",\"0.25\"\n";
        let found = read(&[file("redis", "redis-1-2.log", redis)]);
        assert_eq!(
            found[0].1,
            [("SET-RPS".into(), vec![100.5]), ("SET-latAvg".into(), vec![0.25])]
        );
    }

    #[test]
    fn of_repeated_percentiles_the_last_count() {
        let block = |p99: u32| {
            format!(
                "Wakeup Latencies percentiles (usec) runtime 10 (s) (9 total samples)\n\
                 \t  50.0th: 5          (3 samples)\n\t* 99.0th: {p99}         (1 samples)\n\
                 \t  min=1, max=40\ncurrent rps: 4\n"
            )
        };
        let text = block(9) + &block(11);
        let found = read(&[file("schbench", "schbench-2.log", &text)]);
        let values = vec![("Wakeup-50th".into(), vec![5.0]), ("Wakeup-99th".into(), vec![11.0])];
        assert_eq!(found, [("2".into(), values)]);
    }

    #[test]
    fn of_dbench_the_last_throughput_counts_and_each_latency() {
        let tput = "  2  10  5.5 MB/sec  execute  1 sec\n  2  20  6.5 MB/sec  execute  2 sec\n";
        let done = "1 completed in 3 ms at time 10\n2 completed in 4 ms at time 20\n";
        let found = read(&[
            file("dbench4", "benchlog-tput-2", tput),
            file("dbench-async", "benchlog-tput-2", tput),
            file("dbench-async", "benchlog-loadfile-2", done),
            file("dbench-async", "benchlog-op-2", " Close  9  0.5  1.5\n"),
        ]);
        let values = vec![
            ("loadfile".into(), vec![3.0, 4.0]),
            ("op-Close".into(), vec![0.5]),
            ("tput".into(), vec![6.5]),
        ];
        assert_eq!(found, [("2".into(), values)]);
    }

    #[test]
    fn what_is_not_read_is_named() {
        let why = mmtests("x", &[], &["unixbench".to_owned()], &Options::default())
            .unwrap_err()
            .to_string();
        assert!(why.contains("of unixbench these are read: kernbench"), "{why}");
        let cut = [
            file("hackbench", "hackbench-1", "# Running\n"),
            file("wis", "benchlog-a-1", "total: total:5 total:7\n"),
        ];
        let set = mmtests("x", &cut, &[], &Options::default()).unwrap();
        assert!(set.notes[1].ends_with("iter-0/hackbench/hackbench-1"), "{:?}", set.notes);
    }
}
