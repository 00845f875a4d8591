//! The guest's devices: output channel, pause, and end.

use std::io::{self, Write};

use sys::clock::monotonic_ns;
use sys::port_io::PortAccess;

use crate::protocol::{CHANNEL_PORT, EXIT_PORT, Notice, PAUSE_PORT};

/// The output. A byte costs one instruction, without waiting or interrupts.
pub(crate) struct Channel {
    port: PortAccess,
}

impl Channel {
    /// Fails without privilege, or in a kernel without `ioperm`.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { port: PortAccess::gain(CHANNEL_PORT, 1)? })
    }

    pub(crate) fn say(&self, notice: &Notice) {
        self.port.write_all(CHANNEL_PORT, &notice.encode());
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.port.write_all(CHANNEL_PORT, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Pauses the machine; returns the virtual time that passed, in ns. Fails without the port.
pub(crate) fn pause() -> io::Result<u64> {
    let port = PortAccess::gain(PAUSE_PORT, 1)?;
    let before_ns = monotonic_ns();
    port.write_u8(PAUSE_PORT, 1);
    Ok(monotonic_ns() - before_ns)
}

/// Ends the machine; returns only where it lacks the device.
pub(crate) fn end() {
    if let Ok(port) = PortAccess::gain(EXIT_PORT, 1) {
        port.write_u8(EXIT_PORT, 0);
    }
}
