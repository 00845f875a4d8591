//! Exact profiles: the same run, and the counts that the kernel has too.

use std::fs;
use std::path::Path;
use std::process::Command;

use model::{CounterSet, Line, Run};
use serde_json::Value;

use crate::lab::Lab;
use crate::skip::skip;

fn json(lab: &Lab, arguments: &[&str]) -> Value {
    let printed = lab.command(&[&["profile", "--json"], arguments].concat());
    printed.expect(0, &[]);
    serde_json::from_str(&printed.stdout).unwrap()
}

/// A field of a function.
fn of(profile: &Value, function: &str, field: &str) -> u64 {
    let functions = profile["functions"].as_array().unwrap();
    let found = functions.iter().find(|it| it["name"] == function);
    found.unwrap_or_else(|| panic!("no {function}"))[field].as_u64().unwrap()
}

/// A reading of the kernel's counters: it lies between two times, in ns of the run.
struct Reading {
    after_ns: u64,
    before_ns: u64,
    faults: u64,
    switches: u64,
}

/// The readings before the first response and after each of them.
fn readings(run: &Run) -> Vec<Reading> {
    let mut last_ns = 0;
    let reading = |line: &Line| {
        let before_ns = line.at_ns().unwrap();
        let line_before_ns = std::mem::replace(&mut last_ns, before_ns);
        let (after_ns, set) = match line {
            Line::Counters(record) => (line_before_ns, &record.counters),
            Line::Sample(sample) => (sample.intended_ns + sample.delay_ns(), &sample.after),
            _ => return None,
        };
        let set = serde_json::to_value(set).unwrap();
        let (faults, switches) =
            (set["vmstat"]["pgfault"].as_u64()?, set["stat"]["ctxt"].as_u64()?);
        Some(Reading { after_ns, before_ns, faults, switches })
    };
    run.lines.iter().filter_map(reading).collect()
}

#[test]
fn a_profile_counts_what_the_kernel_counts() {
    let Some(lab) = Lab::with_engine("a_profile_counts_what_the_kernel_counts") else { return };
    let (file, run) = lab.swapping_run("");
    let readings = readings(&run);
    // Some readings take long, while the machine thrashes: the quickest of each half.
    let quickest = |part: &[Reading]| {
        let ns = |at: &usize| part[*at].before_ns - part[*at].after_ns;
        (0..part.len()).min_by_key(ns).unwrap()
    };
    let half = readings.len() / 2;
    let first = &readings[quickest(&readings[..half])];
    let last = &readings[half + quickest(&readings[half..])];
    let between = |since_ns: u64, until_ns: u64| {
        let [since, until] = [since_ns, until_ns].map(|time_ns| format!("{time_ns}ns"));
        json(&lab, &[&file, "--since", &since, "--until", &until])
    };
    // A reading takes milliseconds, so the counts lie between those of two intervals.
    let inner = between(first.before_ns, last.after_ns);
    let outer = between(first.after_ns, last.before_ns);
    for (function, counted) in [
        ("handle_mm_fault", last.faults - first.faults),
        ("__switch_to_asm", last.switches - first.switches),
    ] {
        let [least, most] = [&inner, &outer].map(|it| of(it, function, "entries"));
        assert!(counted > 1000, "{function}: {counted}");
        assert!((least..=most).contains(&counted), "{function}: {least} {counted} {most}");
        assert!(most - least <= counted / 50, "{function}: {least} {counted} {most}");
    }
}

#[test]
fn parts_of_a_profile_sum_to_the_whole() {
    let Some(lab) = Lab::with_engine("parts_of_a_profile_sum_to_the_whole") else { return };
    let (file, run) = lab.swapping_run("");
    let whole = json(&lab, &[&file]);
    let sum = |profile: &Value, list: &str, field: &str| -> u64 {
        let all = profile[list].as_array().unwrap();
        all.iter().map(|it| it[field].as_u64().unwrap()).sum()
    };
    let all = whole["instructions"].as_u64().unwrap();
    assert_eq!(sum(&whole, "areas", "instructions"), all);
    assert_eq!(sum(&whole, "functions", "own"), all);
    assert_eq!(sum(&whole, "tasks", "instructions"), all);
    // One of the load, the kernel's own, and the idle one.
    for name in ["thrashlab-agent", "kswapd0", "swapper/0"] {
        let tasks = whole["tasks"].as_array().unwrap();
        assert!(tasks.iter().any(|task| task["name"] == name), "{name}: {tasks:?}");
    }
    assert!(whole["proof"].as_str().unwrap().contains("is the given file"), "{}", whole["proof"]);
    // An instruction takes 8 ns.
    let end_ns = run.lines.iter().filter_map(Line::at_ns).max().unwrap();
    assert!(all > 0 && 8 * all <= end_ns, "{all} {end_ns}");
    let middle = format!("{}ns", end_ns / 2);
    let halves = ["--until", "--since"]
        .map(|option| json(&lab, &[&file, option, &middle])["instructions"].as_u64().unwrap());
    assert_eq!(halves[0] + halves[1], all);
    let response = json(&lab, &[&file, "--response", "0"]);
    assert_eq!(response["instructions"], whole["responses"][0]["instructions"]);

    let written = [("--collapsed", "txt"), ("--firefox", "firefox.json"), ("--schedule", "json")];
    let files = written.map(|(_, ending)| lab.fixture.path().join(format!("written.{ending}")));
    let paths = files.each_ref().map(|file| file.display().to_string());
    let options = written.iter().zip(&paths).flat_map(|((option, _), path)| [*option, path]);
    let arguments: Vec<&str> = ["profile", &file].into_iter().chain(options).collect();
    lab.command(&arguments).expect(0, &["wrote "]);
    let [text, firefox, schedule] = files.map(|file| fs::read_to_string(file).unwrap());
    let [firefox, schedule] =
        [firefox, schedule].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    let weights = firefox["threads"][0]["samples"]["weight"].as_array().unwrap();
    assert_eq!(weights.iter().map(|it| it.as_u64().unwrap()).sum::<u64>(), all);
    // One virtual CPU always executes a task.
    let events = schedule["traceEvents"].as_array().unwrap();
    let of_cpu = events.iter().filter(|it| it["pid"] == 1 && it["ph"] == "X");
    let executed_us: f64 = of_cpu.map(|it| it["dur"].as_f64().unwrap()).sum();
    assert!((executed_us * 1e3 / end_ns as f64 - 1.0).abs() < 1e-6, "{executed_us} µs");
    let counts = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), all);
    assert!(text.contains("[user];[thrashlab-agent];asm_exc_page_fault;exc_page_fault;"), "{text}");
}

#[test]
fn a_schedule_is_read_by_babeltrace() {
    let name = "a_schedule_is_read_by_babeltrace";
    let Some(lab) = Lab::with_engine(name) else { return };
    let (file, run) = lab.swapping_run("");
    let trace = lab.fixture.path().join("written.ctf");
    let folder = trace.display().to_string();
    lab.command(&["profile", &file, "--ctf", &folder]).expect(0, &["wrote "]);
    lab.command(&["profile", &file, "--ctf", &folder]).expect(2, &["name a new folder"]);
    let metadata = fs::read_to_string(trace.join("metadata")).unwrap();
    assert!(metadata.starts_with("/* CTF 1.8 */"), "{metadata}");
    let stream = fs::read(trace.join("cpu_0")).unwrap();
    assert_eq!(stream[24..32], (8 * stream.len() as u64).to_le_bytes());
    assert!(stream.windows(8).any(|it| it == b"kswapd0\0"));
    // A reader of others, which complains on standard error.
    let Ok(read) = Command::new("babeltrace2").arg(&trace).output() else {
        return skip(name, "babeltrace2 is not installed");
    };
    let [text, complaints] = [read.stdout, read.stderr].map(|it| String::from_utf8(it).unwrap());
    assert!(read.status.success() && complaints.is_empty(), "{complaints}");
    let count = |name: &str| text.lines().filter(|line| line.contains(name)).count();
    let responses = run.lines.iter().filter(|line| matches!(line, Line::Sample(_))).count();
    assert_eq!(count(" thrashlab_response_begin: "), responses);
    assert_eq!(count(" thrashlab_response_end: "), responses);
    assert!(text.contains("sched_wakeup: { cpu_id = 0 }, { comm = \"kswapd0\", tid = "));
    // Whom a CPU leaves is whom it went to before.
    let field = |line: &str, name: &str| -> String {
        let after = line.split_once(&format!("{name}_tid = ")).unwrap().1;
        after.split([',', ' ']).next().unwrap().to_owned()
    };
    let switches: Vec<&str> = text.lines().filter(|line| line.contains("sched_switch")).collect();
    assert!(switches.len() > 1000, "{}", switches.len());
    for two in switches.windows(2) {
        assert_eq!(field(two[0], "next"), field(two[1], "prev"), "{two:?}");
    }
}

#[test]
fn the_difference_of_two_runs_is_named() {
    let Some(lab) = Lab::with_engine("the_difference_of_two_runs_is_named") else { return };
    let (file, _) = lab.swapping_run("");
    let same = json(&lab, &[&file, &file]);
    assert_eq!(same["functions"].as_array().unwrap().len(), 0);
    let other = lab.sibling();
    let (other_file, _) = other.swapping_run("sysctl.vm.swappiness=0");
    let other_file = other.fixture.path().join(other_file).display().to_string();
    let different = json(&lab, &[&file, &other_file]);
    let functions = different["functions"].as_array().unwrap();
    let shares: f64 = functions.iter().map(|it| it["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
}

/// A program that calls `work` ten times, and a second time for each of so many rounds.
const PROGRAM: &str = "
#include <unistd.h>
static volatile int sink;
__attribute__((noinline)) void work(int rounds) {
    for (int round = 0; round < rounds; round++) sink += round;
}
__attribute__((noinline)) int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
int main(void) {
    for (int call = 0; call < 10; call++) {
        work(ROUNDS);
        sink += fibonacci(10);
        if (write(1, \".\", 1) != 1) return 1;
    }
    return 0;
}
";

/// Makes the static program `bin/NAME` of a folder.
fn compile(folder: &Path, name: &str, rounds: u32) {
    compile_text(folder, name, PROGRAM, rounds);
}

/// Makes the static program `bin/NAME` of a folder from its text.
fn compile_text(folder: &Path, name: &str, text: &str, rounds: u32) {
    let source = folder.join("program.c");
    fs::write(&source, text).unwrap();
    fs::create_dir_all(folder.join("overlay/bin")).unwrap();
    // Rust links with it, so it is here.
    let status = Command::new("cc")
        .args(["-O1", "-static", &format!("-DROUNDS={rounds}"), "-o"])
        .args([&folder.join("overlay/bin").join(name), &source])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn functions_of_programs_are_counted_by_name() {
    let name = "functions_of_programs_are_counted_by_name";
    let Some(lab) = Lab::with_engine(name) else { return };
    compile(lab.fixture.path(), "program", 1000);
    let subject = format!("vm:{},overlay=overlay", lab.machine());
    let arguments = ["run", "--subject", &subject, "--load", "noload", "--output", "output"];
    let command = ["--runs", "3", "--", "/bin/program"];
    lab.command(&[&arguments[..], &command].concat()).expect(0, &[]);
    let (file, bytes) = lab.files().remove(0);
    let run = Run::parse(&bytes).unwrap();
    let runs = run.lines.iter().filter(|line| matches!(line, Line::Work(_))).count() as u64;
    let profile = json(&lab, &[&format!("output/{file}.run.jsonl")]);
    assert!(runs >= 3, "{runs}");
    assert_eq!(of(&profile, "work [program]", "entries"), 10 * runs);
    // 177 calls for each: 2 F(11) - 1.
    assert_eq!(of(&profile, "fibonacci [program]", "entries"), 177 * 10 * runs);
    // A round takes four to six instructions.
    let own = of(&profile, "work [program]", "own");
    assert!((4..7).contains(&(own / (10_000 * runs))), "{own} in {runs} runs");
    let main = of(&profile, "main [program]", "with_callees");
    assert!(main > own + of(&profile, "fibonacci [program]", "own"), "{main}");
}

/// Two functions with the same loop, so that their times are as their numbers of instructions.
const PARTS: &str = "
static volatile unsigned long sink;
__attribute__((noinline)) void less(long rounds) { for (long i = 0; i < rounds; i++) sink += i; }
__attribute__((noinline)) void more(long rounds) { for (long i = 0; i < rounds; i++) sink += i; }
int main(void) {
    for (int call = 0; call < 100; call++) {
        less(3L * ROUNDS);
        more(7L * ROUNDS);
    }
    return 0;
}
";

#[test]
fn samples_of_a_real_machine_agree_with_the_exact_profile_of_the_same_program() {
    let name = "samples_of_a_real_machine_agree_with_the_exact_profile_of_the_same_program";
    let Some(lab) = Lab::with_engine(name) else { return };
    compile_text(lab.fixture.path(), "parts", PARTS, 80_000);
    let sampled = lab.command(&["profile", "--json", "--rate", "4999", "--", "overlay/bin/parts"]);
    if sampled.code() == Some(3) {
        return skip(name, "perf_event_open is not permitted here");
    }
    let sampled: Value = serde_json::from_str(&sampled.stdout).unwrap();
    let subject = format!("vm:{},overlay=overlay", lab.machine());
    let arguments = ["run", "--subject", &subject, "--load", "noload", "--output", "output"];
    lab.command(&[&arguments[..], &["--runs", "1", "--", "/bin/parts"]].concat()).expect(0, &[]);
    let file = lab.files().remove(0).0;
    let exact = json(&lab, &[&format!("output/{file}.run.jsonl")]);
    let names = ["less [parts]", "more [parts]"];
    let share_of_more = |profile: &Value| {
        let [less, more] = names.map(|name| of(profile, name, "own") as f64);
        more / (less + more)
    };
    let (by_samples, by_instructions) = (share_of_more(&sampled), share_of_more(&exact));
    assert!((by_instructions - 0.7).abs() < 0.001, "{by_instructions}");
    let samples: u64 = names.iter().map(|name| of(&sampled, name, "entries")).sum();
    let error = (0.7 * 0.3 / samples as f64).sqrt();
    assert!(samples > 30 && (by_samples - by_instructions).abs() < 5.0 * error, "{by_samples}");
}

#[test]
fn a_comparison_of_two_programs_names_the_function_that_changed() {
    let name = "a_comparison_of_two_programs_names_the_function_that_changed";
    let Some(lab) = Lab::with_engine(name) else { return };
    compile(lab.fixture.path(), "old", 200_000);
    compile(lab.fixture.path(), "new", 220_000);
    let subject = format!("vm:{},overlay=overlay", lab.machine());
    let arguments = ["ab", "command", "/bin/old", "/bin/new", "--subject", &subject, "--json"];
    let printed = lab.command(&[&arguments[..], &["--output", "ab"]].concat());
    printed.expect(0, &[]);
    let result: Value = serde_json::from_str(&printed.stdout).unwrap();
    let culprit = &result["functions"]["culprit"];
    assert_eq!(culprit["name"], "work [old/new]", "{}", result["functions"]);
    assert!((culprit["share"].as_f64().unwrap() - 1.0).abs() < 0.05, "{culprit}");
    let low = result["functions"]["interval"][0].as_f64().unwrap();
    assert!(low > 0.0, "{}", result["functions"]["interval"]);
    let arguments = ["compare", "ab", "--factor", "command", "--margin", "3%"];
    let printed = lab.command(&[&arguments[..], &["--by-function"]].concat());
    printed.expect(0, &[]);
    let words: Vec<&str> = printed.stdout.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("of it in work [old/new] and what it calls"), "{text}");
}

#[test]
fn several_cpus_have_a_profile_too() {
    let Some(lab) = Lab::with_engine("several_cpus_have_a_profile_too") else { return };
    for settings in ["cpus=2", "cpus=2,cpus.model=parallel"] {
        let lab = lab.sibling();
        let (file, _) = lab.swapping_run(settings);
        let profile = json(&lab, &[&file]);
        assert!(of(&profile, "handle_mm_fault", "entries") > 1000);
    }
}

/// Where the kernel counts the time of the task that is timed, the path has the same.
#[test]
fn critical_paths_are_the_delays_without_gaps() {
    let name = "critical_paths_are_the_delays_without_gaps";
    let Some(lab) = Lab::with_engine(name) else { return };
    let mut checked = 0;
    for settings in ["", ",cpus=2"] {
        let lab = lab.sibling();
        let (file, run) = lab.swapping_run(settings);
        // Without any, nobody knows who is timed.
        let is_timed = run.samples().any(|sample| sample.completed_ns.is_some());
        for sample in run.samples() {
            let profile = json(&lab, &[&file, "--response", &sample.index.to_string()]);
            if !is_timed {
                assert_eq!(profile["critical_path"], Value::Null);
                continue;
            }
            let segments = profile["critical_path"]["segments"].as_array().unwrap();
            let field = |segment: &Value, name: &str| segment[name].as_u64().unwrap();
            let mut at_ns = sample.intended_ns;
            for segment in segments {
                assert_eq!(field(segment, "from_ns"), at_ns, "a gap");
                at_ns = field(segment, "to_ns");
            }
            assert_eq!(at_ns, sample.intended_ns + sample.delay_ns());
            let (Some(started_ns), Some(_)) = (sample.started_ns, sample.completed_ns) else {
                continue;
            };
            checked += 1;
            let timed = segments.last().unwrap()["task"].as_str().unwrap();
            assert!(timed.starts_with("thrashlab-agent ("), "{timed}");
            let executes =
                segments.iter().filter(|it| it["task"] == timed && it["doing"] == "executes");
            let executed_ns: u64 = executes
                .map(|it| field(it, "to_ns").saturating_sub(field(it, "from_ns").max(started_ns)))
                .sum();
            // Its own counters, read at its start: the observer's reading may be held up.
            let ran_ns = |set: &CounterSet| set["rusage"]["user_ns"] + set["rusage"]["system_ns"];
            let kernel_ns = ran_ns(&sample.after) - ran_ns(&sample.before);
            let ratio = executed_ns as f64 / kernel_ns as f64;
            assert!((0.9..1.1).contains(&ratio), "{executed_ns} ns, the kernel has {kernel_ns}");
        }
    }
    assert!(checked > 0);
}

#[test]
fn a_kernel_that_dies_is_profiled_to_its_last_instruction() {
    let name = "a_kernel_that_dies_is_profiled_to_its_last_instruction";
    let Some(lab) = Lab::with_engine(name) else { return };
    let settings = "kernel_mem=37M,swap=0,sysctl.vm.panic_on_oom=1";
    lab.finish(settings, "--load 2ctx-mem").expect(0, &["2ctx-mem ended as KernelDied"]);
    let profile = json(&lab, &["output/007-2ctx-mem-seed1.run.jsonl"]);
    let death = &profile["death"];
    assert!(death["cause"].as_str().unwrap().contains("Kernel panic"), "{death}");
    let stack: Vec<&str> =
        death["stack"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    for function in ["panic", "out_of_memory", "[user]"] {
        assert!(stack.contains(&function), "{function}: {stack:?}");
    }
    // The kernel panics by itself.
    assert_eq!(death["function"], Value::Null);
}

#[test]
fn what_cannot_be_profiled_is_refused_with_the_next_step() {
    let name = "what_cannot_be_profiled_is_refused_with_the_next_step";
    let Some(lab) = Lab::with_engine(name) else { return };
    lab.command(&["profile", "no.run.jsonl"]).expect(2, &["read no.run.jsonl"]);
    fs::write(lab.fixture.path().join("not.run.jsonl"), "{}\n").unwrap();
    lab.command(&["profile", "not.run.jsonl"]).expect(2, &["not.run.jsonl is not a run file"]);
    let (file, _) = lab.swapping_run("");
    let wrong = lab.command(&["profile", &file, "--response", "99"]);
    wrong.expect(2, &["--response 99: the run has none"]);
    lab.command(&["profile", &file, "--since", "60m"]).expect(2, &["--since and --until"]);
    // A file of another program.
    let path = lab.fixture.path().join(&file);
    let text = fs::read_to_string(&path).unwrap();
    let key = text.find("vm_machine_blake3\":\"").unwrap() + 20;
    let other = if text[key..].starts_with('0') { "1" } else { "0" };
    let changed = [&text[..key], other, &text[key + 1..]].concat();
    fs::write(&path, changed).unwrap();
    let profile = json(&lab, &[&file]);
    let proof = profile["proof"].as_str().unwrap();
    assert!(proof.contains("the given file is of others"), "{proof}");
    // One that was changed.
    fs::write(&path, text.replacen("\"started_ns\":", "\"started_ns\":1", 1)).unwrap();
    let changed = lab.command(&["profile", &file]);
    changed.expect(3, &["no profile of ", "they differ first in line"]);

    let without = Lab::of_system(name).unwrap();
    without.finish("", "--load noload --points 1 --interval 10ms").expect(0, &[]);
    let files = without.files();
    let file = format!("output/{}.run.jsonl", files[0].0);
    let refused = without.command(&["profile", &file]);
    refused.expect(3, &["a profile needs the engine", "thrashlab vm engine build"]);
}
