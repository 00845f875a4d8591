//! What the logs of MMTests' benchmarks contain: one row per benchmark in [`LOGS`].
//! Files, fields and names of metrics follow the parsers of MMTests (`shellpack_src`).

use super::reading::{Reading, number};
use super::{Case, storage};

/// A metric: its name in MMTests, its unit, and whether more is better.
pub(super) type Metric = (&'static str, &'static str, bool);

/// How the logs of a benchmark are read.
pub(super) struct Log {
    /// Beginnings of names of the benchmark in the configuration, such as `hackbench` of
    /// `hackbench-process-pipes`.
    pub(super) benchmarks: &'static [&'static str],
    /// Case and iteration of a file by its name, if it is a log of results.
    pub(super) case: fn(&str) -> Option<Case>,
    /// The readings of a file by its name and text.
    pub(super) read: fn(&str, &str) -> Vec<Reading>,
    /// The metrics of interest: their names, or endings of them.
    pub(super) main: &'static [&'static str],
    /// Whether each reading is a repetition. Otherwise those of a file are of one execution.
    pub(super) repeats: bool,
}

/// All benchmarks that are read.
pub(super) const LOGS: [Log; 16] = [
    Log {
        benchmarks: &["kernbench", "gitsource", "usemem", "autonumabench", "nas"],
        case: |name| numbered(name.strip_prefix("time-")?, '-'),
        read: |_, text| times(text),
        main: &["Elapsed"],
        repeats: false,
    },
    Log {
        benchmarks: &["hackbench"],
        case: |name| {
            let rest = name.strip_prefix("hackbench-")?;
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let is_repeated = rest
                .split_once('-')
                .is_some_and(|(groups, iteration)| is_number(groups) && is_number(iteration));
            // One file per iteration, or all iterations in one.
            if is_repeated { numbered(rest, '-') } else { whole(rest) }
        },
        read: |_, text| fields(text, "Total time:", Some(3), ("time", "s", false)),
        main: &["time"],
        repeats: true,
    },
    Log {
        benchmarks: &["stream"],
        case: bench_log,
        read: |_, text| stream(text),
        main: &["Copy", "Scale", "Add", "Triad"],
        repeats: false,
    },
    Log {
        benchmarks: &["perfpipe"],
        // Until 2025 `pipe-N.log`, in which there is one case as well.
        case: |name| match name.strip_prefix("pipe-") {
            Some(below) => numbered(&format!("_-{}", below.strip_suffix(".log")?), '-'),
            None => bench_log(name),
        },
        read: |_, text| fields(text, "usecs/op", Some(1), ("usecs-op", "us", false)),
        main: &["usecs-op"],
        repeats: false,
    },
    Log {
        benchmarks: &["perfsyscall"],
        case: bench_log,
        read: |_, text| fields(text, "usecs/op", Some(1), ("usecs/syscall", "us", false)),
        main: &["usecs/syscall"],
        repeats: false,
    },
    Log {
        benchmarks: &["wis"],
        case: bench_log,
        read: |_, text| fields(text, "total:", Some(3), ("ops", "", true)),
        main: &["ops"],
        repeats: false,
    },
    Log {
        benchmarks: &["sysbenchcpu"],
        case: bench_log,
        read: |_, text| fields(text, "events per second", None, ("events/sec", "/s", true)),
        main: &["events/sec"],
        repeats: false,
    },
    Log {
        benchmarks: &["sysbenchmutex"],
        case: bench_log,
        read: |_, text| fields(text, "95th percentile:", Some(3), ("latency", "ms", false)),
        main: &["latency"],
        repeats: false,
    },
    Log {
        benchmarks: &["sysbench"],
        case: |name| numbered(name.strip_prefix("sysbench-raw-")?, '-'),
        read: |_, text| storage::sysbench(text),
        main: &["txn/sec"],
        repeats: false,
    },
    Log {
        benchmarks: &["pgbench"],
        case: |name| {
            let below = name.strip_prefix("pgbench-")?.strip_suffix(".log")?;
            let clients = below.strip_prefix("transactions-").unwrap_or(below);
            clients.bytes().all(|byte| byte.is_ascii_digit()).then(|| whole(clients))?
        },
        read: storage::pgbench,
        main: &["txn/sec", "tps"],
        repeats: false,
    },
    Log {
        benchmarks: &["fio"],
        case: |name| match name.strip_prefix("fio")? {
            ".log" => whole("_"),
            below => whole(below.strip_prefix('-')?.trim_end_matches(".log")),
        },
        read: |_, text| storage::fio(text),
        main: &["-read", "-write"],
        repeats: false,
    },
    Log {
        benchmarks: &["ebizzy"],
        case: |name| numbered(name.strip_prefix("ebizzy-")?.strip_suffix(".log")?, '-'),
        read: |_, text| {
            let first = text.lines().next().unwrap_or_default();
            fields(first, "records/s", Some(1), ("total_rsec", "/s", true))
        },
        main: &["total_rsec"],
        repeats: false,
    },
    Log {
        benchmarks: &["schbench"],
        case: |name| whole(name.strip_prefix("schbench-")?.strip_suffix(".log")?),
        read: |_, text| schbench(text),
        main: &["Wakeup-99th", "Request-99th", "RPS-50th"],
        repeats: false,
    },
    Log {
        benchmarks: &["redis"],
        case: |name| numbered(name.strip_prefix("redis-")?.strip_suffix(".log")?, '-'),
        read: |_, text| redis(text),
        main: &["-RPS"],
        repeats: false,
    },
    Log {
        benchmarks: &["dbench", "tbench"],
        case: |name| {
            let kinds = ["loadfile-", "tput-", "op-"].into_iter();
            let below = name.strip_prefix("benchlog-")?;
            whole(kinds.filter_map(|kind| below.strip_prefix(kind)).next()?)
        },
        read: dbench,
        main: &["loadfile", "tput"],
        repeats: false,
    },
    Log {
        benchmarks: &["netperf"],
        case: |name| {
            let (protocol, rest) = name.split_once('-')?;
            protocol.chars().all(|it| it.is_ascii_uppercase() || it == '_').then_some(())?;
            numbered(rest, '.')
        },
        read: netperf,
        main: &["-send", "-recv"],
        repeats: false,
    },
];

/// The row of a benchmark: its name, or what is left of it without endings after `-`.
pub(super) fn of_benchmark(name: &str) -> Option<&'static Log> {
    let mut name = name;
    loop {
        if let Some(log) = LOGS.iter().find(|log| log.benchmarks.contains(&name)) {
            return Some(log);
        }
        name = name.rsplit_once('-')?.0;
    }
}

/// `CASE-ITERATION`, where the separator may differ.
fn numbered(text: &str, separator: char) -> Option<Case> {
    let (case, iteration) = text.rsplit_once(separator)?;
    let iteration = iteration.parse().ok()?;
    whole(case).map(|case| Case { iteration: Some(iteration), ..case })
}

/// A case without iterations. `_` is MMTests' empty factor.
fn whole(text: &str) -> Option<Case> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_.-".contains(it);
    let is_case = !text.is_empty() && text.chars().all(is_plain);
    is_case.then(|| Case { name: text.trim_end_matches("-_").to_owned(), iteration: None })
}

/// `benchlog-A-B-ITERATION` or `benchlog-A-B`.
fn bench_log(name: &str) -> Option<Case> {
    let below = name.strip_prefix("benchlog-")?;
    match below.matches('-').count() {
        1 => whole(below),
        2 => numbered(below, '-'),
        _ => None,
    }
}

fn reading((metric, unit, more_is_better): Metric, value: f64) -> Reading {
    Reading { metric: metric.to_owned(), unit, more_is_better, value }
}

/// A value in each line that contains `pattern`: a field by number from 1, or the last one.
fn fields(text: &str, pattern: &str, position: Option<usize>, metric: Metric) -> Vec<Reading> {
    let value = |line: &str| {
        let mut fields = line.split_whitespace();
        let field = match position {
            Some(position) => fields.nth(position - 1),
            None => fields.next_back(),
        };
        number(field?.trim_start_matches("total:"))
    };
    let lines = text.lines().filter(|line| line.contains(pattern));
    lines.filter_map(value).map(|value| reading(metric, value)).collect()
}

/// What time(1) prints by default: `1.23user 0.45system 1:02.34elapsed 2%CPU`.
fn times(text: &str) -> Vec<Reading> {
    let metrics = [("user", "User"), ("system", "System"), ("elapsed", "Elapsed")];
    let Some(line) = text.lines().find(|line| line.contains("elapsed")) else { return Vec::new() };
    let found = metrics.into_iter().filter_map(|(ending, name)| {
        let field = line.split_whitespace().find_map(|field| field.strip_suffix(ending))?;
        Some(reading((name, "s", false), clock(field)?))
    });
    found.collect()
}

/// Seconds, or minutes or hours before them.
fn clock(text: &str) -> Option<f64> {
    text.split(':').try_fold(0.0, |sum, field| Some(sum * 60.0 + number(field)?))
}

fn stream(text: &str) -> Vec<Reading> {
    let metrics = ["Copy", "Scale", "Add", "Triad"].into_iter();
    metrics
        .flat_map(|name| {
            let lines = text.lines().filter(move |line| {
                line.split_whitespace().next().and_then(|it| it.strip_suffix(':')) == Some(name)
            });
            let values = lines.filter_map(|line| number(line.split_whitespace().nth(1)?));
            values.map(move |value| reading((name, "MB/s", true), value))
        })
        .collect()
}

/// The percentiles after the last heading of each kind, which are of the whole execution.
fn schbench(text: &str) -> Vec<Reading> {
    let kinds: [Metric; 3] =
        [("Wakeup", "us", false), ("Request", "us", false), ("RPS", "/s", true)];
    let heading = |line: &str, name| line.starts_with(name) && line.contains("percentiles");
    let of_kind = |(name, unit, more_is_better): Metric| -> Vec<Reading> {
        let lines: Vec<&str> = text.lines().collect();
        // Until 2022 wake-ups alone, without their name.
        let is_old = |line: &&str| name == "Wakeup" && line.starts_with("Latency percentiles");
        let last = lines.iter().rposition(|line| heading(line, name) || is_old(line));
        let Some(last) = last else { return Vec::new() };
        let rows = lines[last + 1..].iter().map_while(|line| {
            let (percent, value) = line.trim_start_matches([' ', '\t', '*']).split_once("th:")?;
            Some((percent, number(value.split_whitespace().next()?)?))
        });
        let reading = |(percent, value): (&str, f64)| {
            let percent = match percent.contains('.') {
                true => percent.trim_end_matches('0').trim_end_matches('.'),
                false => percent,
            };
            let metric = format!("{name}-{percent}th");
            Reading { metric, unit, more_is_better, value }
        };
        rows.map(reading).collect()
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// `redis-benchmark --csv`: with a heading the columns are named, as from Redis 7 on.
fn redis(text: &str) -> Vec<Reading> {
    let columns: [Metric; 7] = [
        ("RPS", "/s", true),
        ("latAvg", "ms", false),
        ("latMin", "ms", false),
        ("lat50", "ms", false),
        ("lat95", "ms", false),
        ("lat99", "ms", false),
        ("latMax", "ms", false),
    ];
    let mut found = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('"') && !line.contains("\"test\"")) {
        let mut cells = line.trim().trim_matches('"').split("\",\"");
        let test = cells.next().unwrap_or_default();
        let test = test.split_once(" (").map_or(test, |(name, _)| name);
        let values = columns.into_iter().zip(cells);
        found.extend(values.filter_map(|((name, unit, more_is_better), cell)| {
            let metric = format!("{test}-{name}");
            Some(Reading { metric, unit, more_is_better, value: number(cell)? })
        }));
    }
    found
}

/// Readings of dbench. Throughput is that of the last line, since each line has the mean from the
/// beginning.
fn dbench(name: &str, text: &str) -> Vec<Reading> {
    if name.contains("-loadfile-") {
        return fields(text, "completed in", Some(4), ("loadfile", "ms", false));
    }
    if name.contains("-tput-") {
        let tput = fields(text, "execute", Some(3), ("tput", "MB/s", true));
        return tput.into_iter().next_back().into_iter().collect();
    }
    let operation = |line: &str| {
        let mut fields = line.split_whitespace();
        let (name, mean) = (fields.next()?, number(fields.nth(1)?)?);
        let metric = format!("op-{name}");
        Some(Reading { metric, unit: "ms", more_is_better: false, value: mean })
    };
    text.lines().filter_map(operation).collect()
}

/// The last line of numbers; UDP has a line of the sender and one of the receiver.
fn netperf(name: &str, text: &str) -> Vec<Reading> {
    let protocol = name.split('-').next().unwrap_or_default();
    let unit = if protocol.ends_with("_RR") { "/s" } else { "Mbit/s" };
    let rows = text.lines().filter(|line| !line.contains(char::is_alphabetic));
    let rows: Vec<Vec<f64>> =
        rows.map(|line| line.split_whitespace().filter_map(number).collect()).collect();
    let last = |is_row: fn(usize) -> bool| {
        rows.iter().rev().find(|row| is_row(row.len())).and_then(|row| row.last()).copied()
    };
    let (send, received): (Option<f64>, Option<f64>) = match protocol {
        "UDP_STREAM" => (last(|fields| fields == 6), last(|fields| fields == 4)),
        _ => (last(|fields| fields > 4), None),
    };
    let plain = protocol.to_lowercase().replace('_', "");
    let values = [("send", send), ("recv", received)].into_iter();
    values
        .filter_map(|(side, value)| {
            let metric = format!("{plain}-{side}");
            Some(Reading { metric, unit, more_is_better: true, value: value? })
        })
        .collect()
}
