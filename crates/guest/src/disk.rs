//! The machine's slow disk: a driver of the kernel with data in memory and a timer as delay. For two
//! different delays the device mapper's `delay` target replaces its own.

mod aligned;
pub(crate) mod credits;
mod drivers;
mod ext4;
pub(crate) mod measure;
mod node;
mod zram;

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use keep::swap_file;
use model::{DiskDriver, DiskSpec, MachineSpec};
use rustix::mount::{MountFlags, mount};
use sys::block_device::add_partition;
use sys::device_mapper::{Delay, DeviceNumber, Segment, create};
use sys::swap::swap_on;

use drivers::BLOCK_DEVICES;
pub(crate) use drivers::module_arguments;
use node::{failed, wait_for};

use crate::at;

pub(crate) const WORK_DIR: &str = "/work";

/// Where the names of mapped parts begin.
const MAPPING: &str = "part";
const ALIGNMENT_BYTES: u64 = 1 << 20;
/// The smallest ext4 that can be written.
const LEAST_FILE_SYSTEM_BYTES: u64 = 8 << 20;

/// Finds, partitions and formats the disk, and mounts it in a folder. The error names device and
/// step.
pub(crate) fn set_up(machine: &MachineSpec, folder: &str) -> Result<(), String> {
    let disk = drivers::prepare(&machine.disk)?;
    let zram = machine.disk.compressor.as_ref().filter(|_| machine.disk.has_zram());
    let on_disk_bytes = if zram.is_some() { 0 } else { machine.swap_bytes };
    let (swap, files) = layout(machine.disk.size_bytes, on_disk_bytes)?;
    if let Some(range) = &swap {
        swap_to(&part(&machine.disk, &disk, 1, range)?, range.end - range.start)?;
    }
    if let Some(compressor) = zram {
        swap_to(&zram::prepare(machine.swap_bytes, compressor)?, machine.swap_bytes)?;
    }
    let node = part(&machine.disk, &disk, if swap.is_some() { 2 } else { 1 }, &files)?;
    format(&node, |file| ext4::format(file, files.end - files.start))
        .map_err(failed("write a file system to", &node))?;
    fs::create_dir_all(folder).map_err(at(format!("make {folder}")))?;
    mount(&node, folder, "ext4", MountFlags::empty(), c"").map_err(failed("mount", &node))
}

fn swap_to(node: &Path, size_bytes: u64) -> Result<(), String> {
    format(node, |file| swap_file::format(file, size_bytes))
        .map_err(failed("write a swap header to", node))?;
    swap_on(node).map_err(failed("swap to", node))
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
    let node = if spec.needs_mapper() || spec.driver() == DiskDriver::Credited {
        let id = fs::metadata(disk).map_err(failed("look at", disk))?.rdev();
        let device = DeviceNumber { major: rustix::fs::major(id), minor: rustix::fs::minor(id) };
        let ms = |delay_ns: u64| u32::try_from(delay_ns / 1_000_000).unwrap_or(u32::MAX);
        let (read_ms, write_ms) = (ms(spec.read_delay_ns), ms(spec.write_delay_ns));
        let delay = spec.needs_mapper().then_some(Delay { read_ms, write_ms });
        let segment = Segment { length_bytes, device, start_bytes: range.start, delay };
        let made = create(&format!("{MAPPING}{number}"), &[segment])
            .map_err(failed("map a part of", disk))?;
        PathBuf::from(format!("/dev/dm-{}", made.minor))
    } else {
        let name = disk.display().to_string();
        let separator = if name.ends_with(|end: char| end.is_ascii_digit()) { "p" } else { "" };
        let node = PathBuf::from(format!("{name}{separator}{number}"));
        let file = File::open(disk).map_err(failed("open", disk))?;
        add_partition(&file, number, range.start, length_bytes)
            .map_err(failed("add the partition", &node))?;
        node
    };
    wait_for(&node).map_err(failed("find the node", &node))?;
    Ok(node)
}

/// The names of all mapped parts.
fn mappings() -> Result<Vec<String>, String> {
    let entries = fs::read_dir(BLOCK_DEVICES).map_err(at(BLOCK_DEVICES))?.flatten();
    let names = entries.filter_map(|entry| fs::read_to_string(entry.path().join("dm/name")).ok());
    let names = names.map(|name| name.trim().to_owned());
    Ok(names.filter(|name| name.starts_with(MAPPING)).collect())
}

fn format(node: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::options().write(true).open(node)?;
    write(&mut file)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

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
        let disk = DiskSpec::default();
        let text = part(&disk, Path::new("/dev/null"), 1, &(MIB..2 * MIB)).unwrap_err();
        assert!(text.starts_with("cannot add the partition /dev/null1: "), "{text}");
    }
}
