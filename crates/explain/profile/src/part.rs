//! The parts of a profile of this machine.

use serde::{Deserialize, Serialize};

/// What a thread does with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// It executes.
    OnCpu,
    /// It waits, from the call stack on at which it gave its CPU up.
    Waits,
    /// It could execute, and another has the CPU.
    WaitsForCpu,
    /// Its page faults, if they were recorded: numbers in place of times.
    Faults,
}

impl Part {
    /// All, in the order of tables.
    pub const ALL: [Self; 4] = [Self::OnCpu, Self::Waits, Self::WaitsForCpu, Self::Faults];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnCpu => "on CPU",
            Self::Waits => "waits",
            Self::WaitsForCpu => "waits for CPU",
            Self::Faults => "page faults",
        }
    }
}
