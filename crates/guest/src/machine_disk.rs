//! The machine's slow disk: `scsi_debug`, whose store is memory and whose delay is a timer, so that
//! nothing about it depends on the host. It has one delay; where reading and writing differ, the
//! device mapper's `delay` target takes its place.

use std::ffi::CString;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{DiskSpec, MachineSpec};
use sys::device_mapper::Delay;

use crate::disk::{Layout, delayed, ext4, partition, prepare};
use crate::failed::at;

/// Where the guest's files of loads and probes go.
pub(crate) const WORK_DIR: &str = "/work";

/// Requests at a time that a disk without a spindle takes (as many as the driver can).
const QUEUE: u32 = 64;
/// Smallest limit of a request that the block layer takes, in KiB.
const SMALLEST_REQUEST_KB: u64 = 4;
/// Where the disk appears, and how long it may take.
const BLOCK_DEVICES: &str = "/sys/block";
const LOOKS: u32 = 500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// The file system is the same in every guest.
const FILE_SYSTEM: ext4::Options = ext4::Options {
    uuid: *b"thrashlab-work-1",
    hash_seed: *b"thrashlab-work-1",
    time_s: 1_577_836_800,
};

/// The driver's arguments (`drivers/scsi/scsi_debug.c` of the kernel): size, delay, and how many
/// requests at a time.
pub(crate) fn scsi_debug_arguments(disk: &DiskSpec) -> CString {
    let size_mb = disk.size_bytes >> 20;
    let queue = if disk.spindle_bytes_per_s.is_some() { 1 } else { QUEUE };
    let delay = match disk.read_delay_ns {
        delay_ns if delay_ns > 0 && !disk.needs_mapper() => format!("ndelay={delay_ns}"),
        _ => "delay=0".to_owned(),
    };
    let text = format!("dev_size_mb={size_mb} max_queue={queue} {delay}");
    // Digits and letters only: there is no NUL to refuse.
    CString::new(text).unwrap_or_default()
}

/// Finds the disk, limits its requests, divides and formats it, swaps to it and mounts it.
///
/// # Errors
/// When the disk does not appear, or a step fails, with the step.
pub(crate) fn set_up(machine: &MachineSpec, work_dir: &Path) -> io::Result<()> {
    let name = find()?;
    if let Some(rate) = machine.disk.spindle_bytes_per_s {
        let queue = Path::new(BLOCK_DEVICES).join(&name).join("queue");
        let set = |file: &str, value: u64| {
            let path = queue.join(file);
            fs::write(&path, value.to_string())
                .map_err(at(format!("write {value} to {}", path.display())))
                .map_err(io::Error::other)
        };
        set("max_sectors_kb", request_kb(rate, machine.disk.read_delay_ns))?;
        set("rotational", 1)?;
    }
    let layout =
        Layout::new(machine.disk.size_bytes, machine.swap_bytes).map_err(io::Error::other)?;
    let device = PathBuf::from("/dev").join(name);
    let ms = |delay_ns: u64| u32::try_from(delay_ns / 1_000_000).unwrap_or(u32::MAX);
    let delay = Delay {
        read_ms: ms(machine.disk.read_delay_ns),
        write_ms: ms(machine.disk.write_delay_ns),
    };
    let mut part = |number: u8, range: &Range<u64>| match machine.disk.needs_mapper() {
        false => partition(&device, number, range),
        true => delayed(&device, number, range, delay),
    };
    prepare(&layout, &FILE_SYSTEM, work_dir, &mut part)
}

/// What a spindle transfers in one delay, in KiB: a multiple of a page.
fn request_kb(bytes_per_s: u64, delay_ns: u64) -> u64 {
    let bytes = u128::from(bytes_per_s) * u128::from(delay_ns) / 1_000_000_000;
    let pages_kb = (bytes as u64 >> 12) << 2;
    pages_kb.max(SMALLEST_REQUEST_KB)
}

/// The name of the disk.
fn find() -> io::Result<String> {
    for _ in 0..LOOKS {
        for entry in fs::read_dir(BLOCK_DEVICES)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with("sd") && Path::new("/dev").join(&name).exists() {
                return Ok(name);
            }
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "scsi_debug made no disk"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spindle_takes_one_request_of_what_it_transfers_in_a_delay() {
        assert_eq!(request_kb(10 << 20, 8_000_000), 80);
        assert_eq!(request_kb(1, 8_000_000), 4);
        let disk = DiskSpec {
            size_bytes: 120 << 20,
            read_delay_ns: 8_000_000,
            write_delay_ns: 8_000_000,
            spindle_bytes_per_s: Some(10 << 20),
        };
        let arguments = |disk: &DiskSpec| scsi_debug_arguments(disk).into_string().unwrap();
        assert_eq!(arguments(&disk), "dev_size_mb=120 max_queue=1 ndelay=8000000");
        // Where reading and writing differ, the device mapper delays and the driver does not.
        let disk = DiskSpec { write_delay_ns: 0, spindle_bytes_per_s: None, ..disk };
        assert_eq!(arguments(&disk), "dev_size_mb=120 max_queue=64 delay=0");
    }
}
