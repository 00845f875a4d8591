//! Readers on folders that look like the kernel's.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panic")]

use std::fs;
use std::path::{Path, PathBuf};

use counters::{Reader, Sources, TaskReader, delay_accounting_enabled};
use tempfile::TempDir;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}

fn recorded() -> Sources {
    let root = fixture("linux-6.18-x86_64");
    Sources {
        cgroup_v2_dir: Some(root.join("cgroup_v2")),
        cgroup_v1_memory_dir: Some(root.join("cgroup_v1/memory")),
        cgroup_v1_cpu_dir: Some(root.join("cgroup_v1/cpu")),
        cgroup_v1_cpuacct_dir: Some(root.join("cgroup_v1/cpuacct")),
        ..Sources::machine(root.join("proc"))
    }
}

fn write(dir: &TempDir, name: &str, text: &str) {
    let path = dir.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_machine_with_both_versions_gives_every_source() {
    let (mut reader, missed) = Reader::open(&recorded());
    let [irq] = missed.as_slice() else { panic!("missed more than one: {missed:?}") };
    assert_eq!(irq.capability, "psi/irq");
    assert!(irq.reason.contains("pressure/irq: No such file"), "{}", irq.reason);
    let set = reader.read(true);
    assert_eq!(
        set.keys().collect::<Vec<_>>(),
        ["cpu_cgroup", "interrupts", "memcg", "memcg_psi", "meminfo", "psi", "stat", "vmstat"]
    );
    let mut short = reader.read(false);
    assert_eq!(short.get("interrupts"), None, "its text is long");
    short.insert("interrupts".into(), set["interrupts"].clone());
    assert_eq!(short, set, "all else is in both");
    assert_eq!(set["memcg"]["usage_in_bytes"], 144_674_816);
    assert_eq!(set["memcg"]["failcnt"], 0);
    assert_eq!(set["memcg"]["limit_bytes"], 268_435_456);
    assert_eq!(set["memcg"]["pgmajfault"], 71);
    assert_eq!(set["cpu_cgroup"]["usage_usec"], 674_892_366);
    assert_eq!(set["cpu_cgroup"]["usage_ns"], 683_358_635_278);
    assert!(set["cpu_cgroup"].contains_key("throttled_time_ns"));
    assert_eq!(set["psi"].len(), 6);
    assert!(set["memcg_psi"].contains_key("memory_full_us"));
    assert_eq!(reader.read(true), set, "files are read again from their beginning");
}

#[test]
fn version_2_alone_gives_every_sandbox_source() {
    let sources = Sources {
        cgroup_v2_dir: Some(fixture("made/cgroup-v2-6.12")),
        ..Sources::machine(fixture("linux-6.18-x86_64/proc"))
    };
    let (mut reader, missed) = Reader::open(&sources);
    assert_eq!(missed.len(), 1, "only irq pressure: {missed:?}");
    let set = reader.read(true);
    assert_eq!(set["memcg"]["current_bytes"], 411_041_792);
    assert_eq!(set["memcg"]["peak_bytes"], 498_073_600);
    assert_eq!(set["memcg"]["swap_current_bytes"], 52_428_800);
    assert_eq!(set["memcg"]["events_max"], 4120);
    assert_eq!(set["memcg"]["limit_bytes"], 536_870_912);
    assert!(!set["memcg"].contains_key("high_bytes"), "no limit is not a counter");
    assert_eq!(set["memcg"]["workingset_refault_file"], 88_310);
    assert_eq!(set["memcg_psi"]["io_full_us"], 25002);
    assert_eq!(set["cpu_cgroup"]["throttled_usec"], 812_345);
}

#[test]
fn what_cannot_be_had_is_missed_once_and_absent() {
    let dir = TempDir::new().unwrap();
    write(&dir, "vmstat", "pgfault 1\n");
    write(&dir, "stat", "nonsense");
    fs::create_dir(dir.path().join("meminfo")).unwrap();
    let sources =
        Sources { cgroup_v2_dir: Some(dir.path().join("gone")), ..Sources::machine(dir.path()) };
    let (mut reader, missed) = Reader::open(&sources);
    let reasons: Vec<&str> = missed.iter().map(|missed| missed.reason.as_str()).collect();
    assert!(reasons[0].starts_with("cannot understand ") && reasons[0].contains("line 1, "));
    assert!(reasons[1].starts_with("cannot read ") && reasons[1].contains("directory"));
    assert_eq!(missed.len(), 3 + 4 + 10, "{missed:?}");
    assert_eq!((&*missed[1].capability, &*missed[3].capability), ("meminfo", "psi/cpu"));
    assert_eq!(reader.read(true).into_keys().collect::<Vec<_>>(), ["vmstat"]);
}

#[test]
fn a_file_that_goes_bad_takes_only_its_own_counters() {
    let dir = TempDir::new().unwrap();
    write(&dir, "memory.usage_in_bytes", "4096\n");
    write(&dir, "memory.failcnt", "3\n");
    let sources = Sources {
        cgroup_v1_memory_dir: Some(dir.path().to_owned()),
        ..Sources::machine("/nowhere")
    };
    let (mut reader, _) = Reader::open(&sources);
    assert_eq!(reader.read(true)["memcg"].len(), 2);
    write(&dir, "memory.failcnt", "");
    let set = reader.read(true);
    assert_eq!(set["memcg"].keys().collect::<Vec<_>>(), ["usage_in_bytes"]);
    write(&dir, "memory.usage_in_bytes", "");
    assert!(reader.read(true).is_empty(), "a source without counters is absent");
}

#[test]
fn a_file_that_grows_is_read_whole() {
    let dir = TempDir::new().unwrap();
    write(&dir, "vmstat", "first 1\n");
    let (mut reader, _) = Reader::open(&Sources::machine(dir.path()));
    let long: String = (0..9000).map(|index| format!("counter_{index} {index}\n")).collect();
    write(&dir, "vmstat", &long);
    assert_eq!(reader.read(true)["vmstat"].len(), 9000);
    write(&dir, "vmstat", "short 1\n");
    assert_eq!(reader.read(true)["vmstat"].len(), 1, "nothing is left of the longer text");
}

#[test]
fn delays_that_are_off_are_absent_with_the_reason() {
    let dir = TempDir::new().unwrap();
    let stat = fs::read_to_string(fixture("linux-6.18-x86_64/proc/4242/stat")).unwrap();
    write(&dir, "4242/stat", &stat);
    write(&dir, "4242/schedstat", "5 6 7\n");
    write(&dir, "sys/kernel/task_delayacct", "0\n");
    let (mut reader, missed) = TaskReader::open(dir.path(), 4242);
    let [taskstats] = missed.as_slice() else { panic!("missed more than one: {missed:?}") };
    assert_eq!(taskstats.capability, "taskstats");
    assert!(taskstats.reason.starts_with("kernel.task_delayacct is 0: "));
    let set = reader.read();
    assert_eq!(set.keys().collect::<Vec<_>>(), ["schedstat", "task_stat"]);
    assert_eq!(set["schedstat"]["wait_ns"], 6);
    assert!(!set["task_stat"].contains_key("blkio_delay_ticks"), "it would be 0");
}

#[test]
fn a_kernel_that_counts_no_run_time_says_so() {
    let dir = TempDir::new().unwrap();
    write(&dir, "self/schedstat", "0 0 0\n");
    write(&dir, "4242/schedstat", "0 0 0\n");
    write(&dir, "sys/kernel/task_delayacct", "0\n");
    let (mut reader, missed) = TaskReader::open(dir.path(), 4242);
    assert!(missed[0].reason.contains("CONFIG_SCHED_INFO"), "{missed:?}");
    assert!(reader.read().is_empty());
}

#[test]
fn the_switch_is_on_off_or_not_there() {
    let dir = TempDir::new().unwrap();
    assert_eq!(delay_accounting_enabled(dir.path()), None);
    write(&dir, "sys/kernel/task_delayacct", "1\n");
    assert_eq!(delay_accounting_enabled(dir.path()), Some(true));
    write(&dir, "sys/kernel/task_delayacct", "0\n");
    assert_eq!(delay_accounting_enabled(dir.path()), Some(false));
}

#[test]
fn counters_that_come_or_go_between_two_reads_are_where_they_belong() {
    let dir = TempDir::new().unwrap();
    let mut looks = [
        "pgfault 1\nallocstall 2\n",
        "pgfault 3\nallocstall 4\n",
        "balloon 5\nallocstall 6\n",
        "pgfault 7\nnr_free_pages 8\nallocstall 9\n",
    ]
    .into_iter();
    write(&dir, "vmstat", looks.next().unwrap());
    let (mut reader, _) = Reader::open(&Sources::machine(dir.path()));
    for look in looks {
        write(&dir, "vmstat", look);
        let expected = counters::parse::flat_keyed(look).unwrap().into_iter().collect();
        assert_eq!(reader.read(true)["vmstat"], expected, "{look}");
    }
}
