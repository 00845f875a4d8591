//! What slow responses of a run on this machine waited for, from the switches of the probe's thread, against
//! what the kernel's counters say of them.

use std::fs;
use std::path::PathBuf;

use model::{Run, SampleRecord};
use serde_json::Value;

use crate::sampled::can_sample;
use crate::skip::skip;
use crate::support::Fixture;

/// What both may differ by: counters are read a little earlier and later.
const TOLERANCE_NS: f64 = 3e6;

/// The counters are read at most so long before the intended start.
const LEAD_NS: f64 = 1e7;

/// The increase of a counter during a sample, in ns.
fn counted(sample: &SampleRecord, source: &str, names: &[&str]) -> Option<f64> {
    let [before, after] = [&sample.before, &sample.after].map(|set| set.get(source));
    let (before, after) = (before?, after?);
    let increase = |name: &&str| Some(after.get(*name)? - before.get(*name)?);
    names.iter().map(increase).sum::<Option<u64>>().map(|ns| ns as f64)
}

/// The run files of the folder of results.
fn run_files(fixture: &Fixture) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture.path().join("results")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let is_run = |path: &PathBuf| path.to_string_lossy().ends_with(".run.jsonl");
    let mut files: Vec<PathBuf> = files.filter(is_run).collect();
    files.sort();
    files
}

fn time_of(path: &Value, doing: &str) -> f64 {
    let segments = path["segments"].as_array().unwrap().iter();
    let of = segments.filter(|it| it["doing"] == doing);
    of.map(|it| it["to_ns"].as_f64().unwrap() - it["from_ns"].as_f64().unwrap()).sum()
}

#[test]
fn critical_paths_agree_with_the_counters_of_their_responses() {
    const NAME: &str = "critical_paths_agree_with_the_counters_of_their_responses";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    let words = "run --profile --quick --load cpuload --subject host --output results --no-report";
    let finished = fixture.finish(fixture.thrashlab(words));
    if finished.stderr.contains("no critical paths") {
        return skip(NAME, "perf_event_open is not permitted here");
    }
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let (mut known, mut agree) = (0, Vec::new());
    for file in run_files(&fixture) {
        let text = fs::read_to_string(file.with_extension("").with_extension("paths.json"));
        let found: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let mut former_end_ns = 0;
        let run = Run::parse(&fs::read(&file).unwrap()).unwrap();
        for sample in run.samples() {
            let paths = found["paths"].as_array().unwrap();
            let Some(path) = paths.iter().find(|it| it["response"]["index"] == sample.index) else {
                assert!(!found["missed"].as_array().unwrap().is_empty(), "{found:#}");
                continue;
            };
            known += 1;
            let [executes, waits, for_cpu] =
                ["executes", "waits", "waits-for-cpu"].map(|doing| time_of(path, doing));
            let delay_ns = sample.delay_ns() as f64;
            assert!((executes + waits + for_cpu - delay_ns).abs() < 1.0, "{path:#}");
            // A hypervisor and interrupts take time from a thread that has a CPU.
            let used = counted(sample, "rusage", &["user_ns", "system_ns"]).unwrap();
            assert!(used - executes < TOLERANCE_NS, "{used} {executes} {path:#}");
            let is_due = former_end_ns <= sample.intended_ns;
            former_end_ns = sample.intended_ns + sample.delay_ns();
            if let Some(wait) = counted(sample, "schedstat", &["wait_ns"]).filter(|_| is_due) {
                let late_ns = (sample.at_ns - former_end_ns) as f64 + LEAD_NS;
                let is_above = for_cpu - wait < TOLERANCE_NS;
                let is_below = wait - for_cpu - waits < TOLERANCE_NS + late_ns;
                agree.push(is_above && is_below);
            }
        }
    }
    // On a busy machine the observer reads some counters after the start, so that they lack a part.
    let agreeing = agree.iter().filter(|it| **it).count();
    assert!(2 * agreeing >= agree.len(), "{agree:?}");
    assert!(known > 0, "{}", finished.stderr);
    let shown = fixture.finish(fixture.thrashlab("show results --worst 1"));
    assert_eq!(shown.code(), Some(0), "{}", shown.stderr);
    let first = run_files(&fixture).remove(0);
    let words = format!("profile {}", first.display());
    let of_run = fixture.finish(fixture.thrashlab(&words));
    assert!(of_run.stdout.contains("Critical path of response"), "{}", of_run.stdout);
}

#[test]
fn paths_of_guests_are_refused_with_the_way_to_them() {
    let fixture = Fixture::new();
    let refused = fixture.finish(fixture.thrashlab("run --profile --subject vm"));
    refused.expect(2, &["--profile", "thrashlab profile RUN"]);
}
