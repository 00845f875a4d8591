//! Readers on the running kernel, whatever it has: nothing fails, and what is absent has a reason.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use counters::{Reader, Roots, Sources, TaskReader, Tasks, environment};

#[test]
fn the_machine_has_counters_or_reasons() {
    let (mut reader, missed) = Reader::open(&Sources::machine("/proc"));
    let first = reader.read(true);
    let second = reader.read(true);
    for source in ["vmstat", "stat", "meminfo", "psi"] {
        let reason = missed.iter().any(|missed| missed.capability.starts_with(source));
        assert!(first.contains_key(source) || reason, "{source}: neither counters nor reason");
    }
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    if let (Some(first), Some(second)) = (first.get("stat"), second.get("stat")) {
        assert!(second["ctxt"] >= first["ctxt"]);
    }
    let (facts, _) = environment(&Roots::system(Some(std::env::temp_dir())));
    assert!(facts.contains_key("kernel"), "{facts:?}");
}

#[test]
fn a_task_that_ended_has_no_counters() {
    let mut child =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let (mut reader, _) = TaskReader::open(Path::new("/proc"), child.id());
    assert!(reader.read()["task_stat"]["threads"] >= 1);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(reader.read().is_empty());
}

#[test]
fn any_process_has_counters_until_it_ends() {
    let mut child =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let (mut tasks, missed) = Tasks::open(Path::new("/proc"));
    let set = tasks.read(child.id());
    assert_eq!(set["task_stat"]["threads"], set["task_status"]["Threads"]);
    for source in ["schedstat", "taskstats"] {
        let reason = missed.iter().any(|missed| missed.capability == source);
        assert!(set.contains_key(source) != reason, "{source}: {missed:?}");
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(tasks.read(child.id()).is_empty());
}

#[test]
fn each_thread_of_a_process_has_its_time() {
    let (mut tasks, missed) = Tasks::open(Path::new("/proc"));
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stopped.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let set = tasks.read(std::process::id());
        stopped.store(true, Ordering::Relaxed);
        let counted = missed.iter().all(|missed| missed.capability != "schedstat");
        if counted {
            assert!(set["thread_run_ns"].len() >= 4, "{set:?}");
            assert!(set["thread_run_ns"].keys().eq(set["thread_wait_ns"].keys()), "{set:?}");
        }
        assert!(set["task_stat"]["threads"] >= 4, "{set:?}");
    });
}
