//! Registers of devices, which a guest reads and writes itself: I/O ports, or memory.

/// Access to some registers, at which nothing but a device is read or written.
pub trait Registers {
    /// Writes one byte. Panics, as the others do, when the register is not one of these.
    fn write_u8(&self, at: u16, value: u8);

    /// Writes two bytes at once.
    fn write_u16(&self, at: u16, value: u16);

    /// Writes bytes to one register, one after the other.
    fn write_all(&self, at: u16, bytes: &[u8]);

    /// Fills a buffer from one register, one byte after the other.
    fn read_into(&self, at: u16, bytes: &mut [u8]);
}

/// Registers that hold an address of memory, which a device may read and write before a write
/// returns: what it does there is the concern of this crate.
pub(crate) trait AddressRegisters: Registers {
    /// Writes four bytes at once.
    fn write_u32(&self, at: u16, value: u32);
}
