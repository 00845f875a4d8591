//! Runs that are observed by samples: what a command does, and what it waits for below a limit.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::recorded::compile;
use crate::sampled::{can_sample, profiled};
use crate::screen::screen;
use crate::skip::skip;
use crate::support::{Fixture, is_root, sandbox_works};

/// Reads the pages of a file in another order than theirs, several times: few, so that below the limit it
/// is slower by a few times, and does not end by a timeout on any disk.
const READER: &str = r#"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long sum;
__attribute__((noinline)) void reads_keys(unsigned char *data, unsigned long size) {
    for (unsigned long at = 0; at < size; at += 4096) sum += data[(at * 2654435761ul) % size];
}
int main(int count, char **arguments) {
    int file = open(arguments[1], O_RDONLY);
    unsigned long size = lseek(file, 0, SEEK_END);
    unsigned char *data = mmap(0, size, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) return 1;
    madvise(data, size, MADV_RANDOM);
    for (int round = 0; round < 5; round++) reads_keys(data, size);
    return 0;
}
"#;
const KEYS_BYTES: usize = 24 << 20;

#[test]
fn a_limit_names_what_is_read_again_below_it_and_by_which_function() {
    const NAME: &str = "a_limit_names_what_is_read_again_below_it_and_by_which_function";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    if !is_root() || !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    compile(&fixture, "reader.c", READER, &["-O1", "-g"]);
    let mut keys = fs::File::create(fixture.path().join("keys")).unwrap();
    keys.write_all(&vec![7; KEYS_BYTES]).unwrap();
    // What is not written yet stays in memory, and the first run would be none of a cold file.
    keys.sync_all().unwrap();
    let cold = "dd if=keys iflag=nocache count=0 status=none";
    let words =
        ["limit", "--range", "128M..16M", "--budget", "6", "--work-dir", "work", "-o", "found"];
    // However slow the disk is, no run is cut off.
    let command = ["--most", "1000", "--prepare", cold, "--", "./reader", "keys"];
    let words = [&words[..], &command].concat();
    let shown = screen(&fixture, &words);
    let observed = "pages read from a device";
    assert!(shown.contains(observed) && shown.contains("data of keys, by reads_keys"), "{shown}");
    let again = screen(&fixture, &["sweep", "--from", "found"]);
    assert!(again.contains(observed), "{again}");
    let without = screen(
        &fixture,
        &[&["limit", "--no-profile"], &words[1..7], &["-o", "other"], &words[9..]].concat(),
    );
    assert!(!without.contains(observed), "{without}");
}

#[test]
fn a_run_with_its_profile_is_read_again() {
    const NAME: &str = "a_run_with_its_profile_is_read_again";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    let finished = fixture
        .finish(fixture.thrashlab("run --profile --work-dir work -o runs --runs 2 -- sleep 0.2"));
    finished.expect(0, &[]);
    assert!(finished.stdout.contains("Profile: "), "{}", finished.stdout);
    let shown = fixture.finish(fixture.thrashlab("show runs"));
    assert!(shown.stdout.contains("Profile: "), "{}", shown.stdout);
    let run = "runs/001-noload.run.jsonl";
    let finished = fixture.finish(fixture.thrashlab(&format!("profile --json {run}")));
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let profile: Value = serde_json::from_str(&finished.stdout).unwrap();
    let waits_ns = profile["waits_ns"].as_f64().unwrap();
    // Two repetitions of a command, and nothing of what measures it.
    assert!((0.4e9..0.6e9).contains(&waits_ns), "{profile:#}");
    let names = profile["tasks"].as_array().unwrap().iter().map(|task| task["name"].as_str());
    assert!(names.flatten().all(|name| !name.contains("thrashlab")), "{profile:#}");
}

#[test]
fn what_cannot_be_told_apart_is_not_profiled() {
    let fixture = Fixture::new();
    for (words, reason) in [
        ("run --profile --load spawnload -- true", "programs of spawnload"),
        ("run --profile --job touch", "--profile is for the responses of a probe and for commands"),
        ("run --profile --subject vm -- true", "host and sandbox"),
    ] {
        fixture.finish(fixture.thrashlab(words)).expect(2, &[reason]);
    }
}

/// Two functions that are inlined into a third, 30 and 70 % of its time.
const INLINED: &str = r#"
#include "products.h"
static volatile unsigned long sum;
#define INLINED static inline __attribute__((always_inline))
INLINED void adds(long rounds) PRODUCTS(sum, rounds, 6364136223846793005)
INLINED void takes(long rounds) PRODUCTS(sum, rounds, 3935559000370003845)
INLINED void both(long rounds) { adds(3 * rounds); takes(7 * rounds); }
__attribute__((noinline)) void works(long rounds) { both(rounds); }
int main(void) {
    for (int round = 0; round < 100; round++) works(400000);
    return 0;
}
"#;

#[test]
fn functions_that_were_inlined_are_named_where_the_program_has_their_names() {
    const NAME: &str = "functions_that_were_inlined_are_named_where_the_program_has_their_names";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    let functions = |arguments: &[&str]| {
        compile(&fixture, "inlined.c", INLINED, arguments);
        let (profile, _) = profiled(&fixture, "", "inlined");
        // On a busy machine the kernel's part of a function's time is considerable.
        let share = |name: &str| {
            let all = profile["functions"].as_array().unwrap();
            let found = all.iter().find(|it| it["name"] == format!("{name} [inlined]"));
            let ns = |it: &Value| it["with_callees"].as_f64().unwrap();
            found.map(|it| ns(it) / profile["on_cpu_ns"].as_f64().unwrap())
        };
        ["adds", "takes", "both", "works"].map(share)
    };
    let [adds, takes, both, works] = functions(&["-O2", "-g"]).map(Option::unwrap);
    // Some 200 samples: five standard errors are 0.16.
    assert!((adds - 0.3).abs() < 0.17 && (takes - 0.7).abs() < 0.17, "{adds} {takes}");
    assert!(both > 0.9 && (both - works).abs() < 0.1, "{both} {works}");
    let [adds, _, both, works] = functions(&["-O2", "-s", "-rdynamic"]);
    assert!(adds.is_none() && both.is_none() && works.unwrap() > 0.9);
}

/// Executes a known number of instructions: at least three for each round.
const ROUNDS: &str = r#"
static volatile unsigned long sum;
int main(void) {
    for (long i = 0; i < 20000000; i++) sum += i;
    return 0;
}
"#;

#[test]
fn instructions_of_a_command_are_counted_where_the_cpu_counts_them() {
    const NAME: &str = "instructions_of_a_command_are_counted_where_the_cpu_counts_them";
    let fixture = Fixture::new();
    if Command::new("cc").arg("--version").output().is_err() {
        return skip(NAME, "no C compiler is installed");
    }
    compile(&fixture, "rounds.c", ROUNDS, &["-O2"]);
    let words = "run --subject host --work-dir work -o runs --runs 3 --json -- ./rounds";
    let finished = fixture.finish(fixture.thrashlab(words));
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let result: Value = serde_json::from_str(&finished.stdout).unwrap();
    let counts = result["rows"][0]["counts"].as_array().cloned().unwrap_or_default();
    let is_it = |it: &&Value| it["name"].as_str().is_some_and(|name| name.contains("instructions"));
    let Some(instructions) = counts.iter().find(is_it) else {
        // It says why, once.
        let missed: Vec<&Value> = result["missed"].as_array().unwrap().iter().collect();
        let why = missed.iter().filter(|it| it.to_string().contains("instructions")).count();
        assert_eq!(why, 1, "{result:#}");
        return skip(NAME, "this CPU's counters are not available");
    };
    let mean = instructions["mean"].as_f64().unwrap();
    assert!((6e7..2e8).contains(&mean), "{counts:#?}");
}
