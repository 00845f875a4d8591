//! The used part of QEMU's plugin interface, version 1 (QEMU 5.0 to 8.x).

use std::ffi::{c_int, c_uint};

pub(crate) use crate::interface::*;

/// The version of the interface; QEMU reads it before it calls anything.
#[unsafe(no_mangle)]
#[expect(unreachable_pub, reason = "QEMU reaches it by its symbol")]
pub static qemu_plugin_version: c_int = 1;

/// Describes a reference; only QEMU's functions can read it.
pub(crate) type MemoryInfo = c_uint;

pub(crate) const LOADS_AND_STORES: c_int = 3;

/// Arguments: plugin, virtual CPU, number, eight arguments.
pub(crate) type OnSyscall =
    extern "C" fn(PluginId, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_vcpu_init_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, c_uint),
    );
    pub(crate) fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    pub(crate) fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub(crate) fn qemu_plugin_mem_size_shift(info: MemoryInfo) -> c_uint;
    pub(crate) fn qemu_plugin_mem_is_store(info: MemoryInfo) -> bool;
    pub(crate) fn qemu_plugin_register_vcpu_syscall_cb(id: PluginId, callback: OnSyscall);
    pub(crate) fn qemu_plugin_register_vcpu_syscall_ret_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, c_uint, i64, i64),
    );
}
