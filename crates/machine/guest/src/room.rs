//! Whether the kernel leaves its programs memory: one that boots may still take so much that it
//! reclaims before anything is measured, and then the reference without load is untrue.

use std::fs;

use model::units::format_size;
use rustix::system::sysinfo;

/// This part of the machine's memory must be free, for the arrays of the probe `response` (5/32 of it)
/// and what short-lived processes leave behind.
const PART: u64 = 4;
/// More that must be free, for the processes that measure, page tables included.
const INSTRUMENT_BYTES: u64 = 2 << 20;
/// The smallest of the kernel's three watermarks, in KiB. Above the highest, half as much more, it does
/// not reclaim (`Documentation/admin-guide/sysctl/vm.rst`, `min_free_kbytes`).
const WATERMARK: &str = "/proc/sys/vm/min_free_kbytes";

/// Fails with the reason where a machine of so much memory would reclaim without any load.
pub(crate) fn check(memory_bytes: u64) -> Result<(), String> {
    let facts = sysinfo();
    let free_bytes = facts.freeram as u64 * u64::from(facts.mem_unit);
    let text = fs::read_to_string(WATERMARK).unwrap_or_default();
    let smallest_kib = text.trim().parse().unwrap_or(0_u64);
    judge(memory_bytes, free_bytes, (smallest_kib + smallest_kib / 2) << 10)
}

fn judge(memory_bytes: u64, free_bytes: u64, reserve_bytes: u64) -> Result<(), String> {
    let needed_bytes = memory_bytes / PART + INSTRUMENT_BYTES + reserve_bytes;
    if free_bytes >= needed_bytes {
        return Ok(());
    }
    let [free, memory, needed] = [free_bytes, memory_bytes, needed_bytes].map(format_size);
    Err(format!(
        "only {free} are free after its start, and with mem={memory} what measures needs {needed}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_room_for_the_probe_above_the_watermark() {
        let judged = |free_kib: u64| judge(48 << 20, free_kib << 10, 2350 << 10);
        assert_eq!(judged((14 << 10) + 2350), Ok(()));
        let why = judged(14 << 10).unwrap_err();
        assert!(why.contains("14M are free") && why.contains("mem=48M"), "{why}");
    }
}
