//! The used part of QEMU's plugin interface, version 1 (QEMU 5.0 to 8.x).

use std::ffi::{c_int, c_uint, c_void};

/// The version of the interface; QEMU reads it before it calls anything.
#[unsafe(no_mangle)]
#[expect(unreachable_pub, reason = "QEMU reaches it by its symbol")]
pub static qemu_plugin_version: c_int = 1;

pub(crate) type PluginId = u64;
/// Describes a reference; only QEMU's functions can read it.
pub(crate) type MemoryInfo = c_uint;

/// A translated block, valid during the callback that gets it.
#[repr(C)]
pub(crate) struct TranslatedBlock {
    opaque: [u8; 0],
}

#[repr(C)]
pub(crate) struct Instruction {
    opaque: [u8; 0],
}

/// The callback reads no registers.
pub(crate) const NO_REGISTERS: c_int = 0;
pub(crate) const LOADS_AND_STORES: c_int = 3;

/// Arguments: virtual CPU, user data.
pub(crate) type OnExecution = extern "C" fn(c_uint, *mut c_void);
/// Arguments: virtual CPU, description, address, user data.
pub(crate) type OnMemory = extern "C" fn(c_uint, MemoryInfo, u64, *mut c_void);
/// Arguments: plugin, virtual CPU, number, eight arguments.
pub(crate) type OnSyscall =
    extern "C" fn(PluginId, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_vcpu_init_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, c_uint),
    );
    pub(crate) fn qemu_plugin_register_vcpu_tb_trans_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, *mut TranslatedBlock),
    );
    pub(crate) fn qemu_plugin_tb_n_insns(block: *const TranslatedBlock) -> usize;
    pub(crate) fn qemu_plugin_tb_get_insn(
        block: *const TranslatedBlock,
        index: usize,
    ) -> *mut Instruction;
    pub(crate) fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    pub(crate) fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub(crate) fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut TranslatedBlock,
        callback: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: OnMemory,
        flags: c_int,
        access: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_mem_size_shift(info: MemoryInfo) -> c_uint;
    pub(crate) fn qemu_plugin_mem_is_store(info: MemoryInfo) -> bool;
    pub(crate) fn qemu_plugin_register_vcpu_syscall_cb(id: PluginId, callback: OnSyscall);
    pub(crate) fn qemu_plugin_register_vcpu_syscall_ret_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, c_uint, i64, i64),
    );
}
