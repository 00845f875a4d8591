//! Outputs of known programs that are not read: what they are, and what to do instead.

/// A text by which an output is known, and the advice.
const KNOWN: [(&str, &str); 9] = [
    (
        "Time (mean ± σ)",
        "what hyperfine prints, which has no single times: measure with hyperfine --export-json FILE",
    ),
    (
        "| Command | Mean",
        "a table of hyperfine, which has no single times: measure with hyperfine --export-json FILE",
    ),
    (
        "command,mean,stddev,median,user,system,min,max",
        "hyperfine's CSV, which has no single times: measure with hyperfine --export-json FILE",
    ),
    (
        "Phoronix Test Suite v",
        "what the Phoronix Test Suite prints: its results are in \
         ~/.phoronix-test-suite/test-results/NAME/composite.xml",
    ),
    (
        "Test Results:",
        "what the Phoronix Test Suite prints: its results are in \
         ~/.phoronix-test-suite/test-results/NAME/composite.xml",
    ),
    (
        "Average Optimal load -j",
        "what kernbench prints, which has no single times: write those of each run into a CSV, or \
         use the kernbench of MMTests",
    ),
    (
        "Average Half load -j",
        "what kernbench prints, which has no single times: write those of each run into a CSV, or \
         use the kernbench of MMTests",
    ),
    (
        "name,iterations,real_time,cpu_time,time_unit",
        "Google Benchmark's CSV, whose repetitions and aggregates look alike: measure with \
         --benchmark_format=json",
    ),
    (
        "Iterations UserCounters",
        "what Google Benchmark prints: measure with --benchmark_format=json",
    ),
];

/// What perf's CSV looks like where the decimal comma also separates fields.
const PERF_EVENTS: [&str; 4] = [",task-clock,", ",cycles,", ",page-faults,", ",instructions,"];

/// What a text is that no reader takes, with the next step.
pub(super) fn advice(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("it is empty: the program wrote no result".to_owned());
    }
    if text.lines().any(|line| PERF_EVENTS.iter().any(|event| line.contains(event))) {
        return Some(
            "CSV of perf stat whose numbers have decimal commas, which separate fields too: \
             measure again with LC_ALL=C, with -x';', or with perf stat -j"
                .to_owned(),
        );
    }
    let heading = text.lines().next().unwrap_or_default();
    let fields = heading.split(';').count();
    if !heading.contains(',')
        && fields > 1
        && text.lines().all(|it| it.split(';').count() == fields)
    {
        return Some(
            "a table with semicolons, of a locale whose decimal points are commas: write it with \
             commas between cells, and points within numbers"
                .to_owned(),
        );
    }
    if text.contains("Benchmark") && text.contains("Time") && text.contains("CPU Iterations") {
        return Some(KNOWN[8].1.to_owned());
    }
    let known = KNOWN.iter().find(|(words, _)| text.contains(words));
    known.map(|(_, advice)| (*advice).to_owned())
}

/// What a list in JSON is, whose programs write an object around it.
pub(super) fn of_list(first: Option<&serde_json::Value>) -> String {
    let has = |key: &str| first.and_then(|first| first.get(key)).is_some();
    match () {
        () if has("command") || has("times") || has("mean") => {
            "a list of results like those of hyperfine: write {\"results\": LIST}, as hyperfine \
             --export-json does"
                .to_owned()
        }
        () if has("run_name") || has("real_time") => {
            "a list of benchmarks like those of Google Benchmark: write {\"benchmarks\": LIST}"
                .to_owned()
        }
        () => "a list in JSON, of a program that is not known: write a CSV with a heading row"
            .to_owned(),
    }
}
