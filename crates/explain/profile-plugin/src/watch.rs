//! The last write to some bytes of a guest's memory, up to a time.

use std::ffi::{c_uint, c_void};

use crate::qemu::{self, TranslatedBlock};
use crate::with;

/// Kind and version of the file.
const MAGIC: u64 = u64::from_le_bytes(*b"tlwrite\x01");

/// What was found so far.
pub(crate) struct Watch {
    address: u64,
    size_bytes: u64,
    until_ns: u64,
    writes: u64,
    last: Option<Write>,
}

/// An instruction that writes.
#[derive(Clone, Copy)]
struct Write {
    time_ns: u64,
    address: u64,
    cpu: u32,
}

/// An instruction, and how many of its block are to come, itself included.
struct Site {
    address: u64,
    before: u64,
}

impl Watch {
    pub(crate) fn new(address: u64, size_bytes: u64, until_ns: u64) -> Self {
        Self { address, size_bytes, until_ns, writes: 0, last: None }
    }

    fn is_hit(&self, address: u64, size_bytes: u64) -> bool {
        address < self.address.saturating_add(self.size_bytes)
            && self.address < address.saturating_add(size_bytes)
    }

    /// The file: magic, number of writes, and of the last one time, address of the instruction and CPU.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let last = self.last.unwrap_or(Write { time_ns: 0, address: 0, cpu: 0 });
        let words = [MAGIC, self.writes, last.time_ns, last.address, u64::from(last.cpu)];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

/// # Safety
/// The block must belong to a running callback.
pub(crate) unsafe fn instrument(block: *mut TranslatedBlock) {
    // SAFETY: the caller vouches for the block, and so for its instructions; callbacks and sites live
    // forever.
    unsafe {
        let count = qemu::qemu_plugin_tb_n_insns(block);
        for index in 0..count {
            let instruction = qemu::qemu_plugin_tb_get_insn(block, index);
            let address = qemu::qemu_plugin_insn_vaddr(instruction);
            let site = Box::new(Site { address, before: (count - index) as u64 });
            qemu::qemu_plugin_register_vcpu_mem_cb(
                instruction,
                on_store,
                qemu::NO_REGISTERS,
                qemu::STORES,
                Box::into_raw(site).cast(),
            );
        }
    }
}

extern "C" fn on_store(cpu: c_uint, info: c_uint, address: u64, site: *mut c_void) {
    with(|profile| {
        let Some(watch) = &mut profile.watch else { return };
        // SAFETY: it only reads the description of this callback's store.
        let size_bytes = 1 << unsafe { qemu::qemu_plugin_mem_size_shift(info) };
        if !watch.is_hit(address, size_bytes) {
            return;
        }
        // SAFETY: `instrument` made it.
        let site = unsafe { &*site.cast::<Site>() };
        let time_ns = crate::now(cpu, site.before, profile.shift, false).time_ns;
        if time_ns < watch.until_ns {
            watch.writes += 1;
            watch.last = Some(Write { time_ns, address: site.address, cpu });
        }
    });
}
