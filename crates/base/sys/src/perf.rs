//! Counters of the CPU and the kernel for a process and all it forks (`perf_event_open(2)`).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A counter of one process and of all that it forks after the counter was opened.
#[derive(Debug)]
pub struct PerfCounter {
    file: File,
}

/// `struct perf_event_attr` of Linux 4.1; an older kernel accepts it while what it does not know is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) kind: u32,
    pub(crate) size_bytes: u32,
    pub(crate) config: u64,
    pub(crate) sample_period: u64,
    pub(crate) sample_type: u64,
    pub(crate) read_format: u64,
    pub(crate) flags: u64,
    pub(crate) wakeup_events: u32,
    pub(crate) breakpoint_type: u32,
    pub(crate) config1: u64,
    pub(crate) config2: u64,
    pub(crate) branch_sample_type: u64,
    pub(crate) sample_regs_user: u64,
    pub(crate) sample_stack_user: u32,
    pub(crate) clock: i32,
    pub(crate) sample_regs_interrupt: u64,
    pub(crate) aux_watermark: u32,
    pub(crate) sample_max_stack: u16,
    pub(crate) reserved: u16,
}

impl Attributes {
    /// With their size, which is their version.
    fn sized(&self) -> Self {
        Self { size_bytes: size_of::<Self>() as u32, ..*self }
    }

    /// As the kernel reads them.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let sized = self.sized();
        // SAFETY: a C structure of integers without padding.
        unsafe { std::slice::from_raw_parts((&raw const sized).cast(), size_of::<Self>()) }.to_vec()
    }
}

/// Bits of [`Attributes::flags`].
pub(crate) mod flags {
    pub(crate) const DISABLED: u64 = 1;
    pub(crate) const INHERIT: u64 = 1 << 1;
    /// Never multiplexed: the value is a count and not an estimate.
    pub(crate) const PINNED: u64 = 1 << 2;
    pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub(crate) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    pub(crate) const MMAP: u64 = 1 << 8;
    pub(crate) const COMM: u64 = 1 << 9;
    pub(crate) const FREQUENCY: u64 = 1 << 10;
    pub(crate) const ENABLE_ON_EXEC: u64 = 1 << 12;
    pub(crate) const TASK: u64 = 1 << 13;
    pub(crate) const WATERMARK: u64 = 1 << 14;
    pub(crate) const MMAP_DATA: u64 = 1 << 17;
    pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub(crate) const EXCLUDE_CALLCHAIN_KERNEL: u64 = 1 << 21;
    pub(crate) const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
    pub(crate) const MMAP2: u64 = 1 << 23;
    pub(crate) const COMM_EXEC: u64 = 1 << 24;
    pub(crate) const USE_CLOCK: u64 = 1 << 25;
    pub(crate) const CONTEXT_SWITCH: u64 = 1 << 26;
}

/// The only flag of the call itself.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

pub(crate) const HARDWARE: u32 = 0;
pub(crate) const SOFTWARE: u32 = 1;
pub(crate) const CACHE: u32 = 3;
/// Data TLB, reading, misses.
pub(crate) const TLB_READ_MISSES: u64 = 3 | 1 << 16;

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
            config,
            flags: flags::INHERIT
                | flags::PINNED
                | flags::EXCLUDE_KERNEL
                | flags::EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        let any_cpu = -1;
        let fd = open_event(&attributes, pid as libc::pid_t, any_cpu)?;
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

/// Opens an event of a process (0 = this thread) on a CPU (-1 = any).
pub(crate) fn open_event(
    attributes: &Attributes,
    pid: libc::pid_t,
    cpu: libc::c_int,
) -> io::Result<OwnedFd> {
    open_in_group(attributes, pid, cpu, None)
}

/// As [`open_event`]; it is on the CPU only when the leader of its group is.
pub(crate) fn open_in_group(
    attributes: &Attributes,
    pid: libc::pid_t,
    cpu: libc::c_int,
    leader: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    let attributes = attributes.sized();
    let leader = leader.map_or(-1, |leader| leader.as_raw_fd());
    // SAFETY: the attributes say their own size and outlive the call, which only reads them.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            pid,
            cpu,
            leader,
            CLOSE_ON_EXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor to nobody but us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Mapping;

    const PAGES: u64 = 64;
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
        // Counts this thread, which is the one that touches.
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
