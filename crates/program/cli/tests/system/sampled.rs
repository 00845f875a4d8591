//! Profiles of commands: what programs with a known truth are found to do.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use sys::process::KilledOnDrop;

use crate::left::{assert_nothing_left, queue_keys};
use crate::recorded::compile;
use crate::screen::screen;
use crate::services::Group;
use crate::skip::skip;
use crate::support::{Finished, Fixture, is_root};

/// Two functions of 30 and 70 %, one that sleeps, and one that waits for a lock which another thread
/// holds. It prints what it has measured itself, in ns. Compiled without frame pointers.
pub(crate) const TRUTH: &str = r#"
#include "products.h"
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_held;
static volatile long less = 3000000, more = 7000000;
static unsigned long now(clockid_t clock) {
    struct timespec it;
    clock_gettime(clock, &it);
    return it.tv_sec * 1000000000ul + it.tv_nsec;
}
__attribute__((noinline)) static void spins_less(long n) PRODUCTS(sum, n, 6364136223846793005)
__attribute__((noinline)) static void spins_more(long n) PRODUCTS(sum, n, 3935559000370003845)
__attribute__((noinline)) static void sleeps(void) {
    struct timespec it = {0, 200000000};
    nanosleep(&it, 0);
    sum++;
}
static void *holds(void *nothing) {
    pthread_mutex_lock(&lock);
    is_held = 1;
    usleep(150000);
    pthread_mutex_unlock(&lock);
    return nothing;
}
__attribute__((noinline)) static void waits_for_lock(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    sum++;
}
int main(void) {
    for (int round = 0; round < 300; round++) { spins_less(less); spins_more(more); }
    unsigned long before = now(CLOCK_MONOTONIC);
    sleeps();
    fprintf(stderr, "sleeps %lu\n", now(CLOCK_MONOTONIC) - before);
    pthread_t thread;
    pthread_create(&thread, 0, holds, 0);
    while (!is_held) usleep(100);
    before = now(CLOCK_MONOTONIC);
    waits_for_lock();
    fprintf(stderr, "waits_for_lock %lu\n", now(CLOCK_MONOTONIC) - before);
    pthread_join(thread, 0);
    fprintf(stderr, "cpu %lu\n", now(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
"#;

/// Children that live for less than a sample, and how long they were on a CPU in ns.
const CHILDREN: &str = r#"
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sum;
int main(void) {
    for (int child = 0; child < 200; child++) {
        if (fork() == 0) {
            for (long i = 0; i < 100000; i++) sum += i;
            _exit(0);
        }
        wait(0);
    }
    struct rusage it;
    getrusage(RUSAGE_CHILDREN, &it);
    fprintf(stderr, "children %ld\n", 1000 * (it.ru_utime.tv_usec + it.ru_stime.tv_usec)
        + 1000000000 * (it.ru_utime.tv_sec + it.ru_stime.tv_sec));
    return 0;
}
"#;

/// First touches of pages: 30 % by its own instructions, 70 % by `read` into fresh memory.
const FAULTS: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile long less = 30, more = 70;
static int zero;
static char *fresh(long pages) {
    return mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((noinline)) static void touches(long pages) {
    char *memory = fresh(pages);
    for (long i = 0; i < pages; i++) memory[i * 4096] = 1;
    munmap(memory, pages * 4096);
}
__attribute__((noinline)) static void reads(long pages) {
    char *memory = fresh(pages);
    if (read(zero, memory, pages * 4096) < 0) exit(1);
    munmap(memory, pages * 4096);
}
int main(int count, char **words) {
    zero = open("/dev/zero", O_RDONLY);
    for (long round = atol(words[1]); round > 0; round--) { touches(less); reads(more); }
    return 0;
}
"#;

/// Whether a command can be profiled here; else the test is skipped.
pub(crate) fn can_sample(test: &str, fixture: &Fixture) -> bool {
    if Command::new("cc").arg("--version").output().is_err() {
        skip(test, "no C compiler is installed");
        return false;
    }
    let finished = fixture.finish(fixture.thrashlab("profile -- true"));
    if finished.code() == Some(3) {
        assert!(finished.stderr.contains("perf_event_open"), "{}", finished.stderr);
        skip(test, "perf_event_open is not permitted here");
        return false;
    }
    assert_says(&finished, &["on a CPU"]);
    true
}

/// A command that ended with success and these words in its result.
fn assert_says(finished: &Finished, words: &[&str]) {
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let said = finished.sentences();
    for word in words {
        assert!(said.contains(word), "{word} is not in {said}");
    }
}

/// The profile of a program of the test, with its arguments, and what that has printed.
pub(crate) fn profiled(
    fixture: &Fixture,
    options: &str,
    program: &str,
) -> (Value, BTreeMap<String, f64>) {
    let finished =
        fixture.finish(fixture.thrashlab(&format!("profile --json {options} -- ./{program}")));
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let measured = |line: &str| {
        let (name, ns) = line.split_once(' ')?;
        Some((name.to_owned(), ns.parse().ok()?))
    };
    let measured = finished.stderr.lines().filter_map(measured).collect();
    (serde_json::from_str(&finished.stdout).unwrap(), measured)
}

fn assert_near(found: f64, truth: f64, share: f64, what: &str) {
    assert!((found - truth).abs() <= share * truth, "{what}: {found} instead of {truth}");
}

/// What hypervisor and interrupts have taken from all CPUs, in ns (`/proc/stat`).
fn taken_ns() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let counters = counters::parse::proc_stat(&text).unwrap();
    let names = ["cpu_steal_ticks", "cpu_irq_ticks", "cpu_softirq_ticks"];
    let taken = counters.iter().filter(|(name, _)| names.contains(&name.as_str()));
    taken.map(|(_, ticks)| *ticks as f64 * 1e7).sum()
}

/// The sum of the lines of collapsed call stacks that hold a name.
pub(crate) fn sum_of(stacks: &str, name: &str) -> f64 {
    let lines = stacks.lines().filter(|line| line.contains(name));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

#[test]
fn a_program_of_known_shares_and_waits_is_found_to_have_them() {
    const NAME: &str = "a_program_of_known_shares_and_waits_is_found_to_have_them";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "truth.c", TRUTH, &["-O2", "-fomit-frame-pointer", "-pthread"]);
    let before_ns = taken_ns();
    let (profile, measured) = profiled(&fixture, "--waits --collapsed waits.txt", "truth");
    let taken_ns = taken_ns() - before_ns;
    let functions = profile["functions"].as_array().unwrap();
    let samples = |name: &str| {
        let found = functions.iter().find(|it| it["name"] == *name);
        found.unwrap_or_else(|| panic!("{name}: {functions:#?}"))["entries"].as_f64().unwrap()
    };
    let [less, more] = ["spins_less [truth]", "spins_more [truth]"].map(samples);
    let (count, share) = (less + more, less / (less + more));
    assert!(count > 200.0, "{count} samples");
    // Five times the standard error: one in a million.
    assert!((share - 0.3).abs() < 5.0 * (0.21 / count).sqrt(), "{share} of {count}");
    // A thread's clock stands still while a hypervisor or an interrupt has its CPU.
    let on_cpu_ns = profile["on_cpu_ns"].as_f64().unwrap();
    let excess_ns = (on_cpu_ns - measured["cpu"]).clamp(0.0, taken_ns);
    assert_near(on_cpu_ns - excess_ns, measured["cpu"], 0.02, "time on a CPU");
    assert_eq!(profile["lost"], 0);

    let shown = screen(&fixture, &["profile", "--", "./truth"]);
    assert!(shown.contains("spins_more [truth]"), "{shown}");

    let is_privileged = profile["missed"] == serde_json::json!([]);
    let stacks = fs::read_to_string(fixture.path().join("waits.txt")).unwrap();
    if is_privileged {
        for name in ["sleeps", "waits_for_lock"] {
            // Right after other switches a call stack may not be recorded, and then it is said.
            let found = sum_of(&stacks, &format!("{name}_[truth]"));
            let unknown = sum_of(&stacks, "not_recorded");
            assert!(found <= 1.01 * measured[name], "{name}: {stacks}");
            assert!(found + unknown >= 0.99 * measured[name], "{name}: {stacks}");
        }
    }
}

#[test]
fn page_faults_have_the_function_that_makes_them() {
    const NAME: &str = "page_faults_have_the_function_that_makes_them";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "faults.c", FAULTS, &["-O2", "-fomit-frame-pointer"]);
    let (profile, _) = profiled(&fixture, "--faults minor", "faults 2000");
    if profile["missed"] != serde_json::json!([]) {
        return skip(NAME, "this user may not see faults in the kernel");
    }
    let count = profile["fault_count"].as_f64().unwrap();
    assert!((200_000.0..210_000.0).contains(&count), "{count}");
    let origins = profile["faults"].as_array().unwrap();
    let named = |text: &str, by: &str| {
        let is_it = |it: &&Value| {
            it["function"].as_str().unwrap().contains(text)
                && it["caller"].as_str().is_some_and(|caller| caller.contains(by))
        };
        origins.iter().find(is_it).unwrap_or_else(|| panic!("{text}: {origins:#?}"))
    };
    for (origin, truth) in [(named("touches", "main"), 0.3), (named("read", "reads"), 0.7)] {
        let share = origin["share"].as_f64().unwrap();
        let [low, high] = [0, 1].map(|end| origin["interval"][end].as_f64().unwrap());
        // Five standard errors are two and a half times the distance of its ends from the share.
        let most = 2.5 * (high - share).max(share - low) + 0.01;
        assert!((share - truth).abs() < most && high - low < 0.2, "{origin:#?}");
    }
}

/// How often the doctor is asked until the process alone is what it names.
const TRIES: usize = 20;

#[test]
fn the_doctor_names_the_code_of_a_process_that_makes_page_faults() {
    const NAME: &str = "the_doctor_names_the_code_of_a_process_that_makes_page_faults";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "faults.c", FAULTS, &["-O2", "-fomit-frame-pointer"]);
    let mut other = fixture.other("./faults");
    let running = KilledOnDrop(other.arg("100000000").spawn().unwrap());
    // Where processes of other tests make faults in the same control group, the finding is the group's,
    // and where they leave this one no CPU, records are lost, which the finding says.
    let finding = |options: &str| {
        let words = format!("doctor --for 1s --json {options}");
        let of_process = |_| {
            let finished = fixture.finish(fixture.thrashlab(&words));
            let found: Value = serde_json::from_str(&finished.stdout).unwrap();
            let findings = found["findings"].as_array().unwrap().clone();
            let pid = running.0.id();
            let is_it =
                |it: &Value| it["rule"] == "minor-faults" && it["scope"]["process"]["pid"] == pid;
            let found = findings.into_iter().find(is_it)?;
            let is_cut = found["code_unknown"].as_str().is_some_and(|why| why.contains("lost"));
            (!is_cut).then_some(found)
        };
        (0..TRIES).find_map(of_process).expect("the process alone has this finding")
    };
    let with_code = finding("");
    let named = with_code["code"].as_array().unwrap_or_else(|| panic!("{with_code:#}"));
    let first = named.first().expect("its code is sampled");
    assert!(first["function"].as_str().unwrap().contains("read"), "{named:#?}");
    assert_eq!(first["activity"], "minor-faults");
    assert!(finding("--no-stacks")["code"].is_null());
    screen(&fixture, &["doctor", "--for", "1s"]);
}

#[test]
fn children_that_live_too_shortly_for_samples_are_counted_as_such() {
    const NAME: &str = "children_that_live_too_shortly_for_samples_are_counted_as_such";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "children.c", CHILDREN, &["-O1"]);
    let (profile, measured) = profiled(&fixture, "", "children");
    let tasks = profile["tasks"].as_array().unwrap();
    let sum = |key: &str| tasks.iter().map(|it| it[key].as_f64().unwrap()).sum::<f64>();
    // The parent and its children, which have its name.
    assert!(sum("threads") >= 201.0, "{tasks:#?}");
    assert!(sum("on_cpu_ns") >= 0.97 * measured["children"], "{tasks:#?} {measured:?}");
    let functions = profile["functions"].as_array().unwrap();
    let not_sampled = functions.iter().find(|it| it["name"] == "[not sampled]").unwrap();
    assert_near(not_sampled["own"].as_f64().unwrap(), sum("unsampled_ns"), 0.0, "the rest");
}

#[test]
fn an_ordinary_user_is_told_what_is_not_permitted() {
    const NAME: &str = "other_users_are_told_what_is_not_permitted";
    if !is_root() {
        return skip(NAME, "only root has processes of other users");
    }
    let fixture = Fixture::of_user(65534);
    let finished = fixture.finish(fixture.thrashlab("profile -- sleep 0.1"));
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match paranoid.trim().parse::<i32>() {
        Ok(..=1) => assert_says(&finished, &["of waiting", "nanosleep"]),
        Ok(2) => assert_says(&finished, &["of waiting", "Not recorded", "perf_event_paranoid=1"]),
        _ => finished.expect(3, &["perf_event_open"]),
    }
}

/// A program whose function `parse`, with what it calls, takes a number of rounds times `ROUNDS`.
const CHANGED: &str = r#"
#include "products.h"
static volatile unsigned long sum;
static volatile long rounds = ROUNDS * 2500000l, others = 5000000l;
__attribute__((noinline)) static void inner(long n) PRODUCTS(sum, n, 6364136223846793005)
__attribute__((noinline)) static void parse(long n) {
    inner(n / 2);
    PRODUCTS(sum, n / 2, 3935559000370003845)
}
__attribute__((noinline)) static void print(long n) PRODUCTS(sum, n, 3202034522624059733)
int main(void) {
    for (int round = 0; round < 8; round++) { parse(rounds); print(others); }
    return 0;
}
"#;

#[test]
fn ab_names_the_function_that_was_made_slower() {
    const NAME: &str = "ab_names_the_function_that_was_made_slower";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    for (name, rounds) in [("old", 2), ("new", 4)] {
        let define = format!("-DROUNDS={rounds}");
        compile(&fixture, &format!("{name}.c"), CHANGED, &["-O2", &define]);
    }
    let finished = fixture.finish(fixture.thrashlab("ab command ./old ./new"));
    if finished.stderr.contains("records of samples were lost") {
        return skip(NAME, "this machine is too busy to sample");
    }
    assert_says(&finished, &["of it in parse [old/new] and what it calls"]);
}

#[test]
fn files_for_viewers_of_time_have_each_thread_without_gaps() {
    const NAME: &str = "files_for_viewers_of_time_have_each_thread_without_gaps";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    let mut command = fixture.thrashlab("profile --json --firefox f.json --schedule s.json --");
    command.current_dir(fixture.path()).args(["sh", "-c", "sleep 0.2; seq 1 300000 > /dev/null"]);
    let finished = fixture.finish(command);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let profile: Value = serde_json::from_str(&finished.stdout).unwrap();
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(fixture.path().join(name)).unwrap()).unwrap()
    };
    let schedule = read("s.json");
    let spans: Vec<&Value> = schedule["traceEvents"].as_array().unwrap().iter().collect();
    let of = |wanted: &dyn Fn(&str) -> bool| -> f64 {
        let spans = spans.iter().filter(|it| it["ph"] == "X");
        let wanted = spans.filter(|it| wanted(it["name"].as_str().unwrap()));
        wanted.map(|it| it["dur"].as_f64().unwrap() * 1e3).sum()
    };
    let is_wait = |name: &str| name != "executes" && name != "waits for CPU";
    assert_near(
        of(&|name| name == "executes"),
        profile["on_cpu_ns"].as_f64().unwrap(),
        1e-6,
        "on CPU",
    );
    assert_near(of(&is_wait), profile["waits_ns"].as_f64().unwrap(), 1e-6, "waits");
    assert!(of(&is_wait) >= 2e8, "it sleeps");

    let firefox = read("f.json");
    let threads = firefox["threads"].as_array().unwrap();
    let names: Vec<&str> = threads.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"sleep") && names.contains(&"seq"), "{names:?}");
    let sleep = threads.iter().find(|it| it["name"] == "sleep").unwrap();
    let weights = sleep["samples"]["weight"].as_array().unwrap();
    let samples: u64 = weights.iter().map(|it| it.as_u64().unwrap()).sum();
    assert!((190..400).contains(&samples), "0.2 s of waiting are about 200 samples: {samples}");
}

#[test]
fn a_running_process_is_observed_for_a_time_and_goes_on() {
    const NAME: &str = "a_running_process_is_observed_for_a_time_and_goes_on";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    let mut other = fixture.other("sleep");
    let mut sleeping = KilledOnDrop(other.arg("60").spawn().unwrap());
    let pid = sleeping.0.id();
    let words = format!("profile --json --pid {pid} --for 300ms");
    let finished = fixture.finish(fixture.thrashlab(&words));
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let profile: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(profile["observed"], format!("process {pid}, sleep"));
    let [waits_ns, elapsed_ns] =
        ["waits_ns", "elapsed_ns"].map(|key| profile[key].as_f64().unwrap());
    // It waits all the time, and from its last record to the end of the recording.
    assert!(elapsed_ns >= 3e8, "{profile:#?}");
    assert_near(waits_ns, elapsed_ns, 0.5, "waiting");
    assert!(sleeping.0.try_wait().unwrap().is_none(), "it goes on");
    drop(sleeping);
    fixture.finish(fixture.thrashlab(&words)).expect(3, &[&pid.to_string(), "there is no process"]);
}

#[test]
fn the_processes_of_a_control_group_are_observed_together() {
    const NAME: &str = "the_processes_of_a_control_group_are_observed_together";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    let missing = fixture.finish(fixture.thrashlab("profile --cgroup no/such/group"));
    missing.expect(2, &["no/such/group"]);
    let Some(group) = Group::new("profile") else {
        return skip(NAME, "this user cannot make control groups here");
    };
    let mut command = fixture.thrashlab("profile --json --for 300ms");
    command.arg("--cgroup").arg(&group.folder);
    let finished = fixture.finish(command);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let profile: Value = serde_json::from_str(&finished.stdout).unwrap();
    let observed = profile["observed"].as_str().unwrap();
    let whole = format!("the control group {}, 1 process", group.folder.display());
    assert_eq!(observed, whole);
    assert!(profile["waits_ns"].as_f64().unwrap() >= 2e8, "{profile:#?}");
}

#[test]
fn wrong_and_stopped_commands_end_in_words_and_leave_nothing() {
    const NAME: &str = "wrong_and_stopped_commands_end_in_words_and_leave_nothing";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    let run = |words: &str| fixture.finish(fixture.thrashlab(words));
    run("profile").expect(2, &["RUN"]);
    run("profile -- /nowhere/program").expect(3, &["/nowhere/program", "No such file"]);
    run("profile --ctf folder -- true").expect(2, &["--ctf", "COMMAND"]);
    assert_says(&run("profile -- false"), &["the command ended with exit status: 1"]);
    let mut running = fixture.start(fixture.thrashlab("profile -- sleep 1000"));
    let pid = running.pid();
    running.await_that("the command", || {
        fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
            .is_ok_and(|it| !it.is_empty())
    });
    running.signal(Signal::TERM);
    running.wait().expect(130, &[]);
    assert_nothing_left(&fixture, pid, &queue_keys(&fixture));
}
