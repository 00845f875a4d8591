//! The I/O ports of an x86 machine. The kernel grants them to one thread (`ioperm(2)`), which then
//! uses `in` and `out` itself. Other architectures report that they have none.
//!
//! **Invariant:** no other port is touched: the processor would end the process.

#![cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "nothing is written where there are no ports")
)]

#[cfg(target_arch = "x86_64")]
use std::arch::asm;
use std::io;
use std::marker::PhantomData;

use crate::registers::{AddressRegisters, Registers};

/// A range of ports that this thread may use, and those started later.
#[derive(Debug)]
pub struct PortAccess {
    first: u16,
    count: u16,
    this_thread: PhantomData<*const ()>,
}

impl PortAccess {
    /// Gains `count` ports from `first`. Fails without `CAP_SYS_RAWIO`, `ioperm`, or these ports.
    pub fn gain(first: u16, count: u16) -> io::Result<Self> {
        if count == 0 || u32::from(first) + u32::from(count) > 1 << 16 {
            let text = format!("{count} I/O ports from {first:#x} on do not exist");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        permit(first, count)?;
        Ok(Self { first, count, this_thread: PhantomData })
    }

    fn check(&self, port: u16, width: u16) {
        let end = u32::from(self.first) + u32::from(self.count);
        let gained = port >= self.first && u32::from(port) + u32::from(width) <= end;
        assert!(gained, "I/O port {port:#x} is not permitted");
    }
}

impl Registers for PortAccess {
    fn write_u8(&self, port: u16, value: u8) {
        self.check(port, 1);
        // SAFETY: touches no memory, no stack and no flags.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!("out dx, al", in("dx") port, in("al") value,
                 options(nomem, nostack, preserves_flags));
        }
    }

    fn write_u16(&self, port: u16, value: u16) {
        self.check(port, 2);
        // SAFETY: touches no memory, no stack and no flags.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!("out dx, ax", in("dx") port, in("ax") value,
                 options(nomem, nostack, preserves_flags));
        }
    }

    /// By a single instruction.
    fn write_all(&self, port: u16, bytes: &[u8]) {
        self.check(port, 1);
        // SAFETY: reads exactly the slice, upwards: inline assembly begins with a clear direction
        // flag.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!("rep outsb", in("dx") port,
                 inout("rsi") bytes.as_ptr() => _, inout("rcx") bytes.len() => _,
                 options(readonly, nostack, preserves_flags));
        }
    }

    /// By a single instruction.
    fn read_into(&self, port: u16, bytes: &mut [u8]) {
        self.check(port, 1);
        // SAFETY: writes exactly the slice, upwards: inline assembly begins with a clear direction
        // flag.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!("rep insb", in("dx") port,
                 inout("rdi") bytes.as_mut_ptr() => _, inout("rcx") bytes.len() => _,
                 options(nostack, preserves_flags));
        }
    }
}

impl AddressRegisters for PortAccess {
    /// A device may read and write memory before this returns, so the compiler takes all memory for
    /// changed.
    fn write_u32(&self, port: u16, value: u32) {
        self.check(port, 4);
        // SAFETY: touches no stack and no flags. What the device does is the caller's concern, who
        // is of this crate.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            asm!("out dx, eax", in("dx") port, in("eax") value, options(nostack, preserves_flags));
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn permit(first: u16, count: u16) -> io::Result<()> {
    let (first, count) = (libc::c_ulong::from(first), libc::c_ulong::from(count));
    // SAFETY: takes three integers.
    crate::done(unsafe { libc::syscall(libc::SYS_ioperm, first, count, 1) as libc::c_int })
}

/// Without permission nothing is read or written.
#[cfg(not(target_arch = "x86_64"))]
fn permit(_first: u16, _count: u16) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this machine has no I/O ports"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(first: u16, count: u16) -> PortAccess {
        PortAccess { first, count, this_thread: PhantomData }
    }

    #[test]
    fn ports_that_do_not_exist_are_refused() {
        assert_eq!(PortAccess::gain(0, 0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let error = PortAccess::gain(0xffff, 2).unwrap_err();
        assert_eq!(error.to_string(), "2 I/O ports from 0xffff on do not exist");
    }

    #[test]
    fn the_ends_of_the_range_are_exact() {
        access(0x10, 2).check(0x10, 2);
        access(0x10, 2).check(0x11, 1);
        access(0xffff, 1).check(0xffff, 1);
    }

    #[test]
    #[should_panic(expected = "I/O port 0x11 is not permitted")]
    fn half_a_word_outside_the_range_is_not_touched() {
        access(0x10, 2).check(0x11, 2);
    }

    #[test]
    #[should_panic(expected = "I/O port 0xf is not permitted")]
    fn a_port_before_the_range_is_not_touched() {
        access(0x10, 2).write_u8(0xf, 0);
    }
}
