//! The commands of an ordinary user as they are typed: `run -- COMMAND`, `ab` and `limit`.

use serde_json::Value;

use crate::guest::Guest;

#[test]
fn the_commands_of_an_ordinary_user_are_timed_compared_and_limited_as_typed() {
    let test = "the_commands_of_an_ordinary_user_are_timed_compared_and_limited_as_typed";
    let Some(mut guest) = Guest::for_long(test) else { return };
    // In an emulated guest next to other work, starting `sleep` takes up to seconds, and varies by half:
    // what is certain in four blocks is twelve times as slow.
    let files = "seq 1 400000 > big && printf '#!/bin/sh\nsleep 0.1\n' > a && chmod +x a && \
                 begun=$(date +%s%N) && ./a && ./a && ./a && \
                 ms=$(( ($(date +%s%N) - begun) * 12 / 3000000 )) && \
                 printf '#!/bin/sh\nsleep %d.%03d\n' $((ms / 1000)) $((ms % 1000)) > b && chmod +x b";
    guest.login("alice", files).expect(0, &[]);

    // gzip refuses to overwrite what its first repetition created.
    let run = guest.login("alice", "thrashlab run --runs 3 -- gzip -9 -k big");
    run.expect(0, &["the sandbox is created in thrashlab-"]);
    run.prints(&["gzip -9 -k big takes ", "without big.gz"]);
    guest.assert_nothing_left();

    let ab =
        guest.login("alice", "thrashlab ab command './a' './b' --blocks 4 --set command.runs=2");
    ab.expect(0, &[]).prints(&["./b is a regression against ./a: elapsed_ns ×"]);
    guest.assert_nothing_left();

    let limit = guest.login("alice", "thrashlab limit --budget 6 --price 50% -- sort big");
    limit.expect(0, &[]).prints(&["ecommended"]);
    guest.assert_nothing_left();

    let wrong = guest.login("alice", "thrashlab run --prepare 'echo why >&2; exit 3' -- true");
    wrong.expect(3, &["the prepare command", "failed: exit code 3: why"]);
    let doctor = guest.login("alice", "thrashlab doctor -- sh -c 'sort big > /dev/null; exit 5'");
    doctor.expect(5, &["Over ", "the command ended with 5"]);
    guest.assert_nothing_left();
}

/// Two programs whose second one calls a library, of which Debian has only some names: its file is one.
const PROGRAMS: &str = r#"cat >old <<'END'
#!/usr/bin/perl
my ($seed, @numbers) = 7;
for (1 .. 60000) { $seed = ($seed * 16807) % 2147483647; push @numbers, $seed; }
END
(cat old; echo 'crypt("word$_", q($6$rounds=1000$salt)) for 1 .. 200;') >new
chmod +x old new
thrashlab ab command ./old ./new --response cpu_ns"#;

#[test]
fn ab_names_the_library_that_a_program_calls_more() {
    let test = "ab_names_the_library_that_a_program_calls_more";
    let Some(mut guest) = Guest::for_long(test) else { return };
    guest.root("sysctl -qw kernel.perf_event_paranoid=2").expect(0, &[]);
    for answer in [guest.root(PROGRAMS), guest.login("alice", PROGRAMS)] {
        answer.expect(0, &[]).prints(&["./new is on a CPU for", "more than ./old", "[libcrypt.so"]);
    }
}

/// Two functions that take as long, of which `parse` takes four times as long with `-DMORE=1`: in an emulated
/// guest next to other work even the CPU time varies by half.
const PLANTED: &str = r"
static volatile unsigned long kept;
#define WORK(name, rounds) static __attribute__((noinline)) void name(void) { \
    for (long i = 0; i < (rounds); i++) kept = kept * 2654435761u + i; }
WORK(parse, 6000000 + MORE * 18000000)
WORK(render, 6000000)
int main(void) { parse(); render(); return kept == 1; }
";

#[test]
fn the_planted_function_and_the_waits_of_a_loaded_system_are_named() {
    let test = "the_planted_function_and_the_waits_of_a_loaded_system_are_named";
    let Some(mut guest) = Guest::for_long(test) else { return };
    guest.root("sysctl -qw kernel.perf_event_paranoid=1").expect(0, &[]);
    guest.install("/opt/old", PLANTED, &["-O1", "-DMORE=0"]);
    guest.install("/opt/new", PLANTED, &["-O1", "-DMORE=1"]);
    let ab = "cp /opt/old /opt/new . && thrashlab ab command ./old ./new --response cpu_ns";
    let slow =
        "thrashlab run --profile --load largewrite,cpuload --interval 500ms --points 8 --details";
    for answer in [guest.root(ab), guest.login("alice", ab)] {
        answer.expect(0, &[]).prints(&["more than ./old", "of it in parse [old/new]"]);
    }
    for answer in [guest.root(slow), guest.login("alice", slow)] {
        answer.expect(0, &[]).prints(&["Critical paths of ", "executes"]);
    }
    guest.assert_nothing_left();
}

/// A container at its limit that reads its own text, in a sandbox of the system.
const SANDBOXED: &str = "name = \"sandboxed\"\n[set]\nsubject = \"sandbox:mem=32M\"\n\
                         sandbox.memory = \"32M\"\nload = \"exhaust-text\"\n";

/// What `memory.high` does in the deterministic machine, it does in a sandbox of an ordinary system:
/// docs/freeze/answers.md.
#[test]
fn memory_high_lengthens_freezes_in_a_sandbox_as_in_the_deterministic_machine() {
    let test = "memory_high_lengthens_freezes_in_a_sandbox_as_in_the_deterministic_machine";
    let Some(mut guest) = Guest::for_long(test) else { return };
    let freeze = format!(
        "swapoff -a; cat >mine.toml <<'END'\n{SANDBOXED}END\n\
         thrashlab freeze mine.toml --policy high-90,high-80 --seeds 3 --json"
    );
    let answer = guest.root(&freeze);
    answer.expect(0, &[]);
    let figures: Value = serde_json::from_str(&answer.stdout).unwrap();
    let median_s = |policy: &str| {
        let cells = figures["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["policy"] == policy).unwrap();
        let seconds = |run: &Value| {
            let frozen = &run["frozen_s"];
            let seconds = frozen.as_f64().or_else(|| frozen["at_least"].as_f64());
            seconds.unwrap_or_else(|| panic!("no frozen seconds: {cell}\n{}", answer.stderr))
        };
        let mut all: Vec<f64> = cell["runs"].as_array().unwrap().iter().map(seconds).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let [none, high_90, high_80] = ["kernel", "high-90", "high-80"].map(median_s);
    println!("frozen for {none:.1} s, at 0.9 for {high_90:.1} s, at 0.8 for {high_80:.1} s");
    assert!(none < high_90 && none < high_80, "{none} {high_90} {high_80}");
    guest.assert_nothing_left();
}

#[test]
fn profiles_name_functions_as_far_as_the_system_permits() {
    let test = "profiles_name_functions_as_far_as_the_system_permits";
    let Some(mut guest) = Guest::new(test) else { return };
    // Debian's own limit: nobody but root may observe anything.
    guest.root("sysctl -qw kernel.perf_event_paranoid=3").expect(0, &[]);
    let sort = "seq 1 40000 | sort -R > big && thrashlab profile -- sort big 2> refused";
    let refused =
        guest.login("alice", &format!("{sort} || {{ code=$?; cat refused >&2; exit $code; }}"));
    refused.expect(3, &["perf_event_open", "kernel.perf_event_paranoid=2"]);
    // Too small for a huge page, and given back each time.
    let faulting = "MALLOC_MMAP_THRESHOLD_=65536 \
                    perl -e 'while (1) { my $text = \"a\" x 1000000; undef $text }'";
    let doctor = format!("{faulting} & thrashlab doctor --for 3s; code=$?; kill $!; exit $code");
    let without = guest.login("alice", &doctor);
    without.prints(&["minor-faults: "]).expect(0, &["the code behind findings is not known"]);

    guest
        .root(&sort.replace("refused", "/dev/null"))
        .expect(0, &[])
        .prints(&["on a CPU in", "[sort]"]);
    let named = guest.root(&doctor);
    named.expect(0, &[]).prints(&["minor-faults: ", "of its minor faults come from"]);
    let run = "thrashlab run --profile --runs 2 --no-report -- sort big";
    guest.root(run).expect(0, &[]).prints(&["Profile: ", "on a CPU in"]);
    guest.root("sysctl -qw kernel.perf_event_paranoid=2").expect(0, &[]);
    let own = guest.login("alice", &doctor);
    own.expect(0, &[]).prints(&["of its minor faults outside of the kernel come from"]);
    guest.login("alice", run).expect(0, &[]).prints(&["Profile: ", "on a CPU in"]);
}
