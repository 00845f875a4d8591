//! The used part of QEMU's plugin interface, version 4 (QEMU 10.0), and the functions that the
//! engine adds to it (`engine/patches/12-plugin-clock.patch`, `15-charge.patch`).

use std::ffi::{c_char, c_int, c_uint, c_void};

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

/// A byte array of GLib.
#[repr(C)]
pub(crate) struct ByteArray {
    pub(crate) data: *const u8,
    pub(crate) length: c_uint,
}

/// An array of GLib with the descriptions of registers.
#[repr(C)]
pub(crate) struct RegisterArray {
    pub(crate) data: *const RegisterDescription,
    pub(crate) length: c_uint,
}

#[repr(C)]
pub(crate) struct Register {
    opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct RegisterDescription {
    pub(crate) handle: *mut Register,
    pub(crate) name: *const c_char,
    feature: *const c_char,
}

/// The callback reads registers.
pub(crate) const READS_REGISTERS: c_int = 1;
pub(crate) const LOADS: c_int = 1;
pub(crate) const STORES: c_int = 2;
pub(crate) const LOADS_AND_STORES: c_int = 3;
/// An operation in place of a callback: a number is stored.
pub(crate) const STORE_NUMBER: c_int = 1;
/// A comparison before a callback: a number is not the given one.
pub(crate) const IS_NOT: c_int = 3;

unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_atexit_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, *mut c_void),
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_num_vcpus() -> c_int;
    pub(crate) fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub(crate) fn qemu_plugin_mem_is_store(info: c_uint) -> bool;
    pub(crate) fn qemu_plugin_mem_size_shift(info: c_uint) -> c_uint;
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
    pub(crate) fn qemu_plugin_register_vcpu_tb_exec_cond_cb(
        block: *mut TranslatedBlock,
        callback: OnExecution,
        flags: c_int,
        comparison: c_int,
        number: ScoreboardNumber,
        given: u64,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_mem_get_value(info: c_uint) -> MemoryValue;
    pub(crate) fn qemu_plugin_scoreboard_new(entry_bytes: usize) -> *mut Scoreboard;
    pub(crate) fn qemu_plugin_scoreboard_find(score: *mut Scoreboard, cpu: c_uint) -> *mut c_void;
    pub(crate) fn qemu_plugin_get_registers() -> *const RegisterArray;
    pub(crate) fn qemu_plugin_read_register(handle: *mut Register, to: *mut ByteArray) -> c_int;
    pub(crate) fn qemu_plugin_read_memory_vaddr(
        address: u64,
        to: *mut ByteArray,
        size: usize,
    ) -> bool;
    pub(crate) fn qemu_plugin_register_flush_cb(id: PluginId, callback: extern "C" fn(PluginId));
    pub(crate) fn g_byte_array_new() -> *mut ByteArray;
    pub(crate) fn g_byte_array_set_size(array: *mut ByteArray, size: c_uint) -> *mut ByteArray;
    /// Instructions of a virtual CPU since QEMU started; in a callback of it, those of the whole
    /// block that executes included.
    pub(crate) fn qemu_plugin_instructions(cpu: c_uint) -> u64;
    /// Virtual time in ns, in a callback that at the end of the block.
    pub(crate) fn qemu_plugin_virtual_ns() -> i64;
    /// Lets the time of so many instructions pass for the virtual CPU that executes.
    pub(crate) fn qemu_plugin_charge(instructions: u64);
}
