//! The costs of a machine with a system, in ns.

use crate::setup::Setup;
use crate::system::Costs;

/// References to memory of a walk through three levels of tables.
const WALK_REFERENCES: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prices {
    clock_hz: u64,
    /// Costs of the system's paths, in ns.
    pub(crate) paths_ns: Costs,
    pub(crate) touch_ns: u64,
    /// Filling a pmeg from a copy.
    pub(crate) load_ns: u64,
    /// Emptying a pmeg.
    pub(crate) unload_ns: u64,
    pub(crate) walk_ns: u64,
    /// Flushing a context or a segment from the cache.
    pub(crate) flush_ns: u64,
    pub(crate) segment_ns: u64,
}

impl Prices {
    pub(crate) fn new(setup: &Setup) -> Self {
        let (machine, costs) = (&setup.machine, &setup.system.costs);
        let ns = |cycles: u64| machine.cycles_ns(cycles);
        let ptes_cycles = u64::from(machine.ptes_per_pmeg()) * machine.cycles.pte;
        Self {
            clock_hz: machine.clock_hz,
            paths_ns: costs.map(ns),
            touch_ns: machine.touch_ns(),
            load_ns: ns(costs.group + ptes_cycles),
            // Each entry is read for its reference bits, and invalidated.
            unload_ns: ns(2 * ptes_cycles),
            walk_ns: WALK_REFERENCES * machine.memory.line_fill_ns,
            flush_ns: ns(machine.flush_cycles()),
            segment_ns: ns(machine.cycles.segment),
        }
    }

    /// Cycles in ns, rounded down.
    pub(crate) fn cycles_ns(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * 1_000_000_000 / u128::from(self.clock_hz)) as u64
    }

    /// A plain fault and the touches after it.
    pub(crate) fn plain_ns(&self, touches: u64) -> u64 {
        self.paths_ns.fault + self.paths_ns.fault_user + touches * self.touch_ns
    }
}
