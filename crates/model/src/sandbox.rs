//! The limits of a sandbox.

use serde::{Deserialize, Serialize};

use crate::units::exact_size;

/// The limits of a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Memory limit, in bytes: this is "the memory of the machine" for every load.
    pub memory_bytes: u64,
    /// Memory from which on processes are slowed down and pages reclaimed (version 2's
    /// `memory.high`), in bytes; `None` = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_bytes: Option<u64>,
    /// CPU bandwidth limit in thousandths of a CPU; `None` = all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_milli: Option<u64>,
    /// Most processes at a time; `None` = no limit of our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

impl SandboxSpec {
    /// The limits as they are typed behind `sandbox:`, by name.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let high = self.high_bytes.map(|bytes| ("high", exact_size(bytes)));
        let cpus = self.cpus_milli.map(|milli| ("cpus", (milli as f64 / 1000.0).to_string()));
        let processes = self.processes.map(|count| ("pids", count.to_string()));
        let memory = ("mem", exact_size(self.memory_bytes));
        std::iter::once(memory).chain(high).chain(cpus).chain(processes).collect()
    }
}
