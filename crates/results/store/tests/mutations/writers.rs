//! How each format writes a generated content, and how the text is read again.

use std::collections::BTreeMap;

use analysis::Dataset;
use formats::mmtests::{LogFile, mmtests};
use formats::{Options, dataset};
use store::observations;

/// Names of the works of a content.
pub(crate) const NAMES: [&str; 2] = ["Alpha", "Beta"];

/// A benchmark with its values in the unit of its file; none if it failed.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<f64>,
}

/// A file of a format, before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) works: Vec<Work>,
    pub(crate) unit: &'static str,
}

/// How a format writes a content.
pub(crate) struct Writer {
    pub(crate) name: &'static str,
    pub(crate) write: fn(&Content) -> String,
    /// How what was written is read.
    pub(crate) read: fn(&str) -> Result<Dataset, String>,
    /// What the works are called in comparisons.
    pub(crate) names: [&'static str; 2],
    /// Whether one text a side has a verdict.
    pub(crate) tells: bool,
    /// Whether equal values are known to be copies.
    pub(crate) knows_copies: bool,
    /// Units of the same dimension that the format can write, and how many of the first one each is.
    pub(crate) units: &'static [(&'static str, f64)],
    /// Whether the format can write a result that failed.
    pub(crate) has_failures: bool,
    pub(crate) more_is_better: bool,
}

pub(crate) const USUAL: Writer = Writer {
    name: "",
    write: csv,
    read: by_content,
    names: ["Alpha", "Beta"],
    tells: true,
    knows_copies: true,
    units: &[("ms", 1.0)],
    has_failures: false,
    more_is_better: false,
};

pub(crate) const WRITERS: [Writer; 14] = [
    Writer {
        name: "hyperfine",
        write: hyperfine,
        units: &[("s", 1.0)],
        has_failures: true,
        ..USUAL
    },
    Writer {
        name: "go times",
        write: go,
        units: &[("ms/op", 1.0), ("ns/op", 1e-6), ("us/op", 1e-3), ("s/op", 1e3)],
        has_failures: true,
        ..USUAL
    },
    Writer {
        name: "go rates",
        write: go,
        units: &[("MB/s", 1.0), ("GB/s", 1e3), ("B/s", 1e-6)],
        has_failures: true,
        more_is_better: true,
        ..USUAL
    },
    Writer {
        name: "google",
        write: google,
        units: &[("ms", 1.0), ("ns", 1e-6), ("us", 1e-3), ("s", 1e3)],
        has_failures: true,
        ..USUAL
    },
    Writer {
        name: "perf",
        write: perf,
        units: &[("msec", 1.0), ("ns", 1e-6), ("sec", 1e3)],
        has_failures: true,
        ..USUAL
    },
    Writer {
        name: "phoronix times",
        write: |content| phoronix(content, "LIB"),
        units: &[("Milliseconds", 1.0), ("Seconds", 1e3), ("us", 1e-3)],
        has_failures: true,
        ..USUAL
    },
    Writer {
        name: "phoronix rates",
        write: |content| phoronix(content, "HIB"),
        units: &[("MB/s", 1.0), ("GB/s", 1e3), ("Kops/s", 0.0)],
        has_failures: true,
        more_is_better: true,
        ..USUAL
    },
    Writer {
        name: "csv",
        write: csv,
        units: &[("ms", 1.0), ("us", 1e-3), ("s", 1e3), ("ns", 1e-6)],
        ..USUAL
    },
    Writer { name: "interbench", write: interbench, units: &[("ms", 1.0), ("us", 1e-3)], ..USUAL },
    Writer {
        name: "cyclictest",
        write: cyclictest,
        names: ["thread 0", "thread 1"],
        knows_copies: false,
        units: &[("us", 1.0), ("ns", 1e-3)],
        ..USUAL
    },
    Writer {
        name: "schbench",
        write: schbench,
        read: as_folder,
        names: ["request_latency_p50", "wakeup_latency_p50"],
        units: &[("us", 1.0)],
        ..USUAL
    },
    Writer {
        name: "lkp",
        write: lkp,
        names: ["fsmark.files_per_sec", "will-it-scale.per_process_ops"],
        units: &[("/s", 1.0)],
        more_is_better: true,
        ..USUAL
    },
    Writer {
        name: "MMTests",
        write: mmtests_logs,
        read: as_logs,
        names: ["4", "12"],
        units: &[("s", 1.0)],
        has_failures: true,
        ..USUAL
    },
    Writer { name: "resp1", write: resp1, tells: false, knows_copies: false, ..USUAL },
];

fn rows(content: &Content) -> impl Iterator<Item = (&Work, f64)> {
    content.works.iter().flat_map(|work| work.values.iter().map(move |value| (work, *value)))
}

fn hyperfine(content: &Content) -> String {
    let one = |work: &Work| {
        let (times, code) = match work.values.is_empty() {
            true => (vec![0.5; 6], "null"),
            false => (work.values.clone(), "0"),
        };
        let codes = vec![code; times.len()].join(",");
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        format!(
            r#"{{"command":"{}","mean":{mean},"times":{times:?},"exit_codes":[{codes}]}}"#,
            work.name
        )
    };
    let results: Vec<String> = content.works.iter().map(one).collect();
    format!("{{\"results\":[\n{}\n]}}\n", results.join(",\n"))
}

pub(crate) fn go(content: &Content) -> String {
    let mut text = String::from("goos: linux\npkg: example\n");
    for work in &content.works {
        if work.values.is_empty() {
            text += &format!("--- FAIL: Benchmark{}-2\n", work.name);
        }
        for value in &work.values {
            text += &format!("Benchmark{}-2 100 {value} {}\n", work.name, content.unit);
        }
    }
    text + "PASS\n"
}

fn google(content: &Content) -> String {
    let unit = content.unit;
    let mut rows = Vec::new();
    for work in &content.works {
        let name = work.name;
        if work.values.is_empty() {
            rows.push(format!(
                r#"{{"name":"{name}","run_name":"{name}","run_type":"iteration","real_time":0.0,"cpu_time":0.0,"time_unit":"{unit}","error_occurred":true,"error_message":"no"}}"#
            ));
        }
        for (index, value) in work.values.iter().enumerate() {
            rows.push(format!(
                r#"{{"name":"{name}","run_name":"{name}","run_type":"iteration","repetition_index":{index},"real_time":{value},"cpu_time":{value},"time_unit":"{unit}"}}"#
            ));
        }
    }
    format!("{{\"context\":{{}},\"benchmarks\":[\n{}\n]}}\n", rows.join(",\n"))
}

/// Every invocation counts all events.
fn perf(content: &Content) -> String {
    let mut text = String::new();
    let most = content.works.iter().map(|work| work.values.len()).max().unwrap_or(0);
    for index in 0..most {
        text += &format!("# started on Mon Nov 1 10:00:0{index} 2026\n\n");
        for work in &content.works {
            let value = work.values.get(index);
            let value = value.map_or("<not counted>".to_owned(), f64::to_string);
            text += &format!(
                "{{\"counter-value\" : \"{value}\", \"unit\" : \"{}\", \"event\" : \"{}-time\"}}\n",
                content.unit, work.name
            );
        }
    }
    text
}

fn phoronix(content: &Content, proportion: &str) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<PhoronixTestSuite>\n<System><Identifier>box\
                    </Identifier></System>\n"
        .to_owned();
    for work in &content.works {
        let values: Vec<String> = work.values.iter().map(f64::to_string).collect();
        text += &format!(
            "<Result><Identifier>pts/{}-1</Identifier><Description>Level: 1</Description><Scale>{}\
             </Scale><Proportion>{proportion}</Proportion><Data><Entry><Identifier>box</Identifier>\
             <Value>{}</Value><RawString>{}</RawString></Entry></Data></Result>\n",
            work.name,
            content.unit,
            values.first().map_or("", String::as_str),
            values.join(":")
        );
    }
    text + "</PhoronixTestSuite>\n"
}

fn csv(content: &Content) -> String {
    let rows = rows(content).map(|(work, value)| format!("{},{value}\n", work.name));
    format!("test,elapsed_{}\n{}", content.unit, rows.collect::<String>())
}

/// A log of several runs.
fn interbench(content: &Content) -> String {
    let mut text = String::new();
    let most = content.works.iter().map(|work| work.values.len()).max().unwrap_or(0);
    for index in 0..most {
        text += "--- Benchmarking simulated cpu of Audio in the presence of simulated ---\n";
        text += &format!(
            "Load\tLatency +/- SD ({})  Max Latency   % Desired CPU  % Deadlines Met\n",
            content.unit
        );
        for work in &content.works {
            if let Some(value) = work.values.get(index) {
                text += &format!("{}\t  {value:.1} +/- 1.5 {value:.1}\t\t 99\t 98\n", work.name);
            }
        }
        text += "\n";
    }
    text
}

/// A thread for each work, a histogram of whole µs or ns, and one more: a single one is the whole.
fn cyclictest(content: &Content) -> String {
    let thread = |work: &Work| {
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        for value in &work.values {
            *buckets.entry(value.round() as u64).or_default() += 1;
        }
        let texts: Vec<String> =
            buckets.iter().map(|(delay, count)| format!("\"{delay}\": {count}")).collect();
        let bound = |found: Option<&u64>| found.copied().unwrap_or(0);
        format!(
            "\"{}\": {{\"histogram\": {{{}}}, \"cycles\": {}, \"min\": {}, \"max\": {}, \
             \"avg\": {}}}",
            NAMES.iter().position(|name| *name == work.name).unwrap_or(NAMES.len()),
            texts.join(", "),
            work.values.len(),
            bound(buckets.keys().next()),
            bound(buckets.keys().next_back()),
            work.values.iter().map(|value| value.round()).sum::<f64>()
                / work.values.len().max(1) as f64,
        )
    };
    let more = Work { name: "", values: vec![1000.0; 3] };
    let threads: Vec<String> = content.works.iter().chain([&more]).map(thread).collect();
    format!(
        "{{\n\"file_version\": 1,\n\"return_code\": 0,\n\"resolution_in_ns\": {},\n\"num_threads\": \
         {},\n\"thread\": {{\n{}\n}}\n}}\n",
        usize::from(content.unit == "ns"),
        threads.len(),
        threads.join(",\n")
    )
}

/// What separates files in a text.
pub(crate) const FILE_END: &str = "== end of file ==\n";

/// A file for each repetition, as schbench prints it.
fn schbench(content: &Content) -> String {
    let kind = |work: &Work| if work.name == NAMES[0] { "Request" } else { "Wakeup" };
    let most = content.works.iter().map(|work| work.values.len()).max().unwrap_or(0);
    let file = |index: usize| -> String {
        let section = |work: &Work| {
            let value = (work.values.get(index)? * 4.0).round();
            Some(format!(
                "{} Latencies percentiles (usec) runtime 5 (s) (99 total samples)\n\t  50.0th: \
                 {value}         (50 samples)\n\t* 99.0th: {}         (40 samples)\n",
                kind(work),
                value * 3.0
            ))
        };
        content.works.iter().filter_map(section).collect()
    };
    (0..most).map(|index| file(index) + FILE_END).collect()
}

/// A column for each run.
fn lkp(content: &Content) -> String {
    let key = |work: &Work| {
        let name = match work.name == NAMES[0] {
            true => "fsmark.files_per_sec",
            false => "will-it-scale.per_process_ops",
        };
        let values: Vec<String> = work.values.iter().map(f64::to_string).collect();
        format!("  \"{name}\": [\n    {}\n  ]", values.join(",\n    "))
    };
    let most = content.works.iter().map(|work| work.values.len()).max().unwrap_or(0);
    let runs: Vec<String> =
        (0..most).map(|run| format!("\"/result/t/p/b/r/k/c/1/{run}/stats.json\"")).collect();
    let keys: Vec<String> = content.works.iter().map(key).collect();
    format!("{{\n{},\n  \"stats_source\": [{}]\n}}\n", keys.join(",\n"), runs.join(", "))
}

/// A log of hackbench for each repetition.
fn mmtests_logs(content: &Content) -> String {
    let mut text = String::new();
    for work in &content.works {
        let case = if work.name == NAMES[0] { 4 } else { 12 };
        let mut log = |repetition: usize, line: String| {
            text += &format!("hackbench-{case}-{repetition}\n{line}\n{FILE_END}");
        };
        if work.values.is_empty() {
            log(1, "Command exited with non-zero status 1".to_owned());
        }
        for (index, value) in work.values.iter().enumerate() {
            log(index + 1, format!("     Total time: {value:.3} [sec]"));
        }
    }
    text
}

/// A row for each work, and that without load.
fn resp1(content: &Content) -> String {
    let mut text = String::from(
        "Starting 1 CPU run with 93 MB RAM, minimum 5 data points at 20 sec intervals\n\
         \x20            _____________ delay ms. ____________   ___ Ratio ___\n\
         \x20      Test        low       high    median     average      raw     S.D.\n",
    );
    let noload = Work { name: "noload", values: vec![50.0, 51.0, 52.0, 53.0, 54.0] };
    for work in [&noload].into_iter().chain(&content.works) {
        let mut values = work.values.clone();
        values.sort_by(f64::total_cmp);
        let average = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let (Some(low), Some(high)) = (values.first(), values.last()) else { continue };
        let median = values[values.len() / 2];
        text += &format!(
            "{:>12} {low:.3} {high:.3} {median:.3} {average:.3} {:.3} {:.3}\n",
            work.name,
            average / 52.0,
            median / 52.0
        );
    }
    text
}

fn by_content(text: &str) -> Result<Dataset, String> {
    dataset("a file", text, None, &Options::default()).map_err(|refusal| refusal.to_string())
}

/// The files in a text as one folder.
pub(crate) fn as_folder(text: &str) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (index, file) in text.split(FILE_END).filter(|file| !file.is_empty()).enumerate() {
        let path = folder.path().join(format!("{index}.txt"));
        std::fs::write(path, file).map_err(|error| error.to_string())?;
    }
    observations(&folder.path().to_string_lossy()).map_err(|refusal| refusal.to_string())
}

/// The files in a text, each with its name first, as logs of MMTests.
fn as_logs(text: &str) -> Result<Dataset, String> {
    let file = |file: &str| {
        let (name, text) = file.split_once('\n')?;
        Some(LogFile {
            iteration: "iter-0".to_owned(),
            benchmark: "hackbench-process-pipes".to_owned(),
            name: name.to_owned(),
            text: text.to_owned(),
            ..LogFile::default()
        })
    };
    let files: Vec<LogFile> = text.split(FILE_END).filter_map(file).collect();
    mmtests("a run", &files, &[], &Options::default()).map_err(|refusal| refusal.to_string())
}
