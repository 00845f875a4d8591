//! Traces of real programs: what is recorded is what they do, and nothing is left of recording.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trace::{Access, Block, Event, Granularity};

use crate::left::processes;
use crate::skip::skip;
use crate::support::{Fixture, Running};

/// All of this must be gone after this time.
const LIMIT: Duration = Duration::from_secs(5);

/// A program without a library: 1000 times a load of 8 bytes from one page, a store of 1 to the
/// next, and an addition to the third. It exits with 7.
const EXACT: &str = "
    .globl _start
_start:
    mov $1000, %ecx
    lea space(%rip), %rdi
1:  mov (%rdi), %rax
    mov %al, 4096(%rdi)
    addq $1, 8192(%rdi)
    dec %ecx
    jnz 1b
    mov $231, %eax
    mov $7, %edi
    syscall
    .bss
    .balign 4096
space:
    .skip 12288
";

/// Three threads that write 3, 4 and 5 pages of their own 1000 times each, then a child that does
/// so with 6.
const THREADS: &str = "
    #include <pthread.h>
    #include <stdint.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static volatile char space[8][16 * 4096] __attribute__((aligned(4096)));
    static void *touch(void *number) {
        intptr_t pages = (intptr_t)number;
        for (int i = 0; i < 1000; i++)
            for (int page = 0; page < pages; page++) space[pages][page * 4096] = i;
        return 0;
    }
    int main(void) {
        pthread_t threads[3];
        for (intptr_t i = 0; i < 3; i++) pthread_create(&threads[i], 0, touch, (void *)(i + 3));
        for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
        if (fork() == 0) { touch((void *)6); _exit(0); }
        wait(0);
        return 0;
    }
";

/// Notes the reason if a test cannot run here.
fn cannot_run(test: &str) -> bool {
    let is_there = |program: &str| {
        Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok()
    };
    if !is_there(&format!("qemu-{}", std::env::consts::ARCH)) {
        skip(test, "QEMU's user mode is not installed");
    } else if !is_there("cc") {
        skip(test, "no C compiler is installed");
    } else {
        return false;
    }
    true
}

/// What programs of known shares spend their time with, as a file for them to include. Each step waits for
/// the product before it, which takes equally long on any CPU; of sums in memory, some CPUs make one loop
/// five times as fast as its neighbour.
const PRODUCTS: (&str, &str) = (
    "products.h",
    "#define PRODUCTS(sum, n, factor) { \\
    unsigned long x = sum; \\
    for (long i = 0; i < n; i++) x = x * factor + i; \\
    sum = x; \\
}
",
);

/// Writes a source, and what it may include.
pub(crate) fn write_source(fixture: &Fixture, name: &str, text: &str) -> PathBuf {
    fs::write(fixture.path().join(PRODUCTS.0), PRODUCTS.1).unwrap();
    let source = fixture.path().join(name);
    fs::write(&source, text).unwrap();
    source
}

/// Compiles a program into the folder of a test.
pub(crate) fn compile(fixture: &Fixture, name: &str, text: &str, arguments: &[&str]) -> PathBuf {
    let source = write_source(fixture, name, text);
    let program = source.with_extension("");
    let status = Command::new("cc").args(arguments).arg("-o").arg(&program).arg(&source).status();
    assert!(status.unwrap().success());
    program
}

fn exact(fixture: &Fixture) -> PathBuf {
    compile(fixture, "exact.s", EXACT, &["-nostdlib", "-static", "-no-pie"])
}

/// `thrashlab trace record -o t.tlt` with further words.
fn record(fixture: &Fixture, words: &[&str]) -> Command {
    let mut command = fixture.thrashlab("trace record -o t.tlt");
    command.args(words);
    command
}

/// All blocks of the trace of a test, and whether the file is complete.
fn blocks(fixture: &Fixture) -> (Vec<Block>, bool) {
    let mut source = trace::open(&fixture.path().join("t.tlt"), Granularity::Reference).unwrap();
    let mut blocks = Vec::new();
    let mut block = Block::default();
    while source.next(&mut block).unwrap() {
        blocks.push(block.clone());
    }
    let notes = source.notes();
    assert_eq!(notes.bad.count, 0);
    (blocks, notes.cut_off.is_none())
}

/// How many references of which kind and size there are to which page.
fn by_page(blocks: &[Block]) -> BTreeMap<(u64, Access, u32), u64> {
    let mut counts = BTreeMap::new();
    for reference in blocks.iter().flat_map(|block| &block.references) {
        let key = (reference.page(), reference.access(), reference.size_bytes());
        *counts.entry(key).or_default() += 1;
    }
    counts
}

fn events(blocks: &[Block]) -> impl Iterator<Item = (u32, &Event)> {
    blocks.iter().flat_map(|block| block.events.iter().map(|(_, event)| (block.process, event)))
}

fn assert_nothing_left(fixture: &Fixture) {
    let deadline = Instant::now() + LIMIT;
    while let left = processes(fixture)
        && !left.is_empty()
    {
        assert!(Instant::now() < deadline, "left: {left:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What `exact` does, by place in its three pages.
fn assert_exact(counts: &BTreeMap<(u64, Access, u32), u64>) {
    let first = counts.keys().next().unwrap().0;
    let expected = BTreeMap::from([
        ((first, Access::Load, 8), 1000),
        ((first + 1, Access::Store, 1), 1000),
        ((first + 2, Access::Load, 8), 1000),
        ((first + 2, Access::Store, 8), 1000),
    ]);
    assert_eq!(*counts, expected);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn exactly_what_a_program_refers_to_is_recorded_and_simulated_in_place() {
    let test = "exactly_what_a_program_refers_to_is_recorded_and_simulated_in_place";
    if cannot_run(test) {
        return;
    }
    let fixture = Fixture::new();
    let program = exact(&fixture);
    let program = program.to_str().unwrap();
    let finished = fixture.finish(record(&fixture, &["--", program]));
    finished.expect(7, &["4000 references of 1 process with 1 thread", "ended with 7"]);
    let (recorded, is_whole) = blocks(&fixture);
    assert!(is_whole);
    assert_exact(&by_page(&recorded));
    let (_, first) = events(&recorded).find(|(_, e)| matches!(e, Event::Program { .. })).unwrap();
    assert_eq!(*first, Event::Program { command: program.to_owned() });
    assert_eq!(events(&recorded).last(), Some((0, &Event::Exit)));

    let fetched = fixture.finish(record(&fixture, &["--fetch", "--", program]));
    fetched.expect(7, &[]);
    let fetches: u64 = by_page(&blocks(&fixture).0)
        .iter()
        .filter(|((_, access, _), _)| *access == Access::Fetch)
        .map(|(_, count)| count)
        .sum();
    assert_eq!(fetches, 2 + 5 * 1000 + 3);
    let pages = fixture.finish(record(&fixture, &["--fetch", "--pages", "--", program]));
    pages.expect(7, &[&format!("{} references", 4000 + fetches)]);

    let run = |what: &[&str]| {
        let mut command = fixture.thrashlab("mmu run --machine zen4 --json --set fetches=yes");
        if what.len() == 1 {
            command = fixture.thrashlab("mmu run --machine zen4 --json");
        }
        command.args(what);
        let value: serde_json::Value =
            serde_json::from_str(&fixture.finish(command).stdout).unwrap();
        value["outcome"].clone()
    };
    assert_eq!(run(&["t.tlt"]), run(&["--", program]));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn only_what_is_asked_for_is_recorded_and_the_command_goes_on() {
    let test = "only_what_is_asked_for_is_recorded_and_the_command_goes_on";
    if cannot_run(test) {
        return;
    }
    let fixture = Fixture::new();
    let program = exact(&fixture);
    let words = ["--skip", "1001", "--limit", "1500", "--", program.to_str().unwrap()];
    fixture.finish(record(&fixture, &words)).expect(7, &["t.tlt: 1500 references"]);
    let (recorded, _) = blocks(&fixture);
    let counts: Vec<u64> = by_page(&recorded).into_values().collect();
    assert_eq!(counts, [375, 375, 375, 375]);
    let first = recorded.iter().find_map(|block| block.references.first()).unwrap();
    assert_eq!(first.access(), Access::Store, "the 1002nd");
}

#[test]
fn threads_and_forked_processes_are_complete_and_told_apart() {
    let test = "threads_and_forked_processes_are_complete_and_told_apart";
    if cannot_run(test) {
        return;
    }
    let fixture = Fixture::new();
    let program = compile(&fixture, "threads.c", THREADS, &["-O1", "-pthread"]);
    let finished = fixture.finish(record(&fixture, &["--", program.to_str().unwrap()]));
    finished.expect(0, &["of 2 processes with 5 threads"]);
    let (recorded, is_whole) = blocks(&fixture);
    assert!(is_whole);
    let mut written = BTreeMap::new();
    for block in &recorded {
        let stores = block.references.iter().filter(|one| one.access() == Access::Store);
        // Loads of the same pages there are none: the space is only written.
        for store in stores.filter(|one| one.size_bytes() == 1 && one.address() % 4096 == 0) {
            let pages: &mut BTreeMap<u64, u64> =
                written.entry((block.process, block.thread)).or_default();
            *pages.entry(store.page()).or_default() += 1;
        }
    }
    let full = |process, thread| {
        written[&(process, thread)].values().filter(|count| **count == 1000).count()
    };
    // Which of them comes first is the system's affair.
    let mut threads = [full(0, 1), full(0, 2), full(0, 3)];
    threads.sort_unstable();
    assert_eq!((threads, full(1, 0)), ([3, 4, 5], 6), "{written:?}");
    let order: Vec<(u32, &Event)> = events(&recorded)
        .filter(|(process, event)| {
            matches!(event, Event::Fork { .. } | Event::Exit)
                || *process == 1 && **event == Event::ThreadStart
        })
        .collect();
    let expected = [
        (0, &Event::Fork { child: 1 }),
        (1, &Event::ThreadStart),
        (1, &Event::Exit),
        (0, &Event::Exit),
    ];
    assert_eq!(order, expected);
    let ends = events(&recorded).filter(|(_, event)| **event == Event::ThreadEnd).count();
    assert_eq!(ends, 3);
}

#[test]
fn what_a_program_executes_is_followed_and_it_keeps_its_files_and_its_exit_code() {
    let test = "what_a_program_executes_is_followed_and_it_keeps_its_files_and_its_exit_code";
    if cannot_run(test) {
        return;
    }
    let fixture = Fixture::new();
    let script = fixture.path().join("script");
    fs::write(&script, "#!/bin/sh -u\ncat \"$@\" | cat\nexec sh -c 'exit 5'\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let text = "a line\n".repeat(20_000);
    fs::write(fixture.path().join("input"), &text).unwrap();
    let mut command = record(&fixture, &["--pages", "--", "./script", "-"]);
    command.stdin(fs::File::open(fixture.path().join("input")).unwrap());
    let finished = fixture.finish(command);
    finished.expect(5, &["with 5"]);
    assert!(finished.stdout == text, "what it copies is changed");
    let (recorded, _) = blocks(&fixture);
    let programs: Vec<&str> = events(&recorded)
        .filter_map(|(_, event)| match event {
            Event::Program { command } => Some(command.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(programs.first(), Some(&"/bin/sh -u ./script -"));
    for wanted in ["cat -", "cat", "sh -c exit 5"] {
        assert!(programs.contains(&wanted), "{programs:?}");
    }
    let mark = fixture.finish(record(&fixture, &["--", "sh", "-c", "echo ${THRASHLAB_RUN-none}"]));
    assert_eq!(mark.stdout, "none\n", "the mark is nothing to the program");
    fixture.finish(record(&fixture, &["--", "sh", "-c", "kill -9 $$"])).expect(137, &[]);
}

#[test]
fn what_cannot_be_recorded_is_told() {
    let test = "what_cannot_be_recorded_is_told";
    if cannot_run(test) {
        return;
    }
    let fixture = Fixture::new();
    let no = fixture.finish(record(&fixture, &["--", "no-such-program"]));
    no.expect(2, &["no-such-program: no such program"]);
    let other = fixture.path().join("other");
    let mut bytes = fs::read("/bin/true").unwrap();
    bytes[18] = 8;
    fs::write(&other, bytes).unwrap();
    fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let foreign = fixture.finish(record(&fixture, &["--", "./other"]));
    foreign.expect(2, &["./other: cannot be recorded: it is for another kind of machine"]);
    assert!(!fixture.path().join("t.tlt").exists());
    let within = fixture.finish(record(&fixture, &["--", "sh", "-c", "./other; true"]));
    within.expect(0, &["not recorded: ./other is not followed: it is for another kind"]);
    let old = fixture.finish(fixture.thrashlab("mmu run --machine sparcstation1 -- true"));
    old.expect(2, &["machine with TLBs"]);
}

/// A shell that computes forever, next to one that sleeps and one that computes.
fn endless(fixture: &Fixture) -> Running {
    let script = "sleep 600 & (while :; do :; done) & while :; do :; done";
    let mut running = fixture.start(record(fixture, &["--", "sh", "-c", script]));
    let path = fixture.path().join("t.tlt");
    running.await_that("the trace grows", || length(&path) > 1 << 16);
    // The recorder, its cleanup process, and what it records.
    running.await_that("all of them run", || processes(fixture).len() == 5);
    running
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

#[test]
fn a_killed_recorder_leaves_a_valid_trace_and_nothing_else() {
    let test = "a_killed_recorder_leaves_a_valid_trace_and_nothing_else";
    if cannot_run(test) {
        return;
    }
    let fixture = Fixture::new();
    let running = endless(&fixture);
    running.signal(Signal::KILL);
    running.wait();
    assert_nothing_left(&fixture);
    let (recorded, is_whole) = blocks(&fixture);
    assert!(!is_whole, "it is known to be cut off");
    assert!(recorded.iter().map(|block| block.references.len()).sum::<usize>() > 10_000);
}

#[test]
fn the_first_interrupt_is_the_commands_and_the_second_ends_it() {
    let test = "the_first_interrupt_is_the_commands_and_the_second_ends_it";
    if cannot_run(test) {
        return;
    }
    let fixture = Fixture::new();
    let mut running = endless(&fixture);
    let path = fixture.path().join("t.tlt");
    running.signal(Signal::INT);
    let before = length(&path);
    running.await_that("it continues", || length(&path) > before);
    // Two that come before it has looked are one: whoever waits presses again.
    while running.ended().is_none() {
        running.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(100));
    }
    running.wait().expect(137, &["interrupted"]);
    assert_nothing_left(&fixture);
    let (recorded, is_whole) = blocks(&fixture);
    assert!(is_whole);
    assert_eq!(events(&recorded).filter(|(_, event)| **event == Event::Exit).count(), 3);
}

#[test]
fn all_that_a_killed_program_did_is_in_the_trace() {
    let test = "all_that_a_killed_program_did_is_in_the_trace";
    if cannot_run(test) {
        return;
    }
    let fixture = Fixture::new();
    let text = "
        #include <signal.h>
        static volatile char space[4096] __attribute__((aligned(4096)));
        int main(void) { for (int i = 0; i < 777; i++) space[1] = i; raise(SIGKILL); }
    ";
    let program = compile(&fixture, "killed.c", text, &["-O1"]);
    let finished = fixture.finish(record(&fixture, &["--", program.to_str().unwrap()]));
    finished.expect(137, &[]);
    let stores = by_page(&blocks(&fixture).0);
    let found = stores.iter().any(|((_, access, size), count)| {
        (*access, *size) == (Access::Store, 1) && (777..780).contains(count)
    });
    assert!(found, "{stores:?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn valgrind_tells_the_same_references() {
    let test = "valgrind_tells_the_same_references";
    if cannot_run(test) {
        return;
    }
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skip(test, "valgrind is not installed");
    }
    let fixture = Fixture::new();
    let program = exact(&fixture);
    let words = ["--with", "valgrind", "--", program.to_str().unwrap()];
    let finished = fixture.finish(record(&fixture, &words));
    finished.expect(7, &["slower", "3000 references", "not recorded: threads"]);
    let counts = by_page(&blocks(&fixture).0);
    // It tells of what reads and writes once.
    let values: Vec<_> = counts.iter().map(|((_, access, size), n)| (*access, *size, *n)).collect();
    let expected = [(Access::Load, 8, 1000), (Access::Store, 1, 1000), (Access::Store, 8, 1000)];
    assert_eq!(values, expected);
}
