//! What one fault, switch or copy costs on a machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Something whose cost is measured on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A minor fault on a page of anonymous memory that was never touched.
    FirstTouch,
    /// A minor fault on a page that is in the page cache, by itself (no fault-around).
    MapPage,
    /// A major fault on a file page, read again from the device.
    FileRefault,
    /// A major fault on an anonymous page, read from the swap device.
    SwapIn,
    /// One of the two switches of a round trip through pipes.
    ContextSwitch,
    /// A flush of another CPU's TLB, for each interrupt that the kernel counts.
    TlbShootdown,
    /// `fork`, for each page that the process holds.
    ForkPage,
    /// Copying a page at the first write after a fork.
    CopyOnWrite,
    /// A reference to memory without locality, through small pages, more than through huge ones.
    SmallPageReference,
    /// A reference to memory without locality, through huge pages.
    HugePageReference,
}

impl Operation {
    /// All, in the order of measurement: a thread is last, as a process with threads must not fork.
    pub const ALL: [Self; 10] = [
        Self::FirstTouch,
        Self::MapPage,
        Self::FileRefault,
        Self::SwapIn,
        Self::ContextSwitch,
        Self::ForkPage,
        Self::CopyOnWrite,
        Self::SmallPageReference,
        Self::HugePageReference,
        Self::TlbShootdown,
    ];
}

/// What an operation costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitCost {
    /// Its median cost in ns.
    pub ns: f64,
    /// The least of all repetitions, in ns.
    pub least_ns: f64,
    /// How many repetitions there were.
    pub repetitions: u32,
}

/// What operations cost on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitCosts {
    /// The costs that were measured.
    pub costs: BTreeMap<Operation, UnitCost>,
    /// Why the others were not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missed: BTreeMap<Operation, String>,
}

impl UnitCosts {
    /// The cost of an operation in ns; `None` if it was not measured.
    pub fn ns(&self, operation: Operation) -> Option<f64> {
        self.costs.get(&operation).map(|cost| cost.ns)
    }
}
