//! The used part of QEMU's plugin interface, version 4 (QEMU 10.0), and the two functions that the
//! engine adds to it (`engine/patches/12-plugin-clock.patch`).

use std::ffi::{c_int, c_uint, c_void};

pub(crate) use crate::interface::*;

/// The version of the interface; QEMU reads it before it calls anything.
#[unsafe(no_mangle)]
#[expect(unreachable_pub, reason = "QEMU reaches it by its symbol")]
pub static qemu_plugin_version: c_int = 4;

/// Memory with an entry per virtual CPU.
#[repr(C)]
pub(crate) struct Scoreboard {
    opaque: [u8; 0],
}

/// A number in each entry of a scoreboard.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ScoreboardNumber {
    pub(crate) score: *mut Scoreboard,
    pub(crate) offset: usize,
}

/// What an instruction loaded.
#[repr(C)]
pub(crate) struct MemoryValue {
    kind: c_int,
    /// The value, and its upper half if it has 128 bits.
    pub(crate) words: [u64; 2],
}

pub(crate) const LOADS: c_int = 1;
pub(crate) const STORES: c_int = 2;
/// An operation in place of a callback: a number is stored.
pub(crate) const STORE_NUMBER: c_int = 1;

unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_atexit_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, *mut c_void),
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_num_vcpus() -> c_int;
    pub(crate) fn qemu_plugin_tb_vaddr(block: *const TranslatedBlock) -> u64;
    pub(crate) fn qemu_plugin_insn_data(
        instruction: *const Instruction,
        data: *mut c_void,
        size: usize,
    ) -> usize;
    pub(crate) fn qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
        block: *mut TranslatedBlock,
        operation: c_int,
        number: ScoreboardNumber,
        operand: u64,
    );
    pub(crate) fn qemu_plugin_mem_get_value(info: c_uint) -> MemoryValue;
    pub(crate) fn qemu_plugin_scoreboard_new(entry_bytes: usize) -> *mut Scoreboard;
    pub(crate) fn qemu_plugin_scoreboard_find(score: *mut Scoreboard, cpu: c_uint) -> *mut c_void;
    /// Instructions of a virtual CPU since QEMU started; in a callback of it, those of the whole
    /// block that executes included.
    pub(crate) fn qemu_plugin_instructions(cpu: c_uint) -> u64;
    /// Virtual time in ns, in a callback that at the end of the block.
    pub(crate) fn qemu_plugin_virtual_ns() -> i64;
}
