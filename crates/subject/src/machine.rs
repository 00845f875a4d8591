//! The few facts of the machine that sizes are derived from.

use std::path::Path;

use counters::parse::colon_keyed;

/// Memory, swap and CPUs of this machine at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Physical memory in bytes.
    pub memory_bytes: u64,
    /// Memory that can be had without swapping, in bytes.
    pub available_bytes: u64,
    /// Swap space in bytes; 0 without swap.
    pub swap_bytes: u64,
    /// CPUs that this process may use.
    pub cpus: u32,
}

impl Machine {
    /// Reads them.
    ///
    /// # Errors
    /// When `/proc/meminfo` cannot be read or lacks a field, with the reason.
    pub fn read() -> Result<Self, String> {
        Self::read_from(Path::new("/proc"))
    }

    fn read_from(proc_root: &Path) -> Result<Self, String> {
        let path = proc_root.join("meminfo");
        let failed = |reason: String| format!("read {}: {reason}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        let fields = colon_keyed(&text).map_err(|error| failed(error.to_string()))?;
        let bytes = |name: &str| {
            let value = fields.get(name).ok_or_else(|| failed(format!("{name} is missing")))?;
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
