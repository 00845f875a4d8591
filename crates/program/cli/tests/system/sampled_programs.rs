//! Profiles of programs by how they are made: in several languages, with code that is loaded later,
//! after `exec`, static, without symbols, and interpreted. Each has two functions of 30 and 70 %, in rounds
//! of different lengths, so that none is in step with the samples.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::recorded::{compile, write_source};
use crate::sampled::can_sample;
use crate::skip::skip;
use crate::support::Fixture;

const C: &str = r#"
#include "products.h"
static volatile unsigned long sum;
static volatile long rounds = 600, few = 100000, many = 233333;
__attribute__((noinline)) static void less(long n) PRODUCTS(sum, n, 6364136223846793005)
__attribute__((noinline)) static void more(long n) PRODUCTS(sum, n, 3935559000370003845)
int main(void) { for (long i = rounds; i > 0; i--) { long k = 1 + i * i % 7; less(k * few); more(k * many); } return 0; }
"#;

/// One function is in a library that is loaded while it runs; then another program takes its place.
const LOADS: &str = r#"
#include "products.h"
#include <dlfcn.h>
#include <unistd.h>
static volatile unsigned long sum;
static volatile long few = 100000;
__attribute__((noinline)) static void less(long n) PRODUCTS(sum, n, 6364136223846793005)
int main(void) {
    void *library = dlopen("./library", RTLD_NOW);
    void (*more)(long) = library ? (void (*)(long))dlsym(library, "more") : 0;
    if (!more) return 1;
    for (int i = 0; i < 600; i++) { long k = 1 + i * i % 7; less(k * few); more(k * 233333); }
    dlclose(library);
    execl("./plain", "plain", (char *)0);
    return 1;
}
"#;
const LIBRARY: &str = r#"
#include "products.h"
static volatile unsigned long sum;
void more(long n) PRODUCTS(sum, n, 3935559000370003845)
"#;

const CPP: &str = r#"
#include "products.h"
namespace space {
template <class T> struct Box {
    volatile T value;
    __attribute__((noinline)) void more(long n) PRODUCTS(value, n, 3935559000370003845)
};
__attribute__((noinline)) static void less(volatile unsigned long &sum, long n) PRODUCTS(sum, n, 6364136223846793005)
}
int main() {
    space::Box<unsigned long> box{0};
    for (int i = 0; i < 600; i++) {
        long k = 1 + i * i % 7;
        space::less(box.value, k * 100000);
        box.more(k * 233333);
    }
}
"#;

const RUST: &str = r#"
use std::hint::black_box;
#[inline(never)]
fn less(n: u64) {
    black_box((0..n).fold(n, |x, i| x.wrapping_mul(6364136223846793005).wrapping_add(i)));
}
mod inner {
    pub struct Held;
    impl Held {
        #[inline(never)]
        pub fn more(&self, n: u64) {
            let all = (0..n).fold(n, |x, i| x.wrapping_mul(3935559000370003845).wrapping_add(i));
            std::hint::black_box(all);
        }
    }
}
fn main() { for i in 0..600 { let k = 1 + i * i % 7; less(k * 100_000); inner::Held.more(k * 233_333); } }
"#;

const GO: &str = r#"
package main
var sum uint64
//go:noinline
func less(n int) { x := sum; for i := 0; i < n; i++ { x = x*6364136223846793005 + uint64(i) }; sum = x }
//go:noinline
func more(n int) { x := sum; for i := 0; i < n; i++ { x = x*3935559000370003845 + uint64(i) }; sum = x }
func main() { for i := 0; i < 600; i++ { k := 1 + i * i % 7; less(k * 100000); more(k * 233333) } }
"#;

/// It writes the names of its functions where an interpreter with machine code of its own would.
const MADE: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long sum;
/* Position-independent: it counts down, and returns. */
static const unsigned char spin[] = {
#if defined(__x86_64__)
    0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3
#else
    0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6
#endif
};
int main(void) {
    char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 1;
    memcpy(code, spin, sizeof spin);
    memcpy(code + 1024, spin, sizeof spin);
    __builtin___clear_cache(code, code + 2048);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %lx less\n%lx %lx more\n", (long)code, sizeof spin, (long)code + 1024, sizeof spin);
    fclose(map);
    for (int i = 0; i < 600; i++) {
        long k = 1 + i * i % 7;
        ((void (*)(long))code)(k * 300000);
        ((void (*)(long))(code + 1024))(k * 700000);
    }
    return 0;
}
"#;

/// The samples of each function of a command that ends with success.
fn samples(fixture: &Fixture, command: &str) -> BTreeMap<String, f64> {
    let finished = fixture.finish(fixture.thrashlab(&format!("profile --json -- {command}")));
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let profile: Value = serde_json::from_str(&finished.stdout).unwrap();
    let functions = profile["functions"].as_array().unwrap().iter();
    functions
        .map(|it| (it["name"].as_str().unwrap().to_owned(), it["entries"].as_f64().unwrap()))
        .collect()
}

/// Two functions have 30 and 70 % of their samples: within five standard errors, one in a million, and
/// what two loops of equal length may differ by.
fn assert_shares(samples: &BTreeMap<String, f64>, [less, more]: [&str; 2]) {
    let [less, more] = [less, more]
        .map(|name| *samples.get(name).unwrap_or_else(|| panic!("{name} is not in {samples:#?}")));
    let (count, share) = (less + more, less / (less + more));
    assert!(count > 40.0, "{samples:#?}");
    assert!((share - 0.3).abs() < 5.0 * (0.21 / count).sqrt() + 0.02, "{share} of {count}");
}

/// A compiler that is not needed otherwise.
fn has(test: &str, compiler: &str) -> bool {
    let is_there = Command::new(compiler).arg("version").output().is_ok();
    if !is_there {
        skip(test, &format!("{compiler} is not installed"));
    }
    is_there
}

/// A source that is built by a command has these two functions.
fn assert_built(fixture: &Fixture, source: (&str, &str), words: &[&str], names: [&str; 2]) {
    let (file, text) = source;
    write_source(fixture, file, text);
    let mut command = fixture.other(words[0]);
    // Go needs a folder for what it has compiled; others leave this alone.
    command.args(&words[1..]).env("GOCACHE", fixture.path().join("go-cache"));
    let output = command.env("GOFLAGS", "-mod=mod").output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert_shares(&samples(fixture, "./built"), names);
}

#[test]
fn what_is_loaded_later_and_what_exec_starts_have_their_names() {
    const NAME: &str = "what_is_loaded_later_and_what_exec_starts_have_their_names";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "plain.c", C, &["-O2"]);
    compile(&fixture, "library.c", LIBRARY, &["-O2", "-shared", "-fPIC"]);
    compile(&fixture, "loads.c", LOADS, &["-O2", "-fomit-frame-pointer"]);
    let found = samples(&fixture, "./loads");
    assert_shares(&found, ["less [loads]", "more [library]"]);
    assert_shares(&found, ["less [plain]", "more [plain]"]);
}

#[test]
fn static_programs_have_names_and_stripped_ones_their_file() {
    const NAME: &str = "static_programs_have_names_and_stripped_ones_their_file";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    for (name, how) in [("fixed", "-static"), ("moved", "-static-pie")] {
        compile(&fixture, &format!("{name}.c"), C, &["-O2", how]);
        let found = samples(&fixture, &format!("./{name}"));
        assert_shares(&found, [&format!("less [{name}]"), &format!("more [{name}]")]);
    }
    compile(&fixture, "stripped.c", C, &["-O2", "-s"]);
    let found = samples(&fixture, "./stripped");
    let all: f64 = found.values().sum();
    assert!(found["[stripped]"] > 0.8 * all, "{found:#?}");
}

#[test]
fn code_that_a_program_makes_has_the_names_of_its_map() {
    const NAME: &str = "code_that_a_program_makes_has_the_names_of_its_map";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "made.c", MADE, &["-O2"]);
    let found = samples(&fixture, "./made");
    assert_shares(&found, ["less", "more"]);
}

#[test]
fn functions_of_rust_have_their_paths() {
    const NAME: &str = "functions_of_rust_have_their_paths";
    let fixture = Fixture::new();
    if can_sample(NAME, &fixture) {
        let names = ["rusty::less [built]", "rusty::inner::Held::more [built]"];
        let words = ["rustc", "-O", "-o", "built", "rusty.rs"];
        assert_built(&fixture, ("rusty.rs", RUST), &words, names);
    }
}

#[test]
fn functions_of_cpp_have_their_names() {
    const NAME: &str = "functions_of_cpp_have_their_names";
    let fixture = Fixture::new();
    if can_sample(NAME, &fixture) && has(NAME, "c++") {
        let names = ["space::less [built]", "space::Box<unsigned long>::more [built]"];
        let words = ["c++", "-O2", "-o", "built", "plus.cc"];
        assert_built(&fixture, ("plus.cc", CPP), &words, names);
    }
}

#[test]
fn functions_of_go_have_their_names() {
    const NAME: &str = "functions_of_go_have_their_names";
    let fixture = Fixture::new();
    if can_sample(NAME, &fixture) && has(NAME, "go") {
        let names = ["main.less [built]", "main.more [built]"];
        let words = ["go", "build", "-o", "built", "going.go"];
        assert_built(&fixture, ("going.go", GO), &words, names);
    }
}
