//! What the counters of one sample cost, compared with opening and reading the same files.
//!
//! `cargo bench -p counters -- cgroup_v2_dir=DIR …` prints a table in Markdown: µs for each read of
//! the machine's counters, of a task's, and of a sandbox's if its directories are named (by the
//! names of the fields of `Sources`). The limit is what `std::fs::read_to_string` takes for the
//! same files, alternating with the reader: a ratio below 1 means that open files save more than
//! parsing costs.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use counters::{Reader, Sources, TaskReader};
use model::CounterSet;

/// Reads of each kind; as a test, where no figure is wanted, one is enough.
const READS: usize = 2000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let reads = if arguments.iter().any(|argument| argument == "--bench") { READS } else { 1 };
    println!("| counters | files | values | median µs | p99 µs | open and read µs | ratio |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let (mut machine, _) = Reader::open(&Sources::machine("/proc"));
    print_row("machine", reads, &open_files(), || machine.read(true));
    drop(machine);
    let (mut task, _) = TaskReader::open(Path::new("/proc"), std::process::id());
    print_row("task", reads, &open_files(), || task.read());
    drop(task);
    if let Some(sources) = sandbox(&arguments) {
        let (mut sandbox, _) = Reader::open(&sources);
        print_row("sandbox", reads, &open_files(), || sandbox.read(true));
    }
}

/// The sandbox that the arguments name, without the machine's own counters.
fn sandbox(arguments: &[String]) -> Option<Sources> {
    let named = |name: &str| {
        let value =
            |argument: &String| argument.strip_prefix(name)?.strip_prefix('=').map(PathBuf::from);
        arguments.iter().find_map(value)
    };
    let sources = Sources {
        cgroup_v2_dir: named("cgroup_v2_dir"),
        cgroup_v1_memory_dir: named("cgroup_v1_memory_dir"),
        cgroup_v1_cpu_dir: named("cgroup_v1_cpu_dir"),
        cgroup_v1_cpuacct_dir: named("cgroup_v1_cpuacct_dir"),
        ..Sources::machine("/nonexistent")
    };
    (sources != Sources::machine("/nonexistent")).then_some(sources)
}

/// The files that this process holds open: those of the reader under test.
fn open_files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc/self/fd").expect("procfs is mounted");
    let links: Vec<PathBuf> =
        entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).collect();
    let is_counter =
        |path: &&PathBuf| (path.starts_with("/proc") || path.starts_with("/sys")) && path.is_file();
    let files: Vec<PathBuf> = links.iter().filter(is_counter).cloned().collect();
    assert!(!files.is_empty(), "no limit can be measured: no counter file among {links:?}");
    files
}

/// Reads with the reader and without it in turns, and prints what both take.
fn print_row(name: &str, reads: usize, files: &[PathBuf], mut read: impl FnMut() -> CounterSet) {
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..reads {
        let begun = Instant::now();
        black_box(read());
        ours.push(begun.elapsed());
        let begun = Instant::now();
        for path in files {
            let _ = black_box(std::fs::read_to_string(path));
        }
        plain.push(begun.elapsed());
    }
    let us = |times: &mut Vec<std::time::Duration>, percent: usize| {
        times.sort_unstable();
        times[(times.len() * percent).div_ceil(100) - 1].as_secs_f64() * 1e6
    };
    let values: usize = read().values().map(|source| source.len()).sum();
    let (median, limit) = (us(&mut ours, 50), us(&mut plain, 50));
    println!(
        "| {name} | {} | {values} | {median:.1} | {:.1} | {limit:.1} | {:.2} |",
        files.len(),
        us(&mut ours, 99),
        median / limit
    );
}
