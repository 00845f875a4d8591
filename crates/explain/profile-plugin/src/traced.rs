//! Callbacks at each reference of a guest to memory.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use crate::memory::Block;
use crate::privileged::{Change, Operand, change};
use crate::qemu::{self, Instruction, PluginId, TranslatedBlock};
use crate::reference::PAGE_SHIFT;
use crate::{FIRST_KERNEL_ADDRESS, bytes_of, with};

/// What callbacks get of the code that was translated, until QEMU forgets all of it.
#[derive(Default)]
pub(crate) struct Code {
    #[expect(clippy::vec_box, reason = "callbacks have the addresses")]
    blocks: Vec<Box<Block>>,
    #[expect(clippy::vec_box, reason = "callbacks have the addresses")]
    flushes: Vec<Box<(Operand, u64)>>,
}

/// # Safety
/// The block must belong to a running callback.
pub(crate) unsafe fn instrument(code: &mut Code, block: *mut TranslatedBlock) {
    // SAFETY: the caller vouches for the block, and so for its instructions; what callbacks get lives
    // as long as the translated code.
    unsafe {
        let (address, count) =
            (qemu::qemu_plugin_tb_vaddr(block), qemu::qemu_plugin_tb_n_insns(block));
        let is_user = address < FIRST_KERNEL_ADDRESS;
        let mut counts = [0; 2];
        for index in 0..count {
            let instruction = qemu::qemu_plugin_tb_get_insn(block, index);
            let at = qemu::qemu_plugin_insn_vaddr(instruction);
            counts[usize::from(at >> PAGE_SHIFT != address >> PAGE_SHIFT)] += 1;
            qemu::qemu_plugin_register_vcpu_mem_cb(
                instruction,
                on_reference,
                qemu::NO_REGISTERS,
                qemu::LOADS_AND_STORES,
                null_mut(),
            );
            if !is_user {
                instrument_change(code, instruction, at);
            }
        }
        let mut traced = Box::new(Block { address, counts, is_user, age: 0 });
        qemu::qemu_plugin_register_vcpu_tb_exec_cb(
            block,
            on_block,
            // At the start of a block all of them are in memory, so it costs nothing.
            qemu::READS_REGISTERS,
            (&raw mut *traced).cast(),
        );
        code.blocks.push(traced);
    }
}

/// # Safety
/// The instruction must belong to a running callback.
unsafe fn instrument_change(code: &mut Code, instruction: *mut Instruction, address: u64) {
    // SAFETY: the caller vouches for the instruction.
    unsafe {
        let bytes = bytes_of(instruction);
        let (callback, data): (qemu::OnExecution, *mut c_void) = match change(bytes.as_slice()) {
            Some(Change::Space) => (on_flush, null_mut()),
            Some(Change::All) => (on_flush, without_provenance_mut(1)),
            Some(Change::Page(operand)) => {
                let end = address + bytes.as_slice().len() as u64;
                let mut flush = Box::new((operand, end));
                let data = (&raw mut *flush).cast();
                code.flushes.push(flush);
                (on_page_flush, data)
            }
            None => return,
        };
        let flags: c_int = qemu::READS_REGISTERS;
        qemu::qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, flags, data);
    }
}

extern "C" fn on_block(cpu: c_uint, block: *mut c_void) {
    with(|profile| {
        let Some(memory) = &mut profile.memory else { return };
        // SAFETY: `instrument` made it, and callbacks do not nest.
        let block = unsafe { &mut *block.cast::<Block>() };
        let node = match block.is_user {
            true => profile.shadow.user_node(cpu as usize),
            false => profile.shadow.node(cpu as usize),
        };
        let count = block.counts[0] + block.counts[1];
        // SAFETY: the function only reads.
        let end_ns = unsafe { qemu::qemu_plugin_virtual_ns() } as u64;
        memory.block(cpu as usize, block, node, end_ns - (count << profile.shift));
    });
}

extern "C" fn on_reference(_: c_uint, info: c_uint, address: u64, _: *mut c_void) {
    with(|profile| {
        if let Some(memory) = &mut profile.memory {
            // SAFETY: it only reads the description of this callback's reference.
            memory.data(address, unsafe { qemu::qemu_plugin_mem_is_store(info) });
        }
    });
}

extern "C" fn on_flush(cpu: c_uint, globals_too: *mut c_void) {
    with(|profile| {
        if let Some(memory) = &mut profile.memory {
            memory.flush(cpu as usize, !globals_too.is_null());
        }
    });
}

extern "C" fn on_page_flush(_: c_uint, flush: *mut c_void) {
    with(|profile| {
        if let Some(memory) = &mut profile.memory {
            // SAFETY: `instrument_change` made it.
            let (operand, end) = unsafe { *flush.cast::<(Operand, u64)>() };
            memory.flush_page(operand, end);
        }
    });
}

/// QEMU has forgotten all translated code.
pub(crate) extern "C" fn on_code_flush(_: PluginId) {
    with(|profile| profile.code = Code::default());
}
