//! The costs of a machine with a system, in ns.

use crate::setup::Setup;

/// References to memory of a walk through three levels of tables.
const WALK_REFERENCES: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prices {
    clock_hz: u64,
    pub(crate) touch_ns: u64,
    pub(crate) fault_ns: u64,
    pub(crate) fault_user_ns: u64,
    pub(crate) zero_fill_ns: u64,
    pub(crate) copy_ns: u64,
    /// Filling a pmeg from a copy.
    pub(crate) load_ns: u64,
    /// Emptying a pmeg.
    pub(crate) unload_ns: u64,
    pub(crate) entry_ns: u64,
    pub(crate) walk_ns: u64,
    /// Flushing a context or a segment from the cache.
    pub(crate) flush_ns: u64,
    pub(crate) segment_ns: u64,
    pub(crate) context_ns: u64,
    pub(crate) switch_ns: u64,
    pub(crate) exec_ns: u64,
    pub(crate) fork_ns: u64,
    pub(crate) fork_page_ns: u64,
    pub(crate) exit_ns: u64,
    pub(crate) exit_page_ns: u64,
    pub(crate) sleep_ns: u64,
    pub(crate) wait_ns: u64,
    pub(crate) swap_in_ns: u64,
}

impl Prices {
    pub(crate) fn new(setup: &Setup) -> Self {
        let (machine, costs) = (&setup.machine, &setup.system.costs);
        let ns = |cycles: u64| machine.cycles_ns(cycles);
        let ptes_cycles = u64::from(machine.ptes_per_pmeg()) * machine.cycles.pte;
        Self {
            clock_hz: machine.clock_hz,
            touch_ns: machine.touch_ns(),
            fault_ns: ns(costs.fault),
            fault_user_ns: ns(costs.fault_user),
            zero_fill_ns: ns(costs.zero_fill),
            copy_ns: ns(costs.copy),
            load_ns: ns(costs.group + ptes_cycles),
            // Each entry is read for its reference bits, and made invalid.
            unload_ns: ns(2 * ptes_cycles),
            entry_ns: ns(costs.entry),
            walk_ns: WALK_REFERENCES * machine.memory.line_fill_ns,
            flush_ns: ns(machine.flush_cycles()),
            segment_ns: ns(machine.cycles.segment),
            context_ns: ns(costs.context),
            switch_ns: ns(costs.switch),
            exec_ns: ns(costs.exec),
            fork_ns: ns(costs.fork),
            fork_page_ns: ns(costs.fork_page),
            exit_ns: ns(costs.exit),
            exit_page_ns: ns(costs.exit_page),
            sleep_ns: ns(costs.sleep),
            wait_ns: ns(costs.wait),
            swap_in_ns: ns(costs.swap_in),
        }
    }

    /// Cycles in ns, rounded down.
    pub(crate) fn cycles_ns(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * 1_000_000_000 / u128::from(self.clock_hz)) as u64
    }

    /// A plain fault and the touches after it.
    pub(crate) fn plain_ns(&self, touches: u64) -> u64 {
        self.fault_ns + self.fault_user_ns + touches * self.touch_ns
    }
}
