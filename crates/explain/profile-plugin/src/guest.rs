//! What the plugin reads of a guest: registers and memory. Nothing of the guest changes.

use std::ffi::CStr;
use std::ptr::null_mut;

use crate::plan::NO_FIELD;
use crate::qemu::{self, ByteArray, Register};

/// The registers of the first two arguments of a function (System V ABI for x86-64).
const ARGUMENTS: [&[u8]; 2] = [b"rdi", b"rsi"];

const PAGE_BYTES: u64 = 4096;

/// A way to read a guest, in callbacks that may read registers.
pub(crate) struct Guest {
    arguments: [*mut Register; ARGUMENTS.len()],
    buffer: *mut ByteArray,
}

impl Guest {
    /// In a callback of a virtual CPU; all of them have the same registers.
    pub(crate) fn new() -> Self {
        // SAFETY: it makes an array of our own.
        let buffer = unsafe { qemu::g_byte_array_new() };
        Self { arguments: handles(ARGUMENTS), buffer }
    }

    /// The first two arguments of the function that is entered.
    pub(crate) fn arguments(&mut self) -> Option<[u64; 2]> {
        let [first, second] = self.arguments;
        Some([self.register(first)?, self.register(second)?])
    }

    /// The value of a register.
    pub(crate) fn register(&mut self, handle: *mut Register) -> Option<u64> {
        if handle.is_null() {
            return None;
        }
        // SAFETY: the handle is one of QEMU's, and the buffer is ours; the value is appended to it.
        unsafe {
            qemu::g_byte_array_set_size(self.buffer, 0);
            qemu::qemu_plugin_read_register(handle, self.buffer);
        }
        self.bytes().map(u64::from_le_bytes)
    }

    /// A field of a structure of the kernel, if its offset is known.
    pub(crate) fn field<const N: usize>(&mut self, address: u64, offset: u64) -> Option<[u8; N]> {
        if offset == NO_FIELD {
            return None;
        }
        self.read(address.wrapping_add(offset))
    }

    /// Bytes of memory, if the address is mapped.
    pub(crate) fn read<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        // SAFETY: the buffer is ours; QEMU gives it the size.
        let is_read = unsafe { qemu::qemu_plugin_read_memory_vaddr(address, self.buffer, N) };
        if is_read { self.bytes() } else { None }
    }

    /// The bytes up to the first 0, of at most so many.
    pub(crate) fn text<const N: usize>(&mut self, address: u64) -> Option<Vec<u8>> {
        // The next page may not be readable.
        let text = self.field::<N>(address, 0).map(|bytes| bytes.to_vec()).or_else(|| {
            let to_page = (PAGE_BYTES - address % PAGE_BYTES).min(N as u64);
            (0..to_page).map(|at| self.field::<1>(address, at).map(|[byte]| byte)).collect()
        })?;
        let end = text.iter().position(|byte| *byte == 0)?;
        Some(text[..end].to_vec())
    }

    fn bytes<const N: usize>(&self) -> Option<[u8; N]> {
        // SAFETY: the buffer has `length` bytes.
        let bytes = unsafe {
            let buffer = &*self.buffer;
            std::slice::from_raw_parts(buffer.data, buffer.length as usize)
        };
        bytes.first_chunk().copied()
    }
}

/// The handles of registers with these names, in a callback of a virtual CPU.
pub(crate) fn handles<const N: usize>(names: [&[u8]; N]) -> [*mut Register; N] {
    // SAFETY: a callback of a virtual CPU runs; the array has `length` descriptions, which live
    // forever as their names do.
    unsafe {
        let found = &*qemu::qemu_plugin_get_registers();
        let known = std::slice::from_raw_parts(found.data, found.length as usize);
        names.map(|name| {
            let is_it =
                |it: &&qemu::RegisterDescription| CStr::from_ptr(it.name).to_bytes() == name;
            known.iter().find(is_it).map_or(null_mut(), |it| it.handle)
        })
    }
}
