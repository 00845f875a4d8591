//! Costs of single faults, switches and copies on a machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

model::named! {
    /// An operation whose cost is measured on the machine.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Operation {
        /// A minor fault on a page of anonymous memory that was never touched.
        FirstTouch = "first_touch",
        /// A minor fault on one page in the page cache (no fault-around).
        MapPage = "map_page",
        /// A major fault on a file page, read again from the device.
        FileRefault = "file_refault",
        /// A major fault on an anonymous page, read from the swap device.
        SwapIn = "swap_in",
        /// One of the two switches of a round trip through pipes.
        ContextSwitch = "context_switch",
        /// A flush of another CPU's TLB, per interrupt that the kernel counts: one may cover
        /// several flushes, as CPUs that do not run are not interrupted.
        TlbShootdown = "tlb_shootdown",
        /// `fork`, per page that the process holds.
        ForkPage = "fork_page",
        /// Copying a page at the first write after a fork.
        CopyOnWrite = "copy_on_write",
        /// The extra cost of small pages for a reference to memory without locality.
        SmallPageReference = "small_page_reference",
        /// A reference to memory without locality, through huge pages.
        HugePageReference = "huge_page_reference",
    }
}

/// The cost of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnitCost {
    /// Its median cost in ns.
    pub ns: f64,
    /// Minimum in ns.
    pub least_ns: f64,
    /// Number of repetitions.
    pub repetitions: u32,
}

/// Costs of operations on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitCosts {
    /// Measured costs.
    pub costs: BTreeMap<Operation, UnitCost>,
    /// Reasons for missing costs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missed: BTreeMap<Operation, String>,
}

impl UnitCosts {
    /// The cost of an operation in ns; `None` if it was not measured.
    pub fn ns(&self, operation: Operation) -> Option<f64> {
        self.costs.get(&operation).map(|cost| cost.ns)
    }
}
