//! Delay accounting of a process with many threads that wait for a disk at the same time: their
//! waits sum to more than the interval, and to no more than their own time.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Barrier;

use counters::TaskReader;
use doctor::Snapshot;
use rustix::fs::{Advice as FileAdvice, fadvise};
use rustix::time::{ClockId, clock_gettime};
use survey::Survey;
use sys::clock::monotonic_ns;
use sys::memory::{Advice, Mapping};
use sys::pagemap::page_bytes;

#[path = "../../../../tests/skip.rs"]
mod skip;

const THREADS: usize = 32;
/// Pages that each thread reads.
const PAGES: usize = 256;
const SWITCH: &str = "/proc/sys/kernel/task_delayacct";

/// Delays are counted for threads that are started while this lives.
struct Switched(String);

impl Switched {
    fn on() -> Result<Self, String> {
        let before = fs::read_to_string(SWITCH).map_err(|error| error.to_string())?;
        fs::write(SWITCH, "1").map_err(|error| error.to_string())?;
        Ok(Self(before))
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        let _ = fs::write(SWITCH, &self.0);
    }
}

/// A file whose pages are on the disk only.
fn uncached(path: &Path) -> File {
    let mut file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
    let chunk = vec![7; PAGES * page_bytes() as usize];
    (0..THREADS).for_each(|_| file.write_all(&chunk).unwrap());
    file.sync_all().unwrap();
    fadvise(&file, 0, None, FileAdvice::DontNeed).unwrap();
    file
}

/// Touches the pages of one thread, each of which is read from the disk; the time that it did not
/// run, in ns.
fn off_cpu_ns(file: &File, thread: usize) -> u64 {
    let page = page_bytes() as usize;
    let mapping = Mapping::file_read_only(file, THREADS * PAGES * page).unwrap();
    mapping.advise(Advice::Random).unwrap();
    let cpu_ns = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
    };
    let (start_ns, cpu_start_ns) = (monotonic_ns(), cpu_ns());
    std::hint::black_box(mapping.read_each((0..PAGES).map(|at| (thread * PAGES + at) * page)));
    (monotonic_ns() - start_ns).saturating_sub(cpu_ns() - cpu_start_ns)
}

/// What a thread of this process measured of itself, and what the kernel counted for it.
struct Waited {
    off_cpu_ns: u64,
    block_ns: u64,
    cpu_ns: u64,
}

/// Reads the pages of one thread, and asks the kernel.
fn waited(file: &File, thread: usize) -> Waited {
    let number = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let (mut reader, _) = TaskReader::open(Path::new("/proc"), number);
    let off_cpu_ns = off_cpu_ns(file, thread);
    let delays = &reader.read()["taskstats"];
    // A wait that the kernel books wrongly is absent.
    let [block_ns, cpu_ns] = ["blkio", "cpu"]
        .map(|wait| delays.get(&*format!("{wait}_delay_total_ns")).copied().unwrap_or(u64::MAX));
    Waited { off_cpu_ns, block_ns, cpu_ns }
}

#[test]
fn delays_are_counted_for_many_threads_at_once() {
    let name = "delays_are_counted_for_many_threads_at_once";
    let Ok(_switched) = Switched::on() else {
        return skip::skip(name, "delay accounting cannot be switched here");
    };
    let mut survey = Survey::open();
    if survey.missed().iter().any(|missed| missed.capability == "taskstats") {
        return skip::skip(name, "delay accounting cannot be switched here: taskstats is not read");
    }
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = uncached(&dir.path().join("pages"));
    let own = std::process::id();
    let blocked_ns = |snapshot: &Snapshot| {
        snapshot.tasks[&own].counters["taskstats"].get("blkio_delay_total_ns").copied()
    };
    let before = survey.snapshot(0);
    let (done, looked) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let start_ns = monotonic_ns();
    let (threads, elapsed_ns, after) = std::thread::scope(|scope| {
        let (file, done, looked) = (&file, &done, &looked);
        let wait = move |thread| {
            let waited = waited(file, thread);
            done.wait();
            looked.wait();
            waited
        };
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || wait(thread))).collect();
        done.wait();
        let elapsed_ns = monotonic_ns() - start_ns;
        let after = survey.snapshot(1);
        looked.wait();
        let threads: Vec<Waited> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        (threads, elapsed_ns, after)
    });
    assert!(after.tasks[&own].counters["thread_run_ns"].len() > THREADS);
    // Kernels since 6.12 book the time since boot for some of them, which no rule may believe.
    let sane: Vec<_> = threads.iter().filter(|it| it.block_ns <= elapsed_ns).collect();
    let (Some(before_ns), Some(after_ns)) = (blocked_ns(&before), blocked_ns(&after)) else {
        return skip::skip(name, "this kernel books the time since boot as a wait");
    };
    if sane.len() < THREADS / 2 {
        return skip::skip(name, "this kernel books the time since boot as a wait");
    }
    let told: u64 = sane.iter().map(|it| it.block_ns).sum();
    assert!(after_ns - before_ns >= told, "the process is its threads: {told}");
    let (mut block_ns, mut all_ns, mut off_cpu_ns) = (0, 0, 0);
    for it in sane {
        block_ns += it.block_ns;
        all_ns += it.block_ns + it.cpu_ns;
        off_cpu_ns += it.off_cpu_ns;
    }
    let said = format!("{block_ns} of I/O, {all_ns} in all, {off_cpu_ns} measured, {elapsed_ns}");
    assert!(block_ns > elapsed_ns, "the waits of threads add up: {said}");
    assert!(all_ns >= off_cpu_ns / 2, "most of the time off the CPU is explained: {said}");
}
