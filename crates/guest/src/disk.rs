//! The machine's slow disk: `scsi_debug`, with data in memory and a timer as delay. For two
//! different delays the device mapper's `delay` target replaces its own.

mod ext4;

use std::ffi::CString;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use keep::swap_file;
use model::{DiskSpec, MachineSpec};
use rustix::mount::{MountFlags, mount};
use sys::block_device::add_partition;
use sys::device_mapper::{Delay, DeviceNumber, Segment, create};
use sys::swap::swap_on;

use crate::at;

pub(crate) const WORK_DIR: &str = "/work";

/// Queue length of a disk without a spindle (the driver's maximum).
const QUEUE: u32 = 64;
/// The block layer's smallest request limit, in KiB.
const SMALLEST_REQUEST_KB: u64 = 4;
const BLOCK_DEVICES: &str = "/sys/block";
/// Looks for a disk or partition, whose node the kernel usually creates before it answers.
const LOOKS: u32 = 500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
const ALIGNMENT_BYTES: u64 = 1 << 20;
/// The smallest ext4 that can be written.
const LEAST_FILE_SYSTEM_BYTES: u64 = 8 << 20;

/// The driver's arguments (`drivers/scsi/scsi_debug.c` of the kernel).
pub(crate) fn scsi_debug_arguments(disk: &DiskSpec) -> CString {
    let size_mb = disk.size_bytes >> 20;
    let queue = if disk.spindle_bytes_per_s.is_some() { 1 } else { QUEUE };
    let delay = match disk.read_delay_ns {
        delay_ns if delay_ns > 0 && !disk.needs_mapper() => format!("ndelay={delay_ns}"),
        _ => "delay=0".to_owned(),
    };
    let text = format!("dev_size_mb={size_mb} max_queue={queue} {delay}");
    // There is no NUL in it.
    CString::new(text).unwrap_or_default()
}

/// Finds, partitions and formats the disk, and mounts it in a folder. The error names device and
/// step.
pub(crate) fn set_up(machine: &MachineSpec, folder: &str) -> Result<(), String> {
    let name = find()?;
    if let Some(rate) = machine.disk.spindle_bytes_per_s {
        let queue = Path::new(BLOCK_DEVICES).join(&name).join("queue");
        let set = |file: &str, value: u64| {
            let path = queue.join(file);
            fs::write(&path, value.to_string())
                .map_err(at(format!("write {value} to {}", path.display())))
        };
        set("max_sectors_kb", request_kb(rate, machine.disk.read_delay_ns))?;
        set("rotational", 1)?;
    }
    let (swap, files) = layout(machine.disk.size_bytes, machine.swap_bytes)?;
    let disk = Path::new("/dev").join(name);
    if let Some(range) = &swap {
        let node = part(&machine.disk, &disk, 1, range)?;
        format(&node, |file| swap_file::format(file, range.end - range.start))
            .map_err(failed("write a swap header to", &node))?;
        swap_on(&node).map_err(failed("swap to", &node))?;
    }
    let node = part(&machine.disk, &disk, if swap.is_some() { 2 } else { 1 }, &files)?;
    format(&node, |file| ext4::format(file, files.end - files.start))
        .map_err(failed("write a file system to", &node))?;
    fs::create_dir_all(folder).map_err(at(format!("make {folder}")))?;
    mount(&node, folder, "ext4", MountFlags::empty(), c"").map_err(failed("mount", &node))
}

/// What a spindle transfers in one delay, in KiB: whole pages.
fn request_kb(bytes_per_s: u64, delay_ns: u64) -> u64 {
    let bytes = u128::from(bytes_per_s) * u128::from(delay_ns) / 1_000_000_000;
    let pages_kb = (bytes as u64 >> 12) << 2;
    pages_kb.max(SMALLEST_REQUEST_KB)
}

fn find() -> Result<String, String> {
    for _ in 0..LOOKS {
        for entry in fs::read_dir(BLOCK_DEVICES).map_err(at(BLOCK_DEVICES))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("sd") && Path::new("/dev").join(&name).exists() {
                return Ok(name);
            }
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Err("scsi_debug created no disk".to_owned())
}

/// The ranges of swap and file system in bytes; the first MiB stays free, and swap takes whole MiB.
fn layout(disk_bytes: u64, swap_bytes: u64) -> Result<(Option<Range<u64>>, Range<u64>), String> {
    let swap_end = swap_bytes
        .checked_next_multiple_of(ALIGNMENT_BYTES)
        .and_then(|swap_bytes| swap_bytes.checked_add(ALIGNMENT_BYTES))
        .unwrap_or(u64::MAX);
    let disk_end = disk_bytes - disk_bytes % ALIGNMENT_BYTES;
    let least_bytes = swap_end.saturating_add(LEAST_FILE_SYSTEM_BYTES);
    if disk_end < least_bytes {
        return Err(format!(
            "a disk of {disk_bytes} bytes has no room for {swap_bytes} bytes of swap, 1 MiB before \
             it and a file system of at least 8 MiB after it; give it at least {least_bytes} bytes \
             or less swap"
        ));
    }
    Ok(((swap_bytes > 0).then_some(ALIGNMENT_BYTES..swap_end), swap_end..disk_end))
}

/// A part of the disk as a partition or delayed mapping, without any partition table.
fn part(spec: &DiskSpec, disk: &Path, number: u8, range: &Range<u64>) -> Result<PathBuf, String> {
    let length_bytes = range.end - range.start;
    let node = if spec.needs_mapper() {
        let id = fs::metadata(disk).map_err(failed("look at", disk))?.rdev();
        let device = DeviceNumber { major: rustix::fs::major(id), minor: rustix::fs::minor(id) };
        let ms = |delay_ns: u64| u32::try_from(delay_ns / 1_000_000).unwrap_or(u32::MAX);
        let (read_ms, write_ms) = (ms(spec.read_delay_ns), ms(spec.write_delay_ns));
        let delay = Some(Delay { read_ms, write_ms });
        let segment = Segment { length_bytes, device, start_bytes: range.start, delay };
        let made = create(&format!("part{number}"), &[segment])
            .map_err(failed("delay the requests to a part of", disk))?;
        PathBuf::from(format!("/dev/dm-{}", made.minor))
    } else {
        // The disk's name ends in a letter.
        let node = PathBuf::from(format!("{}{number}", disk.display()));
        let file = File::open(disk).map_err(failed("open", disk))?;
        add_partition(&file, number, range.start, length_bytes)
            .map_err(failed("add the partition", &node))?;
        node
    };
    for _ in 0..LOOKS {
        if node.exists() {
            return Ok(node);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Err(failed("find the node", &node)(io::Error::from(ErrorKind::NotFound)))
}

fn format(node: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::options().write(true).open(node)?;
    write(&mut file)?;
    file.sync_all()
}

fn failed<E: Display>(what: &str, path: &Path) -> impl FnOnce(E) -> String + use<E> {
    at(format!("cannot {what} {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

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

    #[test]
    fn swap_comes_first_and_everything_is_aligned() {
        let (swap, files) = layout(100 * MIB + 512, 10 * MIB + 1).unwrap();
        assert_eq!((swap, files), (Some(MIB..12 * MIB), 12 * MIB..100 * MIB));
    }

    #[test]
    fn without_swap_there_is_no_partition_for_it() {
        assert_eq!(layout(9 * MIB, 0).unwrap(), (None, MIB..9 * MIB));
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_would() {
        let error = layout(20 * MIB, 12 * MIB).unwrap_err();
        assert!(error.contains("at least 22020096 bytes"), "{error}");
        assert!(layout(22_020_096, 12 * MIB).is_ok());
        assert!(layout(22_020_095, 12 * MIB).is_err());
        assert!(layout(u64::MAX, u64::MAX).is_err());
        assert!(layout(0, 0).is_err());
    }

    #[test]
    fn what_cannot_be_divided_is_named() {
        let disk = DiskSpec {
            size_bytes: 0,
            read_delay_ns: 0,
            write_delay_ns: 0,
            spindle_bytes_per_s: None,
        };
        let text = part(&disk, Path::new("/dev/null"), 1, &(MIB..2 * MIB)).unwrap_err();
        assert!(text.starts_with("cannot add the partition /dev/null1: "), "{text}");
    }
}
