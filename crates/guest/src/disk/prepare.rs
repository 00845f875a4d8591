//! Makes a blank disk ready: partitions, swap and file system.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use keep::swap_file;
use rustix::mount::{MountFlags, mount};
use sys::block_device::add_partition;
use sys::device_mapper::{Delay, DeviceNumber, Segment, create};
use sys::swap::swap_on;

use super::{Layout, ext4};

/// How often a new partition's node is looked for, and how long to wait between two looks. The
/// kernel makes it before it answers, so the first look should find it.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Formats the parts of a blank disk that reads as zeros, swaps to the one and mounts the other at a
/// folder. `part` makes a part of the disk a device of its own: it is given the part's number, from
/// 1, and its bytes.
///
/// # Errors
/// Without the privilege, when a part cannot be made or written, or when the folder to mount at is
/// missing; the text names device and step.
pub(crate) fn prepare(
    layout: &Layout,
    options: &ext4::Options,
    folder: &Path,
    part: &mut dyn FnMut(u8, &Range<u64>) -> io::Result<PathBuf>,
) -> io::Result<()> {
    let mut number = 0;
    let mut next = |range: &Range<u64>| {
        number += 1;
        part(number, range)
    };
    if let Some(range) = &layout.swap {
        prepare_swap(&next(range)?, range)?;
    }
    let file_system = next(&layout.file_system)?;
    let size_bytes = layout.file_system.end - layout.file_system.start;
    let step = failed("write a file system to", &file_system);
    format(&file_system, |node| ext4::format(node, size_bytes, options)).map_err(step)?;
    mount(&file_system, folder, "ext4", MountFlags::empty(), c"")
        .map_err(|error| failed("mount", &file_system)(error.into()))
}

fn prepare_swap(node: &Path, range: &Range<u64>) -> io::Result<()> {
    format(node, |file| swap_file::format(file, range.end - range.start))
        .map_err(failed("write a swap header to", node))?;
    swap_on(node).map_err(failed("swap to", node))
}

/// A part of a disk as a partition, and its node (devtmpfs makes it, beside the disk's).
///
/// The partition is told to the kernel only, which forgets it with the device: nothing of a
/// partition table is written.
///
/// # Errors
/// Without the privilege, when the disk has this partition already or is smaller.
pub(crate) fn partition(device: &Path, number: u8, range: &Range<u64>) -> io::Result<PathBuf> {
    let disk = File::open(device).map_err(failed("open", device))?;
    let node = partition_node(device, number);
    add_partition(&disk, number, range.start, range.end - range.start)
        .map_err(failed("add the partition", &node))?;
    await_node(node)
}

/// A part of a disk behind the device mapper, which holds back its requests, and its node.
///
/// # Errors
/// Without the privilege or the device mapper, or when the disk is smaller.
pub(crate) fn delayed(
    device: &Path,
    number: u8,
    range: &Range<u64>,
    delay: Delay,
) -> io::Result<PathBuf> {
    let id = fs::metadata(device).map_err(failed("look at", device))?.rdev();
    let segment = Segment {
        length_bytes: range.end - range.start,
        device: DeviceNumber { major: rustix::fs::major(id), minor: rustix::fs::minor(id) },
        start_bytes: range.start,
        delay: Some(delay),
    };
    let made = create(&format!("part{number}"), &[segment])
        .map_err(failed("delay the requests to a part of", device))?;
    await_node(PathBuf::from(format!("/dev/dm-{}", made.minor)))
}

/// Waits for a node.
fn await_node(node: PathBuf) -> io::Result<PathBuf> {
    for _ in 0..LOOKS {
        if node.exists() {
            return Ok(node);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Err(failed("find the node", &node)(io::ErrorKind::NotFound.into()))
}

/// The kernel's name of a partition: the number stands apart by a `p` if the disk's name ends in
/// a digit itself.
fn partition_node(device: &Path, number: u8) -> PathBuf {
    let mut node = device.as_os_str().to_owned();
    if node.as_encoded_bytes().last().is_some_and(u8::is_ascii_digit) {
        node.push("p");
    }
    node.push(number.to_string());
    node.into()
}

/// Lets a device be written, and waits until it is.
fn format(node: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::options().write(true).open(node)?;
    write(&mut file)?;
    file.sync_all()
}

fn failed(what: &str, path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    let what = format!("cannot {what} {}", path.display());
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_named_as_the_kernel_names_them() {
        assert_eq!(partition_node(Path::new("/dev/vda"), 2), Path::new("/dev/vda2"));
        assert_eq!(partition_node(Path::new("/dev/loop0"), 1), Path::new("/dev/loop0p1"));
    }

    #[test]
    fn what_cannot_be_divided_is_named() {
        let error = partition(Path::new("/dev/null"), 1, &(1 << 20..2 << 20)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot add the partition /dev/null1: "), "{text}");
    }
}
