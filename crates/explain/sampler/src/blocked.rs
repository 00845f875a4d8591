//! Where threads wait, for users to whom the kernel does not record it: the registers of a thread that waits
//! are in `/proc/PID/task/TID/syscall` and its stack in `/proc/PID/mem` (proc(5)), which a user may read who may
//! trace the process.
//!
//! A look at all threads every so often meets a wait in proportion to its length, so one that is met stands for
//! as many as would have to be there to be met once. How long each takes is in the records of switches. The
//! base pointer is not known: a function that finds its caller by it ends the call stack.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use framehop::UnwindRegsNative;
use sys::clock::monotonic_ns;

/// How often one looks, and how long at most each time, the process at which that ends included.
const EVERY: Duration = Duration::from_millis(20);
const MOST: Duration = Duration::from_millis(1);
/// A wait that no look meets may be so long: the records of its beginning come later than it.
pub(crate) const MISSED_WAIT_NS: u64 = 60_000_000;
/// What of each stack is copied.
const STACK_BYTES: usize = 16 << 10;
/// Threads of a process that are looked at each time; more are left out.
const MOST_THREADS: usize = 100;

/// What was seen, until the records of that time have come.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    seen: Vec<Blocked>,
    begun: Option<Instant>,
    /// The process that was looked at last: where the time does not suffice for all, the next look begins
    /// behind it.
    last_pid: i32,
}

impl Looks {
    /// Looks at the threads of processes, unless it is too early, but for those whose call stack is known.
    pub(crate) fn look(&mut self, pids: impl Iterator<Item = i32>, is_known: impl Fn(i32) -> bool) {
        if self.begun.is_some_and(|begun| begun.elapsed() < EVERY) {
            return;
        }
        let begun = Instant::now();
        self.begun = Some(begun);
        let mut pids: Vec<i32> = pids.collect();
        pids.sort_unstable_by_key(|pid| (*pid <= self.last_pid, *pid));
        for pid in pids {
            let is_new = |tid: &i32| !is_known(*tid) && self.seen.iter().all(|it| it.tid != *tid);
            let threads = threads(pid).into_iter().filter(is_new);
            let seen: Vec<Blocked> = threads.filter_map(|tid| Blocked::look(pid, tid)).collect();
            self.seen.extend(seen);
            self.last_pid = pid;
            if begun.elapsed() > MOST {
                break;
            }
        }
    }

    /// Takes what was seen until a time.
    pub(crate) fn take(&mut self, until_ns: u64) -> Vec<Blocked> {
        let count = self.seen.iter().take_while(|it| it.to_ns <= until_ns).count();
        self.seen.drain(..count).collect()
    }
}

/// A thread that waited between two times, in ns of the monotonic clock.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub(crate) pid: i32,
    pub(crate) tid: i32,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// Where it continues, and its stack pointer.
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    /// The bytes from there on.
    pub(crate) stack: Vec<u8>,
}

impl Blocked {
    /// Looks at a thread; `None` if it executes, has not waited all the time, or may not be looked at.
    fn look(pid: i32, tid: i32) -> Option<Self> {
        let path = format!("/proc/{pid}/task/{tid}/syscall");
        let from_ns = monotonic_ns();
        let text = fs::read_to_string(&path).ok()?;
        let (sp, ip) = registers(&text)?;
        let mut stack = vec![0; STACK_BYTES];
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let count = memory.read_at(&mut stack, sp).ok()?;
        stack.truncate(count);
        let has_waited = fs::read_to_string(&path).ok()? == text;
        has_waited.then(|| Self { pid, tid, from_ns, to_ns: monotonic_ns(), ip, sp, stack })
    }

    /// Its registers, as far as they are known.
    pub(crate) fn registers(&self) -> UnwindRegsNative {
        #[cfg(target_arch = "x86_64")]
        return UnwindRegsNative::new(self.ip, self.sp, 0);
        #[cfg(target_arch = "aarch64")]
        return UnwindRegsNative::new(0, self.sp, 0);
    }
}

/// The threads of a process.
fn threads(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let threads = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    threads.take(MOST_THREADS).collect()
}

/// The stack pointer of a thread that waits, and where it continues: the last two numbers.
fn registers(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace().rev();
    let mut number = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let ip = number()?;
    Some((number()?, ip))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn registers_are_those_of_waiting_threads() {
        let sleeps = "35 0x7ffc 0x0 0x0 0x0 0x0 0x0 0x7ffc10 0x55d0\n";
        assert_eq!(registers(sleeps), Some((0x007f_fc10, 0x55d0)));
        assert_eq!(registers("-1 0x7ffc10 0x55d0\n"), Some((0x007f_fc10, 0x55d0)));
        for text in ["running\n", "", "0x5\n", "-1 5 0x5\n"] {
            assert_eq!(registers(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = registers(&text);
        }
    }
}
