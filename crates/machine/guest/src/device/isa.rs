//! ISA devices of a PC, each at one I/O port.

use std::io;

use sys::port_io::PortAccess;

use super::Device;
use crate::protocol::{CHANNEL_PORT, EXIT_PORT, PAUSE_PORT};

/// Access to registers.
pub(super) type Access = PortAccess;

pub(super) fn channel() -> io::Result<Device> {
    at(CHANNEL_PORT)
}

pub(super) fn pause() -> io::Result<Device> {
    at(PAUSE_PORT)
}

pub(super) fn exit() -> io::Result<Device> {
    at(EXIT_PORT)
}

fn at(port: u16) -> io::Result<Device> {
    Ok(Device { access: Access::gain(port, 1)?, register: port })
}
