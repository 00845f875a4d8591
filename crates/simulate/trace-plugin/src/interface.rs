//! What all plugins of the project use of QEMU's plugin interface: it is the same in versions 1 to 5.
//! The crate `profile-plugin` includes this file by its path.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

pub(crate) type PluginId = u64;

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

/// Arguments: virtual CPU, user data.
pub(crate) type OnExecution = extern "C" fn(c_uint, *mut c_void);
/// Arguments: virtual CPU, description, address, user data. Only QEMU's functions can read a
/// description.
pub(crate) type OnMemory = extern "C" fn(c_uint, c_uint, u64, *mut c_void);

unsafe extern "C" {
    pub(crate) fn qemu_plugin_register_vcpu_tb_trans_cb(
        id: PluginId,
        callback: extern "C" fn(PluginId, *mut TranslatedBlock),
    );
    pub(crate) fn qemu_plugin_tb_n_insns(block: *const TranslatedBlock) -> usize;
    pub(crate) fn qemu_plugin_tb_get_insn(
        block: *const TranslatedBlock,
        index: usize,
    ) -> *mut Instruction;
    pub(crate) fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
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
}

/// The arguments of QEMU's entry point.
///
/// # Safety
/// There are `count` NUL-terminated strings.
pub(crate) unsafe fn strings(count: c_int, arguments: *const *const c_char) -> Vec<String> {
    (0..usize::try_from(count).unwrap_or(0))
        // SAFETY: the caller vouches for `count` strings.
        .map(|index| unsafe { CStr::from_ptr(*arguments.add(index)) })
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}
