//! Registers of devices in the memory of QEMU's machine `virt` (aarch64), through `/dev/mem`.
//!
//! **Invariant:** only memory of devices is mapped. All devices of `virt` that a guest of one CPU has
//! here are below 1 GiB, where its main memory begins (`hw/arm/virt.c` of QEMU), and on any other
//! machine nothing is mapped. The kernel refuses what a driver has taken (`CONFIG_IO_STRICT_DEVMEM`).

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::NonNull;

use crate::registers::{AddressRegisters, Registers};

const MEMORY: &str = "/dev/mem";
/// What the device tree calls the machine.
const COMPATIBLE: &str = "/sys/firmware/devicetree/base/compatible";
const VIRT: &[u8] = b"linux,dummy-virt";
/// Where the main memory begins.
const DEVICES_END: u64 = 1 << 30;
const PAGE_BYTES: u64 = 4096;

/// A range of registers, mapped uncached.
#[derive(Debug)]
pub struct DeviceMemory {
    pages: NonNull<libc::c_void>,
    mapped_bytes: usize,
    /// Offset of the first register in the first page, in bytes.
    offset: usize,
    count: u16,
}

impl DeviceMemory {
    /// Maps `count` bytes of registers from a physical address on. Fails without `CAP_SYS_RAWIO`,
    /// `/dev/mem`, or these registers.
    pub fn map(address: u64, count: u16) -> io::Result<Self> {
        let end = address.checked_add(u64::from(count)).filter(|end| *end <= DEVICES_END);
        let Some(end) = end.filter(|_| count > 0) else {
            let text = format!("{count} bytes at {address:#x} are not registers of a device");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        let machine = fs::read(COMPATIBLE).unwrap_or_default();
        if !machine.split(|byte| *byte == 0).any(|name| name == VIRT) {
            let text = "this is not QEMU's machine virt, whose registers have known places";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let file = File::options().read(true).write(true).custom_flags(libc::O_SYNC).open(MEMORY);
        let file = file.map_err(|error| named(&error))?;
        let start = address - address % PAGE_BYTES;
        let mapped_bytes = (end.next_multiple_of(PAGE_BYTES) - start) as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses, of memory that no Rust object
        // is in: below `DEVICES_END` this machine has devices only.
        let pages = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                access,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                start as libc::off_t,
            )
        };
        if pages == libc::MAP_FAILED {
            return Err(named(&io::Error::last_os_error()));
        }
        let pages = NonNull::new(pages).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { pages, mapped_bytes, offset: (address - start) as usize, count })
    }

    /// The place of a register. Panics when it is not in the range, or not aligned.
    fn at<T>(&self, offset: u16) -> *mut T {
        let width = size_of::<T>();
        let is_inside = usize::from(offset) + width <= usize::from(self.count);
        let place = self.offset + usize::from(offset);
        assert!(is_inside && place.is_multiple_of(width), "register {offset:#x} is not mapped");
        // SAFETY: inside of the mapping, as the range is.
        unsafe { self.pages.as_ptr().cast::<u8>().add(place).cast() }
    }

    fn write<T>(&self, offset: u16, value: T) {
        // SAFETY: mapped and aligned; no reference to it exists.
        unsafe { self.at::<T>(offset).write_volatile(value) }
    }
}

impl Registers for DeviceMemory {
    fn write_u8(&self, at: u16, value: u8) {
        self.write(at, value);
    }

    fn write_u16(&self, at: u16, value: u16) {
        self.write(at, value);
    }

    fn write_all(&self, at: u16, bytes: &[u8]) {
        for byte in bytes {
            self.write(at, *byte);
        }
    }

    fn read_into(&self, at: u16, bytes: &mut [u8]) {
        let register = self.at::<u8>(at);
        for byte in bytes {
            // SAFETY: mapped; reading a register changes nothing but its device.
            *byte = unsafe { register.read_volatile() };
        }
    }
}

impl AddressRegisters for DeviceMemory {
    fn write_u32(&self, at: u16, value: u32) {
        self.write(at, value);
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nothing uses any more.
        unsafe { libc::munmap(self.pages.as_ptr(), self.mapped_bytes) };
    }
}

fn named(error: &io::Error) -> io::Error {
    let text = format!("{MEMORY}: {error}; the kernel needs CONFIG_DEVMEM");
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_memory_is_never_mapped() {
        for (address, count) in
            [(DEVICES_END, 1), (DEVICES_END - 1, 2), (u64::MAX, 9), (0x0902_0000, 0)]
        {
            let error = DeviceMemory::map(address, count).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{address:#x}");
        }
    }

    #[test]
    fn on_another_machine_nothing_is_mapped() {
        let error = DeviceMemory::map(0x0902_0000, 24).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
    }

    /// Memory of this process in place of registers.
    #[test]
    fn registers_are_inside_and_aligned() {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping of memory of its own.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, flags, -1, 0) };
        let pages = NonNull::new(pages).unwrap();
        let memory = DeviceMemory { pages, mapped_bytes: 4096, offset: 16, count: 8 };
        memory.write_u16(2, 0x0403);
        memory.write_u32(4, 0x0807_0605);
        memory.write_all(1, &[9, 2]);
        let mut bytes = [0; 2];
        memory.read_into(4, &mut bytes);
        assert_eq!(bytes, [5, 5], "a register is read again and again");
        for write in [|it: &DeviceMemory| it.write_u8(8, 0), |it: &DeviceMemory| it.write_u16(1, 0)]
        {
            let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| write(&memory)));
            assert!(written.is_err());
        }
    }
}
