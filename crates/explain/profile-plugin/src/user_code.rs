//! Callbacks of user code: calls, the first blocks of functions, and returns.

use std::ffi::{c_uint, c_void};
use std::mem::offset_of;
use std::ptr::without_provenance_mut;

use crate::decode::{Transfer, is_linkage, transfer};
use crate::qemu::{self, Instruction, Scoreboard, ScoreboardNumber, TranslatedBlock};
use crate::{CpuFlags, bytes_of, now, on_memory, with};

/// Code that leads to a function of another file has at most so many instructions.
const MOST_LINKAGE: usize = 2;

/// A block of user code notes that it was executed. If it is the first one after a call, that is where
/// the function begins, unless it only leads there.
///
/// # Safety
/// Block and instruction must belong to a running callback.
pub(crate) unsafe fn instrument(
    flags: *mut Scoreboard,
    block: *mut TranslatedBlock,
    last: *mut Instruction,
    address: u64,
) {
    // SAFETY: the caller vouches for block and instruction; the scoreboard has these fields, callbacks live
    // forever, and their user data is a number.
    unsafe {
        let flag = |offset| ScoreboardNumber { score: flags, offset };
        qemu::qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(
            block,
            qemu::STORE_NUMBER,
            flag(offset_of!(CpuFlags, was_user)),
            1,
        );
        let bytes = bytes_of(last);
        let count = qemu::qemu_plugin_tb_n_insns(block);
        if count > MOST_LINKAGE || !is_linkage(bytes.as_slice()) {
            qemu::qemu_plugin_register_vcpu_tb_exec_cond_cb(
                block,
                on_user_function,
                qemu::NO_REGISTERS,
                qemu::IS_NOT,
                flag(offset_of!(CpuFlags, has_called)),
                0,
                without_provenance_mut(address as usize),
            );
        }
        match transfer(bytes.as_slice()) {
            Some(Transfer::Call) => on_memory(last, on_user_call, qemu::STORES),
            Some(Transfer::Return) => on_memory(last, on_user_return, qemu::LOADS),
            _ => {}
        }
    }
}

extern "C" fn on_user_call(cpu: c_uint, _: c_uint, slot: u64, _: *mut c_void) {
    with(|profile| {
        let now = now(cpu, 0, profile.shift, true);
        profile.shadow.user_call(cpu as usize, now, slot);
        profile.set_called(cpu, true);
    });
}

extern "C" fn on_user_function(cpu: c_uint, address: *mut c_void) {
    with(|profile| {
        profile.shadow.user_enter(cpu as usize, address.addr() as u64);
        profile.set_called(cpu, false);
    });
}

extern "C" fn on_user_return(cpu: c_uint, _: c_uint, slot: u64, _: *mut c_void) {
    with(|profile| {
        let now = now(cpu, 0, profile.shift, true);
        profile.shadow.user_leave(cpu as usize, now, slot);
    });
}
