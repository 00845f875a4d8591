//! The devices of QEMU that a guest writes to: ISA devices of a PC at I/O ports, PCI devices of the
//! machine `virt` of aarch64 in memory. Each is one register; no driver, no interrupt.

#[cfg(not(target_arch = "aarch64"))]
mod isa;
#[cfg(target_arch = "aarch64")]
mod pci;
#[cfg(any(target_arch = "aarch64", test))]
mod pci_ranges;

#[cfg(not(target_arch = "aarch64"))]
use isa as bus;
#[cfg(target_arch = "aarch64")]
use pci as bus;
use sys::registers::Registers;

/// A device's register.
pub(crate) struct Device {
    access: bus::Access,
    register: u16,
}

impl Device {
    /// What takes the output. Fails without privilege, or without the device.
    pub(crate) fn channel() -> std::io::Result<Self> {
        bus::channel()
    }

    /// What pauses the machine. Fails as the channel.
    pub(crate) fn pause() -> std::io::Result<Self> {
        bus::pause()
    }

    /// What ends QEMU. Fails also where the machine has no such device.
    pub(crate) fn exit() -> std::io::Result<Self> {
        bus::exit()
    }

    pub(crate) fn write_u8(&self, value: u8) {
        self.access.write_u8(self.register, value);
    }

    pub(crate) fn write_all(&self, bytes: &[u8]) {
        self.access.write_all(self.register, bytes);
    }
}
