//! Outputs that contradict themselves, that are of another form than the one that is read, or that
//! are damaged: refused with the reason and the next step, or read where that is unambiguous.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs;

use analysis::Dataset;
use formats::{Options, dataset};
use store::observations;

fn read(text: &str) -> Dataset {
    dataset("test", text, None, &Options::default()).unwrap_or_else(|why| panic!("{why}: {text}"))
}

fn refused(text: &str) -> String {
    dataset("test", text, None, &Options::default()).expect_err(text).to_string()
}

fn only(set: &Dataset, response: &str) -> f64 {
    set.trials[0].samples(None, response).unwrap()[0].value
}

#[test]
fn the_events_of_go_test_are_its_output() {
    let event =
        |text: &str| format!("{{\"Action\":\"output\",\"Package\":\"p\",\"Output\":\"{text}\"}}\n");
    let parts = [
        "goos: linux\\n",
        "BenchmarkX-2 \\t",
        "100\\t 12 ns/op\\n",
        "BenchmarkY-2 100 13 ns/op\\n",
    ];
    let set = read(&parts.map(event).concat());
    assert_eq!(set.trials.len(), 2);
    assert_eq!(only(&set, "ns/op"), 12.0);
}

#[test]
fn text_and_csv_of_perf_have_the_same_counts_as_json() {
    let json = "{\"counter-value\" : \"1234.56\", \"unit\" : \"msec\", \"event\" : \"task-clock\"}\n\
                {\"counter-value\" : \"76\", \"unit\" : \"\", \"event\" : \"page-faults\"}\n";
    let text = " Performance counter stats for 'make':\n\n\
                \x20         1,234.56 msec task-clock        #    0.9 CPUs utilized\n\
                \x20               76      page-faults       #   61 /sec\n\
                \x20  <not supported>      cycles\n\n\
                \x20      1.300000000 seconds time elapsed\n\n";
    let german = text.replace("1,234.56", "1.234,56").replace("0.9", "0,9");
    let csv = "# started on Mon Nov  1 10:00:00 2026\n\n\
               1234.56,msec,task-clock,1234560000,100.00,0.9,CPUs utilized\n\
               76,,page-faults,1234560000,100.00,61,/sec\n\
               <not supported>,,cycles,0,100.00,,\n";
    let commas = csv.replace(',', ";").replace('.', ",");
    let expected = read(json);
    for other in [text, &german, csv, &commas] {
        let set = read(other);
        for event in ["task-clock", "page-faults"] {
            assert_eq!(only(&set, event), only(&expected, event), "{other}");
            assert_eq!(set.responses[event], expected.responses[event], "{other}");
        }
        assert!(!set.responses.contains_key("cycles"), "absent, and not 0: {other}");
        let has_time = set.notes.iter().any(|note| note.contains("not read"));
        assert!(!has_time, "{:?}", set.notes);
    }
    assert_eq!(read(text).trials[0].identity["command"], "make");
    let ambiguous = text.replace("1,234.56", "1,234");
    assert!(refused(&ambiguous).starts_with("line 3: 1,234 may be 1234 or 1.234"));
    let shifted = csv.replace('.', ",");
    assert!(refused(&shifted).contains("LC_ALL=C"), "{}", refused(&shifted));
    let locale = json.replace("1234.56", "1234,56");
    let why = refused(&locale);
    assert!(why.starts_with("line 1: \"task-clock\": 1234,56 has a comma"), "{why}");
    let runtime = json.replace("\"unit\" : \"\"", "\"event-runtime\" : 1,5, \"unit\" : \"\"");
    assert!(refused(&runtime).starts_with("line 2: 1,5 has a comma"), "{}", refused(&runtime));
}

#[test]
fn text_of_cyclictest_and_schbench_is_read() {
    let text = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000000 000000\t000000\n\
                000001 000002\t000001\n000002 000001\t000003\n# Total: 000000003 000000004\n\
                # Min Latencies: 00001 00001\n# Avg Latencies: 00002 00002\n\
                # Max Latencies: 00009 00002\n# Histogram Overflows: 00001 00000\n";
    let set = read(text);
    let whole = set.trials[0].samples(None, "delay_ns").unwrap();
    assert_eq!(whole.len(), 8);
    let first = set.trials[0].samples(Some("thread 0"), "delay_ns").unwrap();
    let values: Vec<f64> = first.iter().map(|it| it.value).collect();
    assert_eq!(values, [1000.0, 1000.0, 2000.0, 9000.0]);
    let why = refused(&text.replace("# Max Latencies: 00009 00002\n", ""));
    assert!(why.contains("no line \"# Max Latencies:\": it is cut"), "{why}");
    let why = refused(&text.replace("000001 000002\t000001", "000001 000002"));
    assert!(why.starts_with("line 4: 1 counts for 2 threads"), "{why}");
    let why = refused(&text.replace("000002 000001\t000003\n", ""));
    assert!(
        why.starts_with("line 5: the rows of thread 0 hold 2 delays, but its total is 3"),
        "{why}"
    );
    let why = refused(&text.replace("000002 000001", "18446744073709551615 000001"));
    assert!(why.contains("the longest delay is at least 18446744073709551615"), "{why}");
    let summary =
        read("T: 0 (  32) P:80 I:1000 C:    100 Min:     63 Act:   65 Avg:   64 Max:      73\n");
    assert_eq!(only(&summary, "high_ns"), 73_000.0);
    let schbench = "Wakeup Latencies percentiles (usec) runtime 5 (s) (90 total samples)\n\
                    \t  50.0th: 7          (40 samples)\n\t* 99.0th: 90         (9 samples)\n\
                    \t  min=1, max=400\nRPS percentiles (requests) runtime 5 (s) (6 total samples)\n\
                    \t* 50.0th: 104        (2 samples)\n\t  min=99, max=110\ncurrent rps: 103.9\n";
    let set = read(schbench);
    assert_eq!(only(&set, "wakeup_latency_p99_us"), 90.0);
    assert_eq!(only(&set, "rps_p50_per_s"), 104.0);
    assert!(set.responses["rps_p50_per_s"].more_is_better());
}

#[test]
fn other_outputs_of_known_programs_are_named_with_the_next_step() {
    let cases = [
        ("", "it is empty"),
        ("\n\n", "it is empty"),
        ("{", "line 1, column 1"),
        (
            "Benchmark 1: true\n  Time (mean ± σ):   0.5 ms ±   0.1 ms    [User: 0.3 ms]\n",
            "--export-json",
        ),
        (
            "command,mean,stddev,median,user,system,min,max\ntrue,0.1,,0.1,0,0,0.1,0.1\n",
            "--export-json",
        ),
        (
            "| Command | Mean [ms] | Min [ms] |\n|:---|---:|---:|\n| `true` | 1 | 1 |\n",
            "--export-json",
        ),
        ("[{\"command\": \"a\", \"times\": [1]}]", "{\"results\": LIST}"),
        ("[{\"run_name\": \"a\", \"real_time\": 1}]", "{\"benchmarks\": LIST}"),
        ("[1, 2]", "a list in JSON"),
        ("test;elapsed_ms\na;1,5\n", "a table with semicolons"),
        ("Phoronix Test Suite v10.8.4\nSystem Information\n", "composite.xml"),
        (
            "Average Optimal load -j 8 Run (std deviation):\nElapsed Time 100.5 (0.5)\n",
            "what kernbench prints",
        ),
        (
            "----\nBenchmark        Time             CPU Iterations\n----\nBM_A  10 ns  10 ns 100\n",
            "--benchmark_format=json",
        ),
        (
            "name,iterations,real_time,cpu_time,time_unit,bytes_per_second\n\"BM_A\",1,2,2,ns,\n",
            "--benchmark_format=json",
        ),
    ];
    for (text, expected) in cases {
        let why = refused(text);
        assert!(why.contains(expected), "{text:?}: {why}");
    }
}

#[test]
fn a_file_that_contradicts_itself_is_refused() {
    let cases = [
        (
            r#"{"results": [{"command": "a", "mean": 99, "times": [11, 11.5, 10.5]}]}"#.to_owned(),
            "\"mean\" is 99",
        ),
        (
            r#"{"results": [{"command": "a", "times": [1, 2], "exit_codes": [0]}]}"#.to_owned(),
            "2 times, but 1 exit codes",
        ),
        (
            r#"{"benchmarks": [{"name": "A", "run_name": "A", "run_type": "iteration",
            "real_time": 11, "time_unit": "ns"}, {"name": "A_mean", "run_name": "A",
            "run_type": "aggregate", "aggregate_name": "mean", "real_time": 99, "time_unit": "ns"}]}"#
                .to_owned(),
            "its mean is 99 ns",
        ),
        (
            "<PhoronixTestSuite><System><Identifier>a</Identifier></System><Result><Identifier>t\
             </Identifier><Scale>Seconds</Scale><Proportion>LIB</Proportion><Data><Entry><Value>99\
             </Value><RawString>11:11.5:10.5</RawString></Entry></Data></Result></PhoronixTestSuite>"
                .to_owned(),
            "<Value> is 99, outside its single values",
        ),
        (
            include_str!("foreign/schbench.json")
                .replace("\"rps_min\": ", "\"rps_min\": 9"),
            "contradicts itself",
        ),
        (
            "Unit x better=higher\nUnit x better=lower\nBenchmarkA 1 2 x\n".to_owned(),
            "contradicts line 1",
        ),
        (
            "{\"counter-value\" : \"1\", \"unit\" : \"msec\", \"event\" : \"t\"}\n\
             {\"counter-value\" : \"1\", \"unit\" : \"MiB\", \"event\" : \"t\"}\n"
                .to_owned(),
            "which measure different things",
        ),
    ];
    for (text, expected) in cases {
        let why = refused(&text);
        assert!(why.contains(expected), "{text:?}: {why}");
    }
}

#[test]
fn a_mail_with_blanks_for_tabs_is_read_and_what_got_no_cpu_time_was_not_measured() {
    let table = "--- Benchmarking simulated cpu of Audio in the presence of simulated ---\n\
        Load    Latency +/- SD (ms)  Max Latency   % Desired CPU  % Deadlines Met\n\
        None      0.5 +/- 0.6        1.5             100            100\n\
        Burn      0.0 +/- 0.0        0.0             0              100\n";
    let set = read(table);
    assert_eq!(only(&set, "average_ms"), 0.5);
    let burn = &set.trials[1];
    assert!(burn.samples(None, "deadlines_met_percent").is_none());
    assert!(burn.lost.contains_key("deadlines_met_percent"), "{:?}", burn.lost);
    assert_eq!(burn.samples(None, "desired_cpu_percent").unwrap()[0].value, 0.0);
}

#[test]
fn memory_of_hyperfine_and_facts_of_phoronix_are_read() {
    let text = r#"{"results": [{"command": "a", "times": [1.0, 1.1], "memory_usage_byte": [4096, 8192],
        "exit_codes": [0, 0]}]}"#;
    let set = read(text);
    assert_eq!(only(&set, "peak_bytes"), 4096.0);
    let json = r#"{"cpu-scaling-governor": "performance", "transparent-huge-pages": "madvise"}"#;
    let xml = format!(
        "<PhoronixTestSuite><System><Identifier>a</Identifier><JSON>{json}</JSON></System><Result>\
         <Identifier>t</Identifier><Scale>Seconds</Scale><Proportion>LIB</Proportion><Data><Entry>\
         <Value>2</Value><RawString>2</RawString><JSON>{{\"compiler-options\": \"-O3\"}}</JSON>\
         </Entry></Data></Result></PhoronixTestSuite>"
    );
    let facts = &read(&xml).trials[0].environment;
    assert_eq!((&*facts["governor"], &*facts["thp"]), ("performance", "madvise"));
    assert_eq!(facts["compiler_options of t"], "-O3");
}

#[test]
fn a_text_that_ends_within_a_number_has_a_note_and_lists_are_cut() {
    let has = |text: &str, words: &str| {
        let notes = read(text).notes;
        notes.iter().any(|note| note.contains(words))
    };
    assert!(has("system,cpu_s\na,1.5\nb,1.2", "may be cut"));
    assert!(!has("system,cpu_s\na,1.5\nb,1.2\n", "may be cut"));
    let noise = format!("BenchmarkA 1 2 ns/op\n{}", "noise\n".repeat(20));
    assert!(has(&noise, "lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 10 more"));
}

#[test]
fn files_are_read_as_they_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("times.csv");
    let text = "system,cpu_s\nold,1.5\n";
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    fs::write(&path, utf16).unwrap();
    assert_eq!(only(&observations(&path.to_string_lossy()).unwrap(), "cpu_s"), 1.5);
    fs::write(&path, [0x1f, 0x8b, 0]).unwrap();
    let why = observations(&path.to_string_lossy()).unwrap_err().to_string();
    assert!(why.contains("times.csv"), "{why}");
}

#[test]
fn results_of_go_are_read_in_the_log_of_a_ci_system() {
    let log = "2026-11-22T10:00:00.1234567Z ##[group]Run go test -bench .\n\
               2026-11-22T10:00:01.1234567Z pkg: example\n\
               2026-11-22T10:00:02.1234567Z BenchmarkA-8   \t     100\t        12 ns/op\n\
               2026-11-22T10:00:03.1234567Z BenchmarkB-8   \t     100\t        13 ns/op\n\
               2026-11-22T10:00:04.1234567Z PASS\n";
    let steps = log.replace("2026", "bench\tRun go test\t2026");
    for text in [log, &steps] {
        let set = read(text);
        assert_eq!(set.factors[0].levels, ["A", "B"]);
        assert_eq!(set.trials[0].identity["pkg"], "example");
    }
    let broken = "BenchmarkA-8 \t2026-11-22T10:00:00Z warm\nBenchmarkB-8 100 13 ns/op\n";
    assert!(read(broken).notes.iter().any(|note| note.contains("1 broken row")));
}

#[test]
fn control_characters_of_a_terminal_are_stripped_from_tables() {
    let set = read("system,cpu_s\n\u{1b}[1mold\u{1b}[0m,1.5\u{7}\nnew,1.25\u{0}\n");
    assert_eq!(set.factors[0].levels, ["old", "new"]);
    assert_eq!(only(&set, "cpu_s"), 1.5);
}
