//! When a thread leaves its CPU and comes back, with the kernel's part of its call stack, and which threads
//! all CPUs execute.

use std::io;

use crate::perf::{Attributes, SOFTWARE, flags, open_event};

use super::{CONTEXT_SWITCHES, LOST, PerfRings, Ring, id, page_bytes};

/// An event that never happens: its records are those of processes.
const DUMMY: u64 = 9;
/// IP, TID, TIME, CALLCHAIN, CPU, PERIOD, IDENTIFIER.
const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 16;
const ALL_PROCESSES: libc::pid_t = -1;

/// What is recorded besides the times at which a thread leaves its CPU and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchScope {
    /// The switches of all CPUs, with all threads.
    pub is_of_machine: bool,
    /// The kernel's call stack at which the thread leaves its CPU.
    pub with_kernel: bool,
    /// Size of the memory for each CPU in pages, a power of two.
    pub ring_pages: usize,
}

impl PerfRings {
    /// Records the switches of a thread from now on; times are those of the monotonic clock. Fails as
    /// [`PerfRings::open`] does.
    pub fn open_switches(thread: u32, scope: SwitchScope, cpus: &[u32]) -> io::Result<Self> {
        match Self::open_switches_as(thread, scope, cpus, true) {
            // Before Linux 6.0.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Self::open_switches_as(thread, scope, cpus, false)
            }
            other => other,
        }
    }

    fn open_switches_as(
        thread: u32,
        scope: SwitchScope,
        cpus: &[u32],
        counts_lost: bool,
    ) -> io::Result<Self> {
        let thread = thread as libc::pid_t;
        let whose = if scope.is_of_machine { ALL_PROCESSES } else { thread };
        let attributes = attributes(scope, counts_lost);
        let mut made = Self {
            rings: Vec::new(),
            others: Vec::new(),
            switch_ids: Vec::new(),
            faults: Vec::new(),
            fault_ids: Vec::new(),
            attributes,
            counts_lost,
        };
        for cpu in cpus {
            let cpu = *cpu as libc::c_int;
            let ring = Ring::map(open_event(&attributes, whose, cpu)?, scope.ring_pages)?;
            if scope.with_kernel {
                let stacks = open_event(&stacks(&attributes), thread, cpu)?;
                ring.take_output_of(&stacks)?;
                made.switch_ids.push(id(&stacks)?);
                made.others.push(stacks);
            }
            made.rings.push(ring);
        }
        Ok(made)
    }
}

fn attributes(scope: SwitchScope, counts_lost: bool) -> Attributes {
    let kernel = match scope.with_kernel {
        true => 0,
        false => flags::EXCLUDE_KERNEL | flags::EXCLUDE_CALLCHAIN_KERNEL,
    };
    Attributes {
        kind: SOFTWARE,
        config: DUMMY,
        sample_period: 1,
        sample_type: SAMPLE_TYPE,
        read_format: if counts_lost { LOST } else { 0 },
        flags: flags::EXCLUDE_HYPERVISOR
            | flags::EXCLUDE_CALLCHAIN_USER
            | flags::SAMPLE_ID_ALL
            | flags::USE_CLOCK
            | flags::CONTEXT_SWITCH
            | flags::COMM
            | flags::TASK
            | flags::WATERMARK
            | kernel,
        wakeup_events: (scope.ring_pages * page_bytes() / 2) as u32,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    }
}

/// A sample each time that the thread leaves its CPU.
fn stacks(attributes: &Attributes) -> Attributes {
    let of_others = flags::CONTEXT_SWITCH | flags::COMM | flags::TASK;
    let flags = attributes.flags & !of_others;
    Attributes { config: CONTEXT_SWITCHES, flags, ..*attributes }
}
