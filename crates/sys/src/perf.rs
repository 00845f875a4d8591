//! Counters of the CPU and the kernel for a process and all it forks (`perf_event_open(2)`).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};

/// A counter of one process and of all that it forks after the counter was opened.
#[derive(Debug)]
pub struct PerfCounter {
    file: File,
}

/// The first version of `struct perf_event_attr`, which every kernel accepts.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size_bytes: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const INHERIT: u64 = 1 << 1;
/// Never multiplexed: the value is a count and not an estimate.
const PINNED: u64 = 1 << 2;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// The only flag of the call itself.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

const CACHE: u32 = 3;
/// Data TLB, reading, misses.
const TLB_READ_MISSES: u64 = 3 | 1 << 16;

impl PerfCounter {
    /// Counts page walks of a child, or of this process itself: loads in user mode that missed
    /// every TLB. Stores and instructions are not counted: many CPUs have no counter for them.
    /// Fails when there is no such counter here, or `kernel.perf_event_paranoid` is above 2.
    pub fn load_walks(pid: u32) -> io::Result<Self> {
        Self::open(CACHE, TLB_READ_MISSES, pid)
    }

    fn open(kind: u32, config: u64, pid: u32) -> io::Result<Self> {
        let attributes = Attributes {
            kind,
            size_bytes: size_of::<Attributes>() as u32,
            config,
            flags: INHERIT | PINNED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        let any_cpu: libc::c_int = -1;
        let no_group: libc::c_int = -1;
        // SAFETY: the attributes say their own size and outlive the call, which only reads them.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                pid as libc::pid_t,
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given this descriptor to nobody but us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) };
        Ok(Self { file: File::from(fd) })
    }

    /// The count so far, dead processes included; fails if others took its place on the CPU.
    pub fn read(&self) -> io::Result<u64> {
        let mut word = [0; 8];
        // Fails for a counter that had to leave its CPU.
        (&self.file).read_exact(&mut word)?;
        Ok(u64::from_ne_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Mapping;

    const PAGES: u64 = 64;
    const SOFTWARE: u32 = 1;
    const PAGE_FAULTS: u64 = 2;

    #[test]
    fn faults_of_this_process_are_counted() {
        let counter = match PerfCounter::open(SOFTWARE, PAGE_FAULTS, std::process::id()) {
            Ok(counter) => counter,
            // A kernel without perf, or a user who may not: the reason is what is tested then.
            Err(error) => {
                let allowed = [libc::EACCES, libc::EPERM, libc::ENOSYS, libc::ENOENT];
                assert!(
                    error.raw_os_error().is_some_and(|code| allowed.contains(&code)),
                    "{error}"
                );
                return;
            }
        };
        // Of this thread, which is the one that touches.
        let own = PerfCounter::open(SOFTWARE, PAGE_FAULTS, 0).unwrap();
        let mapping = Mapping::anonymous(4096 * PAGES as usize).unwrap();
        let _ = mapping.advise(crate::memory::Advice::Small);
        let before = own.read().unwrap();
        mapping.touch(4096, 1);
        let faults = own.read().unwrap() - before;
        assert!((PAGES..PAGES + 20).contains(&faults), "{faults}");
        counter.read().unwrap();
    }

    #[test]
    fn page_walks_are_counted_or_refused_with_a_reason() {
        match PerfCounter::load_walks(0) {
            Ok(counter) => assert!(counter.read().is_ok_and(|walks| walks < 1 << 40)),
            Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
        }
    }
}
