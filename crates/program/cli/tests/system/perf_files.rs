//! What `perf record` wrote, read by `profile --from`, against `perf script`, and against our own samples.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::recorded::compile;
use crate::sampled::can_sample;
use crate::skip::skip;
use crate::support::Fixture;

/// Two functions of 30 and 70 %.
const SHARES: &str = r#"
#include "products.h"
static volatile unsigned long sum;
static volatile long less = 3000000, more = 7000000;
__attribute__((noinline)) static void spins_less(long n) PRODUCTS(sum, n, 6364136223846793005)
__attribute__((noinline)) static void spins_more(long n) PRODUCTS(sum, n, 3935559000370003845)
int main(void) {
    for (int round = 0; round < 100; round++) { spins_less(less); spins_more(more); }
    return 0;
}
"#;
const FUNCTIONS: [&str; 2] = ["spins_less", "spins_more"];

/// Records the program with these options of perf; `None` where perf cannot.
fn recorded(fixture: &Fixture, options: &str) -> Option<()> {
    let mut perf = fixture.other("perf");
    perf.args("record -q -F 997 -e cpu-clock -o perf.data".split(' '));
    perf.args(options.split_whitespace()).arg("./shares");
    let done = perf.stdout(Stdio::null()).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success()).then_some(())
}

/// The samples of each function that `perf script` finds at the top of call stacks.
fn by_script(fixture: &Fixture) -> BTreeMap<String, u64> {
    let mut perf = fixture.other("perf");
    perf.args("script -i perf.data -G -F ip,sym --no-inline".split(' '));
    let output = perf.stderr(Stdio::null()).output().unwrap();
    let mut samples = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let symbol = line.split_whitespace().nth(1).unwrap_or_default();
        *samples.entry(symbol.to_owned()).or_default() += 1;
    }
    samples
}

fn profile(fixture: &Fixture, words: &str) -> Value {
    let finished = fixture.finish(fixture.thrashlab(&format!("profile --json {words}")));
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

fn function<'a>(profile: &'a Value, name: &str) -> &'a Value {
    let functions = profile["functions"].as_array().unwrap();
    let is_it = |it: &&Value| it["name"] == format!("{name} [shares]");
    functions.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {functions:#?}"))
}

#[test]
fn a_file_of_perf_has_the_functions_that_perf_script_finds() {
    const NAME: &str = "a_file_of_perf_has_the_functions_that_perf_script_finds";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    if Command::new("perf").arg("--version").output().is_err() {
        return skip(NAME, "perf is not installed");
    }
    compile(&fixture, "shares.c", SHARES, &["-O2", "-fno-omit-frame-pointer"]);
    let own = profile(&fixture, "-- ./shares");
    for options in ["-g", "--call-graph dwarf", "--switch-events --call-graph dwarf", ""] {
        if recorded(&fixture, options).is_none() {
            return skip(NAME, "perf cannot record here");
        }
        let script = by_script(&fixture);
        let found = profile(&fixture, "--from perf.data");
        let total: f64 = FUNCTIONS.iter().map(|name| script[*name] as f64).sum();
        for name in FUNCTIONS {
            let of_file = function(&found, name);
            assert_eq!(of_file["entries"], script[name], "{options}: {name}");
            // Five standard errors of both: one in a million.
            let [one, other] = [script[name] as f64 / total, share(&own, name)];
            let error = (one * (1.0 - one) / total + other * (1.0 - other) / samples(&own)).sqrt();
            assert!((one - other).abs() < 5.0 * error, "{options}: {name}: {one} {other}");
        }
        // A function that calls none has no frame pointer, so that its caller is left out.
        if options.contains("dwarf") {
            let main = function(&found, "main")["with_callees"].as_f64().unwrap();
            let all = found["on_cpu_ns"].as_f64().unwrap();
            assert!(main > 0.8 * all, "{options}: {main} of {all}");
        }
        let has_waits = !found["missed"].to_string().contains("waits");
        assert_eq!(has_waits, options.contains("--switch-events"), "{options}: {found:#}");
    }
}

fn samples(profile: &Value) -> f64 {
    FUNCTIONS.iter().map(|name| function(profile, name)["entries"].as_f64().unwrap()).sum()
}

fn share(profile: &Value, name: &str) -> f64 {
    function(profile, name)["entries"].as_f64().unwrap() / samples(profile)
}

#[test]
fn what_is_no_file_of_perf_is_refused_in_words() {
    let fixture = Fixture::new();
    let run = |words: &str| fixture.finish(fixture.thrashlab(words));
    run("profile --from nowhere.data").expect(2, &["nowhere.data", "No such file"]);
    std::fs::write(fixture.path().join("text"), "PERFILE2 and more").unwrap();
    run("profile --from text").expect(2, &["text", "not a file of perf record"]);
    run("profile --from text -- true").expect(2, &["--from"]);
}
