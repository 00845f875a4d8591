//! The virtual clock pays for translations: what the simulator of TLBs counts is charged to the virtual
//! CPU that executes, at the reference that waits. A cycle takes as long as an instruction.

use crate::qemu;
use crate::tlb::{Mapped, Simulator};

pub(crate) struct Charged {
    simulator: Simulator,
    /// Cycles that were charged.
    charged: u64,
}

impl Charged {
    pub(crate) fn new(simulator: Simulator) -> Self {
        Self { simulator, charged: 0 }
    }

    /// References to a page; `false` if it is not known how it is mapped.
    #[inline]
    pub(crate) fn refer(&mut self, page: u64, fetch: bool, count: u64) -> bool {
        let is_known = self.simulator.refer_in_guest(page, fetch, count);
        let cycles = self.simulator.price().cycles;
        if cycles != self.charged {
            // SAFETY: a callback of the virtual CPU that refers is running.
            unsafe { qemu::qemu_plugin_charge(cycles - self.charged) };
            self.charged = cycles;
        }
        is_known
    }

    pub(crate) fn translated(&mut self, page: u64, mapped: Mapped) {
        self.simulator.translated(page, mapped);
    }

    pub(crate) fn switch(&mut self, space: u32, cpu: u32) {
        self.simulator.switch(space, cpu);
    }

    pub(crate) fn flush(&mut self, globals_too: bool) {
        self.simulator.flush_guest(globals_too);
    }

    pub(crate) fn flush_page(&mut self, page: u64) {
        self.simulator.flush_guest_page(page);
    }
}
