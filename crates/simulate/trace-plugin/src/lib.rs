//! A plugin for QEMU user-mode emulation that records memory references.
//!
//! It puts a word per load and store into memory shared with the recorder (the crate `tracer`). It
//! has no dependencies, so that the recorder's build script can build it with `rustc` alone.
//!
//! **Invariant:** a callback neither allocates nor makes a system call, except every few thousand
//! references, at the guest's system calls, and during translation.
#![expect(unsafe_code, reason = "it is called by QEMU and calls it")]

mod channel;
mod follow;
mod interface;
mod launch;
mod qemu;
mod syscalls;
mod wire;

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use launch::Fetches;
use qemu::{Instruction, MemoryInfo, PluginId, TranslatedBlock};

/// Whether QEMU's descriptions of references have the known layout.
static IS_AS_KNOWN: AtomicBool = AtomicBool::new(false);

/// QEMU's entry point.
///
/// # Safety
/// QEMU passes `count` strings in `arguments`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: PluginId,
    _: *const c_void,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU passes `count` NUL-terminated strings that outlive the call.
    let arguments = unsafe { interface::strings(count, arguments) };
    match launch::Settings::read(arguments.into_iter()).and_then(|settings| begin(id, settings)) {
        Ok(()) => 0,
        // QEMU reports the failure, and the recorder explains it.
        Err(_) => 1,
    }
}

fn begin(id: PluginId, settings: launch::Settings) -> std::io::Result<()> {
    IS_AS_KNOWN.store(is_laid_out_as_known(), Ordering::Relaxed);
    channel::attach(settings)?;
    // SAFETY: the callbacks have the expected types, and QEMU only unloads plugins on request.
    unsafe {
        qemu::qemu_plugin_register_vcpu_init_cb(id, on_cpu);
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
        qemu::qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
        qemu::qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
    }
    Ok(())
}

extern "C" fn on_cpu(_: PluginId, cpu: c_uint) {
    follow::report_program(cpu);
}

extern "C" fn on_translation(_: PluginId, block: *mut TranslatedBlock) {
    let fetches = channel::settings().map_or(Fetches::None, |settings| settings.fetches);
    let on_reference = match IS_AS_KNOWN.load(Ordering::Relaxed) {
        true => on_memory_as_known,
        false => on_memory,
    };
    // SAFETY: block and instructions are valid during this callback; the callbacks live forever,
    // and their user data is a number.
    unsafe {
        let count = qemu::qemu_plugin_tb_n_insns(block);
        let instructions = (0..count).map(|index| qemu::qemu_plugin_tb_get_insn(block, index));
        if fetches == Fetches::Blocks {
            want_blocks(block, instructions.clone());
        }
        for instruction in instructions {
            if fetches == Fetches::Instructions {
                qemu::qemu_plugin_register_vcpu_insn_exec_cb(
                    instruction,
                    on_execution,
                    qemu::NO_REGISTERS,
                    without_pointer(fetch(instruction)),
                );
            }
            qemu::qemu_plugin_register_vcpu_mem_cb(
                instruction,
                on_reference,
                qemu::NO_REGISTERS,
                qemu::LOADS_AND_STORES,
                std::ptr::null_mut(),
            );
        }
    }
}

/// The word of an instruction's fetch, with its size rounded up to a power of 2.
///
/// # Safety
/// The instruction must belong to a running callback.
unsafe fn fetch(instruction: *mut Instruction) -> u64 {
    // SAFETY: the caller vouches for the instruction.
    let (address, size) = unsafe {
        (qemu::qemu_plugin_insn_vaddr(instruction), qemu::qemu_plugin_insn_size(instruction))
    };
    let size_log2 = size.max(1).next_power_of_two().trailing_zeros();
    address << 5 | wire::FETCH | u64::from(size_log2)
}

fn without_pointer(word: u64) -> *mut c_void {
    std::ptr::without_provenance_mut(word as usize)
}

/// Registers a callback for a block's execution, once per page of it.
///
/// # Safety
/// Block and instructions must belong to a running callback.
unsafe fn want_blocks(
    block: *mut TranslatedBlock,
    instructions: impl Iterator<Item = *mut Instruction>,
) {
    let mut addresses = instructions
        // SAFETY: the caller vouches for the instructions.
        .map(|instruction| unsafe { qemu::qemu_plugin_insn_vaddr(instruction) })
        .peekable();
    while let Some(first) = addresses.next() {
        let mut count = 1;
        while addresses.next_if(|next| next >> 12 == first >> 12).is_some() {
            count += 1;
        }
        let word = wire::fetches(first, count.min(wire::MOST_FETCHES));
        // SAFETY: the caller vouches for the block; the user data is a number.
        unsafe {
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(
                block,
                on_execution,
                qemu::NO_REGISTERS,
                without_pointer(word),
            );
        }
    }
}

extern "C" fn on_execution(cpu: c_uint, word: *mut c_void) {
    channel::push(cpu, word.addr() as u64);
}

/// A reference with a description of known layout.
extern "C" fn on_memory_as_known(cpu: c_uint, info: MemoryInfo, address: u64, _: *mut c_void) {
    channel::push(cpu, address << 5 | as_known(info));
}

/// A reference with a description of any layout.
extern "C" fn on_memory(cpu: c_uint, info: MemoryInfo, address: u64, _: *mut c_void) {
    let low = reported(info);
    channel::push(cpu, address << 5 | low & 8 | (low & 7).min(6));
}

/// The low bits of a word by QEMU 5 to 8: bit 17 is a store, bits 4 to 6 the log2 of the size.
#[inline(always)]
fn as_known(info: MemoryInfo) -> u64 {
    u64::from(info >> 14 & 8 | info >> 4 & 7)
}

/// Whether this QEMU has that layout for all kinds, whatever the other bits: then use it directly.
fn is_laid_out_as_known() -> bool {
    let kinds = (0..4).flat_map(|access| (0..8).map(move |size| access << 16 | size << 4));
    let others =
        (0..MemoryInfo::BITS).map(|bit| 1 << bit).filter(|bit| bit & (3 << 16 | 7 << 4) == 0);
    let mut all = kinds
        .flat_map(|kind| std::iter::once(kind).chain(others.clone().map(move |bit| kind | bit)));
    all.all(|info| as_known(info) == reported(info))
}

/// The low bits of a word from functions of QEMU, for any layout; slower than `as_known`.
fn reported(info: MemoryInfo) -> u64 {
    // SAFETY: both are pure functions of a number.
    let (is_store, size_log2) =
        unsafe { (qemu::qemu_plugin_mem_is_store(info), qemu::qemu_plugin_mem_size_shift(info)) };
    u64::from(is_store) << 3 | u64::from(size_log2)
}

extern "C" fn on_syscall(
    _: PluginId,
    cpu: c_uint,
    number: i64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    _: u64,
    _: u64,
) {
    if !channel::is_muted() {
        syscalls::before(cpu, number, [a, b, c, d, e, f]);
    }
}

extern "C" fn on_syscall_return(_: PluginId, cpu: c_uint, number: i64, result: i64) {
    if !channel::is_muted() {
        syscalls::after(cpu, number, result);
    }
}
