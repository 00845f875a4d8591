//! Effects of system calls on address space, threads and processes.

use std::ffi::c_uint;

use crate::{channel, follow, wire};

/// Numbers of system calls by architecture; the guest's is the host's.
mod number {
    const fn either(x86_64: i64, aarch64: i64) -> i64 {
        if cfg!(target_arch = "x86_64") { x86_64 } else { aarch64 }
    }

    pub(crate) const MMAP: i64 = either(9, 222);
    pub(crate) const MUNMAP: i64 = either(11, 215);
    pub(crate) const BRK: i64 = either(12, 214);
    pub(crate) const MREMAP: i64 = either(25, 216);
    pub(crate) const CLONE: i64 = either(56, 220);
    // aarch64 has only `clone`.
    pub(crate) const FORK: i64 = either(57, -1);
    pub(crate) const VFORK: i64 = either(58, -2);
    pub(crate) const EXECVE: i64 = either(59, 221);
    pub(crate) const EXIT: i64 = either(60, 93);
    pub(crate) const CLONE3: i64 = 435;
}

const CLONE_VM: u64 = 0x100;
const CLONE_VFORK: u64 = 0x4000;
const MAP_SHARED: u64 = 1;
const MAP_ANONYMOUS: u64 = 0x20;

/// Whether a call creates a process. QEMU treats `vfork` as `fork`.
fn makes_process(number: i64, flags: u64) -> bool {
    match number {
        number::FORK | number::VFORK => true,
        number::CLONE => flags & CLONE_VM == 0 || flags & CLONE_VFORK != 0,
        // QEMU 7.2 lacks `clone3`, whose flags are not in a register.
        _ => false,
    }
}

pub(crate) fn before(cpu: c_uint, number: i64, arguments: [u64; 6]) {
    match number {
        number::MMAP | number::MUNMAP | number::MREMAP | number::BRK => {
            channel::keep(cpu, arguments);
        }
        number::EXECVE => follow::execute(cpu, arguments[0], arguments[1], arguments[2]),
        number::EXIT => {
            channel::push_numbers(cpu, wire::THREAD_END, &[]);
            channel::end(cpu);
        }
        _ if makes_process(number, arguments[0]) => {
            let child = channel::header(wire::HEADER_NEXT_PROCESS);
            let child = child.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            channel::push_numbers(cpu, wire::FORK, &[child]);
            channel::keep(cpu, [child, arguments[0]]);
        }
        _ => {}
    }
}

/// After a system call; in both processes if it created one.
pub(crate) fn after(cpu: c_uint, number: i64, result: i64) {
    // Errors are -4095 to -1.
    let failed = (-4095..0).contains(&result);
    match number {
        number::FORK | number::VFORK | number::CLONE => {
            let [child, flags] = channel::kept(cpu);
            if makes_process(number, flags) {
                if failed {
                    channel::push_numbers(cpu, wire::FORK_FAILED, &[child]);
                } else if result == 0 {
                    channel::become_child(child, cpu);
                }
            }
        }
        number::CLONE3 if !failed => {
            channel::push_event(cpu, wire::MISSED, b"a process or thread created by clone3");
        }
        _ if failed => {}
        number::MMAP => {
            let [_, length, _, flags, ..] = channel::kept::<6>(cpu);
            let file = u64::from(flags & MAP_ANONYMOUS == 0);
            map(cpu, result.cast_unsigned(), length, file, flags & MAP_SHARED);
        }
        number::MUNMAP => {
            let [address, length] = channel::kept(cpu);
            channel::push_numbers(cpu, wire::UNMAP, &[address, length]);
        }
        number::MREMAP => {
            let [address, length, new_length] = channel::kept(cpu);
            channel::push_numbers(cpu, wire::UNMAP, &[address, length]);
            map(cpu, result.cast_unsigned(), new_length, 0, 0);
        }
        number::BRK => channel::push_numbers(cpu, wire::BREAK, &[result.cast_unsigned()]),
        _ => {}
    }
}

fn map(cpu: c_uint, address: u64, length: u64, file: u64, shared: u64) {
    channel::push_numbers(cpu, wire::MAP, &[address, length, file, shared]);
}
