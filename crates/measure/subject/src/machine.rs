//! The facts of the machine that sizes are derived from.

use counters::parse::colon_keyed;
use model::Values;

const MEMINFO: &str = "/proc/meminfo";

/// Memory, swap and CPUs that this machine has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Physical memory in bytes.
    pub memory_bytes: u64,
    /// Memory available without swapping, in bytes.
    pub available_bytes: u64,
    /// Swap space in bytes; 0 without swap.
    pub swap_bytes: u64,
    /// CPUs that this process may use.
    pub cpus: u32,
}

impl Machine {
    /// Reads them. Fails when `/proc/meminfo` cannot be read or lacks a field, with the reason.
    pub fn read() -> Result<Self, String> {
        let fields = meminfo()?;
        let bytes = |name: &str| {
            let value = fields.get(name).ok_or_else(|| failed(&format!("{name} is missing")))?;
            Ok::<u64, String>(value.saturating_mul(1024))
        };
        Ok(Self {
            memory_bytes: bytes("MemTotal_kb")?,
            available_bytes: bytes("MemAvailable_kb")?,
            swap_bytes: bytes("SwapTotal_kb")?,
            cpus: sys::process::usable_cpus(),
        })
    }
}

/// Memory to be written to disks, in KiB; 0 if unknown.
pub(crate) fn unwritten_kb() -> u64 {
    let fields = meminfo().unwrap_or_default();
    ["Dirty_kb", "Writeback_kb"].iter().filter_map(|name| fields.get(*name)).sum()
}

fn meminfo() -> Result<Values, String> {
    let text = std::fs::read_to_string(MEMINFO).map_err(|error| failed(&error.to_string()))?;
    let fields = colon_keyed(&text).map_err(|error| failed(&error.to_string()))?;
    Ok(fields.into_iter().collect())
}

fn failed(reason: &str) -> String {
    format!("read {MEMINFO}: {reason}")
}
