//! The guest's devices: output channel, pause, and end.

use std::io::{self, Write};

use crate::device::Device;
use crate::protocol::Notice;
use sys::clock::monotonic_ns;

/// The output. A byte leaves by one instruction, without waiting or interrupts.
pub(crate) struct Channel {
    device: Device,
}

impl Channel {
    /// Fails without privilege, or in a kernel without access to devices (`ioperm`, `/dev/mem`).
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { device: Device::channel()? })
    }

    pub(crate) fn say(&self, notice: &Notice) {
        self.device.write_all(&notice.encode());
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.device.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Pauses the machine; returns the virtual time that passed, in ns. Fails without the device.
pub(crate) fn pause() -> io::Result<u64> {
    let device = Device::pause()?;
    let before_ns = monotonic_ns();
    device.write_u8(1);
    Ok(monotonic_ns() - before_ns)
}

/// Ends the machine; returns only where it lacks the device.
pub(crate) fn end() {
    if let Ok(device) = Device::exit() {
        device.write_u8(0);
    }
}
