//! Records of what processes do, as the kernel writes them to memory that it shares
//! (`perf_event_open(2)`): samples of what executes, and every time that a thread leaves its CPU.

mod switches;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::perf::{Attributes, SOFTWARE, flags, open_event};

pub use switches::SwitchScope;

const CPU_CLOCK: u64 = 0;
const CONTEXT_SWITCHES: u64 = 3;
const MINOR_FAULTS: u64 = 5;
const MAJOR_FAULTS: u64 = 6;

/// IP, TID, TIME, ADDR, CALLCHAIN, CPU, PERIOD, REGS_USER, STACK_USER, IDENTIFIER.
const SAMPLE_TYPE: u64 =
    1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 13 | 1 << 16;
/// Events that were lost are counted, too (since Linux 6.0).
const LOST: u64 = 1 << 4;

/// Frame pointer, stack pointer and instruction pointer (`asm/perf_regs.h`).
#[cfg(target_arch = "x86_64")]
const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
/// x29, the link register, stack pointer and program counter.
#[cfg(target_arch = "aarch64")]
const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

/// The control page: `struct perf_event_mmap_page`.
const HEAD_OFFSET: usize = 1024;
const TAIL_OFFSET: usize = 1032;
const HEADER_BYTES: usize = 8;
const MOST_EVENT_STACK_BYTES: u32 = 16 << 10;

/// What to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Samples a second of CPU time.
    pub frequency_hz: u64,
    /// Every time that a thread leaves its CPU and comes back, with so many call stacks a second, of a
    /// thread on a CPU, at which it leaves; `None` records no switches.
    pub switches_hz: Option<u64>,
    /// Bytes of the stack that are copied with each sample of CPU time, a multiple of 8; with those of
    /// switches and page faults, of which there may be many, at most 16 KiB.
    pub stack_bytes: u32,
    /// Whether the kernel's part of call stacks is recorded, and the call stack at which a thread
    /// leaves its CPU.
    pub with_kernel: bool,
    /// Page faults whose call stacks are recorded, too.
    pub faults: Option<SampledFaults>,
    /// Size of the memory for each CPU in pages, a power of two.
    pub ring_pages: usize,
}

/// Which page faults are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledFaults {
    /// Their kind.
    pub kind: FaultKind,
    /// Most of them a second.
    pub frequency_hz: u64,
}

/// Page faults by what they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// No device: a first touch, a copy, a page that is in memory already.
    Minor,
    /// A device: the page is read.
    Major,
}

/// Whose events are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Processes that the calling thread starts; of each from its first program on.
    Children,
    /// Threads with these numbers, and all that they start.
    Threads(Vec<u32>),
}

/// Events of processes, one memory for each CPU.
#[derive(Debug)]
pub struct PerfRings {
    rings: Vec<Ring>,
    /// The events without a memory of their own.
    others: Vec<OwnedFd>,
    switch_ids: Vec<u64>,
    faults: Vec<OwnedFd>,
    fault_ids: Vec<u64>,
    attributes: Attributes,
    counts_lost: bool,
}

#[derive(Debug)]
struct Ring {
    event: OwnedFd,
    start: NonNull<u8>,
    size_bytes: usize,
    control_bytes: usize,
}

// SAFETY: the mapping is this ring's own, and what reads it takes `&mut` or the ring itself; no address
// in it is bound to a thread.
unsafe impl Send for Ring {}

impl PerfRings {
    /// Records from now on; times are those of the monotonic clock. Fails with EACCES where the user may
    /// not (`perf_event_paranoid`), EPERM where a container or a limit of locked memory forbids it,
    /// ESRCH for a thread that has ended, ENOENT without perf.
    pub fn open(observed: &Observed, recorded: &Recorded, cpus: &[u32]) -> io::Result<Self> {
        match Self::open_as(observed, recorded, cpus, true) {
            // Before Linux 6.0.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Self::open_as(observed, recorded, cpus, false)
            }
            other => other,
        }
    }

    fn open_as(
        observed: &Observed,
        recorded: &Recorded,
        cpus: &[u32],
        counts_lost: bool,
    ) -> io::Result<Self> {
        let mut attributes = attributes(recorded, counts_lost);
        let this_thread = [0];
        let threads: &[u32] = match observed {
            Observed::Children => &this_thread,
            Observed::Threads(threads) => {
                attributes.flags &= !(flags::DISABLED | flags::ENABLE_ON_EXEC);
                threads
            }
        };
        let (rings, others) = (Vec::new(), Vec::new());
        let (switch_ids, faults, fault_ids) = (Vec::new(), Vec::new(), Vec::new());
        let mut made =
            Self { rings, others, switch_ids, faults, fault_ids, attributes, counts_lost };
        for cpu in cpus {
            let mut ring: Option<Ring> = None;
            for thread in threads {
                let open = |attributes: &Attributes| {
                    open_event(attributes, *thread as libc::pid_t, *cpu as libc::c_int)
                };
                let event = open(&made.attributes)?;
                let ring = match &mut ring {
                    None => ring.insert(Ring::map(event, recorded.ring_pages)?),
                    Some(ring) => {
                        ring.take_output_of(&event)?;
                        made.others.push(event);
                        ring
                    }
                };
                if let Some(most_hz) = recorded.switches_hz.filter(|_| recorded.with_kernel) {
                    let switches = open(&switches(&made.attributes, most_hz))?;
                    ring.take_output_of(&switches)?;
                    made.switch_ids.push(id(&switches)?);
                    made.others.push(switches);
                }
                if let Some(sampled) = recorded.faults {
                    let faults = open(&page_faults(&made.attributes, sampled))?;
                    ring.take_output_of(&faults)?;
                    made.fault_ids.push(id(&faults)?);
                    made.faults.push(faults);
                }
            }
            made.rings.extend(ring);
        }
        Ok(made)
    }

    /// The attributes of the events as the kernel was given them, for who reads the records. All
    /// events have samples of the same form.
    pub fn attribute_bytes(&self) -> Vec<u8> {
        self.attributes.to_bytes()
    }

    /// The identifiers of the samples that are taken where a thread leaves its CPU.
    pub fn switch_ids(&self) -> &[u64] {
        &self.switch_ids
    }

    /// The identifiers of the samples that are taken at page faults.
    pub fn fault_ids(&self) -> &[u64] {
        &self.fault_ids
    }

    /// Takes all records that are there: their bytes, each with its header, of one CPU after the
    /// other.
    pub fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        let mut record = Vec::new();
        for ring in &mut self.rings {
            ring.drain(&mut record, &mut take);
        }
    }

    /// Waits until a memory is half full, or for a time.
    pub fn wait(&self, most: Duration) {
        let mut files: Vec<PollFd<'_>> =
            self.rings.iter().map(|ring| PollFd::new(&ring.event, PollFlags::IN)).collect();
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        let _ = poll(&mut files, Some(&most));
    }

    /// Ends the recording: the records that are there can still be taken, and none is added.
    pub fn stop(&self) -> io::Result<Totals> {
        const DISABLE: libc::Ioctl = 0x2401;
        for event in self.events() {
            // SAFETY: the call reads two numbers.
            crate::done(unsafe { libc::ioctl(event.as_raw_fd(), DISABLE, 0) })?;
        }
        let lost = || self.events().map(|event| Some(read(event)?[1])).sum();
        Ok(Totals {
            lost: self.counts_lost.then(lost).flatten(),
            faults: self.faults.iter().map(|event| Some(read(event)?[0])).sum(),
        })
    }

    fn events(&self) -> impl Iterator<Item = &OwnedFd> {
        let of_rings = self.rings.iter().map(|ring| &ring.event);
        of_rings.chain(&self.others).chain(&self.faults)
    }
}

/// What a recording counted, from its start to its end.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// Records that did not fit; `None` where the kernel does not count them.
    pub lost: Option<u64>,
    /// All page faults of the kind, recorded or not; `None` where they cannot be read.
    pub faults: Option<u64>,
}

/// How often an event happened, and how many records of it were lost, if that is counted.
fn read(event: &OwnedFd) -> Option<[u64; 2]> {
    let mut bytes = [0; 16];
    let count = rustix::io::read(event, &mut bytes).ok()?;
    let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
    let mut words = words.take(count / 8);
    Some([words.next()?, words.next().unwrap_or(0)])
}

fn attributes(recorded: &Recorded, counts_lost: bool) -> Attributes {
    // Debian's 6.12 refuses the kernel's call chains on their own, too.
    let kernel = match recorded.with_kernel {
        true => 0,
        false => flags::EXCLUDE_KERNEL | flags::EXCLUDE_CALLCHAIN_KERNEL,
    };
    let of_switches = recorded.switches_hz.map_or(0, |_| flags::CONTEXT_SWITCH);
    let of_processes = flags::MMAP | flags::MMAP2 | flags::COMM | flags::COMM_EXEC | flags::TASK;
    // Pages that are read from a device are those of files, which need not be code.
    let of_files = match recorded.faults {
        Some(SampledFaults { kind: FaultKind::Major, .. }) => flags::MMAP_DATA,
        _ => 0,
    };
    Attributes {
        kind: SOFTWARE,
        config: CPU_CLOCK,
        sample_period: recorded.frequency_hz,
        sample_type: SAMPLE_TYPE,
        read_format: if counts_lost { LOST } else { 0 },
        flags: flags::DISABLED
            | flags::INHERIT
            | flags::ENABLE_ON_EXEC
            | flags::FREQUENCY
            | flags::EXCLUDE_HYPERVISOR
            | flags::EXCLUDE_CALLCHAIN_USER
            | flags::SAMPLE_ID_ALL
            | flags::USE_CLOCK
            | flags::WATERMARK
            | of_switches
            | of_processes
            | of_files
            | kernel,
        wakeup_events: (recorded.ring_pages * page_bytes() / 2) as u32,
        sample_regs_user: REGISTERS,
        sample_stack_user: recorded.stack_bytes,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    }
}

fn id(event: &OwnedFd) -> io::Result<u64> {
    const GET_ID: libc::Ioctl = 0x8008_2407_u32 as libc::Ioctl;
    let mut id = 0_u64;
    // SAFETY: the call writes a number that outlives it.
    crate::done(unsafe { libc::ioctl(event.as_raw_fd(), GET_ID, &raw mut id) })?;
    Ok(id)
}

/// Samples where a thread leaves its CPU: each time, as long as that is not too often.
fn switches(attributes: &Attributes, most_hz: u64) -> Attributes {
    let sampled = only_samples(attributes, CONTEXT_SWITCHES);
    Attributes { sample_period: most_hz, ..sampled }
}

/// Samples at page faults, at a rate: where samples have their period, the kernel ignores a fixed one
/// and takes every fault (`perf_swevent_event` in `kernel/events/core.c`).
fn page_faults(attributes: &Attributes, sampled: SampledFaults) -> Attributes {
    let config = match sampled.kind {
        FaultKind::Minor => MINOR_FAULTS,
        FaultKind::Major => MAJOR_FAULTS,
    };
    Attributes { sample_period: sampled.frequency_hz, ..only_samples(attributes, config) }
}

/// Samples of another event: what else there is to record, the first event records.
fn only_samples(attributes: &Attributes, config: u64) -> Attributes {
    let of_others = flags::MMAP
        | flags::MMAP2
        | flags::MMAP_DATA
        | flags::COMM
        | flags::COMM_EXEC
        | flags::TASK
        | flags::CONTEXT_SWITCH;
    let sample_stack_user = attributes.sample_stack_user.min(MOST_EVENT_STACK_BYTES);
    Attributes { config, flags: attributes.flags & !of_others, sample_stack_user, ..*attributes }
}

fn page_bytes() -> usize {
    rustix::param::page_size()
}

impl Ring {
    fn map(event: OwnedFd, pages: usize) -> io::Result<Self> {
        let control_bytes = page_bytes();
        let (size_bytes, flags) = (pages * control_bytes, libc::MAP_SHARED);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: without MAP_FIXED a new mapping overlaps no memory that Rust knows.
        let start = unsafe {
            let size = control_bytes + size_bytes;
            libc::mmap(std::ptr::null_mut(), size, protection, flags, event.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Self { event, start, size_bytes, control_bytes })
    }

    fn take_output_of(&self, event: &OwnedFd) -> io::Result<()> {
        const SET_OUTPUT: libc::Ioctl = 0x2405;
        // SAFETY: the call reads two numbers.
        crate::done(unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, self.event.as_raw_fd()) })
    }

    fn counter(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the control page is mapped as long as this lives; the kernel has aligned 64-bit
        // counters there, and both sides use them atomically.
        unsafe { &*self.start.as_ptr().add(offset).cast::<AtomicU64>() }
    }

    fn drain(&mut self, record: &mut Vec<u8>, take: &mut impl FnMut(&[u8])) {
        let head = self.counter(HEAD_OFFSET).load(Ordering::Acquire);
        let mut tail = self.counter(TAIL_OFFSET).load(Ordering::Relaxed);
        while head.wrapping_sub(tail) >= HEADER_BYTES as u64 {
            self.copy(tail, HEADER_BYTES, record);
            let size = usize::from(u16::from_ne_bytes([record[6], record[7]]));
            if size < HEADER_BYTES || head.wrapping_sub(tail) < size as u64 {
                // The kernel writes whole records; what is none ends this round.
                tail = head;
                break;
            }
            self.copy(tail, size, record);
            take(record);
            tail = tail.wrapping_add(size as u64);
        }
        self.counter(TAIL_OFFSET).store(tail, Ordering::Release);
    }

    /// Copies a part of the memory, which may continue at its beginning.
    fn copy(&self, from: u64, size: usize, to: &mut Vec<u8>) {
        to.clear();
        let begin = (from % self.size_bytes as u64) as usize;
        let first = size.min(self.size_bytes - begin);
        for (offset, count) in [(begin, first), (0, size - first)] {
            // SAFETY: the part lies in the mapping, and the kernel leaves it alone until the tail has
            // passed it.
            let part = unsafe {
                let start = self.start.as_ptr().add(self.control_bytes + offset);
                std::slice::from_raw_parts(start, count)
            };
            to.extend_from_slice(part);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of which no reference is left.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.control_bytes + self.size_bytes);
        }
    }
}
