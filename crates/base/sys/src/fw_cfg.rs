//! The registers of QEMU's fw_cfg device (`docs/specs/fw_cfg.rst` of QEMU): I/O ports of a PC, memory
//! of the machine `virt`. No driver, no interrupt.

use std::io;

use crate::registers::{AddressRegisters, Registers};
use place::{ADDRESS, Access, DATA, SELECTOR};

/// The device.
#[derive(Debug)]
pub struct FwCfg {
    access: Access,
}

impl FwCfg {
    /// Fails without the privilege for its registers.
    pub fn open() -> io::Result<Self> {
        place::open().map(|access| Self { access })
    }

    /// Chooses what is read next, from its beginning.
    pub fn select(&self, key: u16) {
        self.access.write_u16(SELECTOR, place::selector(key));
    }

    /// Reads on.
    pub fn read_into(&self, bytes: &mut [u8]) {
        self.access.read_into(DATA, bytes);
    }

    /// Lets the device execute the request at a physical address, of which the upper half comes first.
    pub(crate) fn execute(&self, request: u64) {
        self.access.write_u32(ADDRESS, ((request >> 32) as u32).to_be());
        self.access.write_u32(ADDRESS + 4, (request as u32).to_be());
    }
}

#[cfg(not(target_arch = "aarch64"))]
mod place {
    use std::io;

    pub(super) use crate::port_io::PortAccess as Access;

    pub(super) const SELECTOR: u16 = 0x510;
    pub(super) const DATA: u16 = 0x511;
    pub(super) const ADDRESS: u16 = 0x514;

    /// From the selector to the end of the address.
    pub(super) fn open() -> io::Result<Access> {
        Access::gain(SELECTOR, ADDRESS + 8 - SELECTOR)
    }

    /// As the port wants it.
    pub(super) fn selector(key: u16) -> u16 {
        key
    }
}

#[cfg(target_arch = "aarch64")]
mod place {
    use std::io;

    pub(super) use crate::device_memory::DeviceMemory as Access;

    /// Where `hw/arm/virt.c` of QEMU has the device.
    const START: u64 = 0x0902_0000;
    pub(super) const DATA: u16 = 0;
    pub(super) const SELECTOR: u16 = 8;
    pub(super) const ADDRESS: u16 = 16;

    pub(super) fn open() -> io::Result<Access> {
        Access::map(START, ADDRESS + 8)
    }

    /// As the register wants it.
    pub(super) fn selector(key: u16) -> u16 {
        key.to_be()
    }
}
