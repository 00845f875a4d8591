//! Threads that stay on one CPU.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that this thread may use.
pub(super) fn cpus() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// Pins a thread to its own CPU; a refusal is ignored.
pub(super) fn pin(cpus: &[usize], number: usize) {
    let mut own = CpuSet::new();
    cpus.get(number).into_iter().for_each(|cpu| own.set(*cpu));
    let _ = sched_setaffinity(None, &own);
}
