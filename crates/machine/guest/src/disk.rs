//! The machine's slow disks, each a driver of the kernel with data in memory and a timer as delay. For
//! two different delays the device mapper's `delay` target replaces its own.

mod aligned;
pub(crate) mod credits;
mod drivers;
mod ext4;
mod file_system;
pub(crate) mod measure;
mod node;
mod zram;

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use keep::swap_file;
use model::{DiskDriver, MachineDisk, MachineSpec, swap_end_bytes};
use sys::block_device::add_partition;
use sys::device_mapper::{Delay, DeviceNumber, Segment, create};
use sys::swap::swap_on;

use drivers::BLOCK_DEVICES;
pub(crate) use drivers::module_arguments;
use node::{failed, fill, wait_for};

use crate::at;

pub(crate) const WORK_DIR: &str = "/work";

/// Where the names of mapped parts begin.
const MAPPING: &str = "part";
/// Most parts of a disk.
const PARTS: u8 = 2;
const ALIGNMENT_BYTES: u64 = 1 << 20;
/// The smallest ext4 that can be written.
const LEAST_FILE_SYSTEM_BYTES: u64 = 8 << 20;

/// Finds, partitions and formats the disks, and mounts the file system of each in a folder, if it has
/// one. The error names device and step.
pub(crate) fn set_up(machine: &MachineSpec, folders: [Option<&str>; 2]) -> Result<(), String> {
    let disks = machine.disks();
    let nodes = drivers::prepare(&disks)?;
    let compressor = machine.disk.compressor.as_ref().filter(|_| machine.disk.has_zram());
    for ((disk, node), folder) in disks.iter().zip(&nodes).zip(folders) {
        let has_files = folder.is_some();
        let (swap, files) = layout(disk.spec.size_bytes, disk.swap_bytes, has_files)?;
        if let Some(range) = &swap {
            swap_to(&part(disk, node, 1, range)?, range.end - range.start)?;
        }
        if let Some(compressor) = compressor.filter(|_| disk.number == 1) {
            swap_to(&zram::prepare(machine.swap_bytes, compressor)?, machine.swap_bytes)?;
        }
        if let Some(folder) = folder {
            let node = part(disk, node, if swap.is_some() { 2 } else { 1 }, &files)?;
            file_system::make(disk, &node, files.end - files.start, folder)?;
        }
    }
    file_system::forget_tools()
}

fn swap_to(node: &Path, size_bytes: u64) -> Result<(), String> {
    fill(node, |file| swap_file::format(file, size_bytes))
        .map_err(failed("write a swap header to", node))?;
    swap_on(node).map_err(failed("swap to", node))
}

/// The ranges of swap and files in bytes; the first MiB stays free, and swap takes whole MiB. Without a
/// file system the second range may be empty.
fn layout(
    disk_bytes: u64,
    swap_bytes: u64,
    has_files: bool,
) -> Result<(Option<Range<u64>>, Range<u64>), String> {
    let swap_end = swap_end_bytes(swap_bytes);
    let disk_end = disk_bytes - disk_bytes % ALIGNMENT_BYTES;
    let files_bytes = if has_files { LEAST_FILE_SYSTEM_BYTES } else { 0 };
    let least_bytes = swap_end.saturating_add(files_bytes);
    if disk_end < least_bytes {
        let files = if has_files { " and a file system of at least 8 MiB after it" } else { "" };
        return Err(format!(
            "a disk of {disk_bytes} bytes has no room for {swap_bytes} bytes of swap, 1 MiB before \
             it{files}; give it at least {least_bytes} bytes or less swap"
        ));
    }
    Ok(((swap_bytes > 0).then_some(ALIGNMENT_BYTES..swap_end), swap_end..disk_end))
}

/// A part of a disk as a partition or delayed mapping, without any partition table.
fn part(
    disk: &MachineDisk<'_>,
    node: &Path,
    number: u8,
    range: &Range<u64>,
) -> Result<PathBuf, String> {
    let (spec, length_bytes) = (disk.spec, range.end - range.start);
    let part = if spec.needs_mapper() || spec.driver() == DiskDriver::Credited {
        let id = fs::metadata(node).map_err(failed("look at", node))?.rdev();
        let device = DeviceNumber { major: rustix::fs::major(id), minor: rustix::fs::minor(id) };
        let ms = |delay_ns: u64| u32::try_from(delay_ns / 1_000_000).unwrap_or(u32::MAX);
        let (read_ms, write_ms) = (ms(spec.read_delay_ns), ms(spec.write_delay_ns));
        let delay = spec.needs_mapper().then_some(Delay { read_ms, write_ms });
        let segment = Segment { length_bytes, device, start_bytes: range.start, delay };
        let name = format!("{MAPPING}{}", (disk.number - 1) * PARTS + number);
        let made = create(&name, &[segment]).map_err(failed("map a part of", node))?;
        PathBuf::from(format!("/dev/dm-{}", made.minor))
    } else {
        let name = node.display().to_string();
        let separator = if name.ends_with(|end: char| end.is_ascii_digit()) { "p" } else { "" };
        let part = PathBuf::from(format!("{name}{separator}{number}"));
        let file = File::open(node).map_err(failed("open", node))?;
        add_partition(&file, number, range.start, length_bytes)
            .map_err(failed("add the partition", &part))?;
        part
    };
    wait_for(&part).map_err(failed("find the node", &part))?;
    Ok(part)
}

/// The names of all mapped parts of a disk of this name.
fn mappings(disk: &str) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(BLOCK_DEVICES).map_err(at(BLOCK_DEVICES))?.flatten();
    let parts = entries.filter(|entry| entry.path().join("slaves").join(disk).exists());
    let names = parts.filter_map(|entry| fs::read_to_string(entry.path().join("dm/name")).ok());
    let names = names.map(|name| name.trim().to_owned());
    Ok(names.filter(|name| name.starts_with(MAPPING)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn swap_comes_first_and_everything_is_aligned() {
        let (swap, files) = layout(100 * MIB + 512, 10 * MIB + 1, true).unwrap();
        assert_eq!((swap, files), (Some(MIB..12 * MIB), 12 * MIB..100 * MIB));
    }

    #[test]
    fn without_swap_there_is_no_partition_for_it() {
        assert_eq!(layout(9 * MIB, 0, true).unwrap(), (None, MIB..9 * MIB));
        assert_eq!(layout(MIB, 0, false).unwrap(), (None, MIB..MIB));
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_would() {
        let error = layout(20 * MIB, 12 * MIB, true).unwrap_err();
        assert!(error.contains("at least 22020096 bytes"), "{error}");
        assert!(layout(22_020_096, 12 * MIB, true).is_ok());
        assert!(layout(22_020_095, 12 * MIB, true).is_err());
        assert!(layout(u64::MAX, u64::MAX, true).is_err());
        assert!(layout(0, 0, true).is_err());
        // A disk of swap has nothing after it.
        assert!(layout(13 * MIB, 12 * MIB, false).is_ok());
        let error = layout(13 * MIB - 1, 12 * MIB, false).unwrap_err();
        assert!(error.contains("at least 13631488 bytes"), "{error}");
    }

    #[test]
    fn what_cannot_be_divided_is_named() {
        let machine = MachineSpec::default();
        let disk = machine.disks()[0];
        let text = part(&disk, Path::new("/dev/null"), 1, &(MIB..2 * MIB)).unwrap_err();
        assert!(text.starts_with("cannot add the partition /dev/null1: "), "{text}");
    }
}
