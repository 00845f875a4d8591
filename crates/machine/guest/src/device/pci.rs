//! PCI devices of the machine `virt`, whose registers the kernel has placed while it booted.

use std::fs;
use std::io;
use std::path::Path;

use sys::device_memory::DeviceMemory;

use super::Device;
use super::pci_ranges::address;
use crate::at;
use crate::protocol::{CHANNEL_SLOT, PAUSE_SLOT};

/// Access to registers.
pub(super) type Access = DeviceMemory;

/// A device has one function here.
const FUNCTION: u8 = 0;
const DEVICES: &str = "/sys/bus/pci/devices";

pub(super) fn channel() -> io::Result<Device> {
    in_slot(CHANNEL_SLOT)
}

pub(super) fn pause() -> io::Result<Device> {
    in_slot(PAUSE_SLOT)
}

/// The machine has no device for it: the kernel turns it off.
pub(super) fn exit() -> io::Result<Device> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// The first register of the device in a slot of the only bus.
fn in_slot(slot: u8) -> io::Result<Device> {
    let folder = Path::new(DEVICES).join(format!("0000:00:{slot:02x}.{FUNCTION}"));
    let step = |name: &str| at(folder.join(name).display().to_string());
    let error = |why: String| io::Error::other(why);
    let ranges = fs::read_to_string(folder.join("resource")).map_err(step("resource"));
    let address = address(&ranges.map_err(error)?)
        .ok_or_else(|| error(format!("{} has no registers", folder.display())))?;
    // A driver of the kernel has done so, if there is one.
    let switch = folder.join("enable");
    if fs::read_to_string(&switch)?.trim() == "0" {
        fs::write(&switch, "1").map_err(step("enable")).map_err(error)?;
    }
    Ok(Device { access: Access::map(address, 1)?, register: 0 })
}
