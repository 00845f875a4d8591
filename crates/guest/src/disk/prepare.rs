//! Makes a blank disk ready: partitions, swap and file system.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::mount::mount;
use sys::block_device::add_partition;
use sys::swap::swap_on;

use super::{Layout, ext4, mount_options, swap};

/// How often a new partition's node is looked for, and how long to wait between two looks. The
/// kernel makes it before it answers, so the first look should find it.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Where and how the file system is mounted.
#[derive(Clone, Copy, Debug)]
pub struct Mount<'a> {
    /// A folder that exists.
    pub folder: &'a Path,
    /// As `mount -o` takes them, separated by commas.
    pub options: &'a str,
}

/// A disk in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The device that is swapped to, if any.
    pub swap: Option<PathBuf>,
    /// The device that is mounted.
    pub file_system: PathBuf,
}

/// Divides a disk, formats its partitions, swaps to the one and mounts the other.
///
/// The partitions are told to the kernel only, which forgets them with the device: nothing of a
/// partition table is written. The nodes are made by the kernel (devtmpfs), beside the disk's.
///
/// # Errors
/// Without the privilege, when the disk has partitions already, is smaller than the layout or
/// cannot be written, or when a folder to mount at is missing; the text names device and step.
pub fn prepare(
    device: &Path,
    layout: &Layout,
    options: &ext4::Options,
    at: &Mount<'_>,
) -> io::Result<Prepared> {
    let disk = File::open(device).map_err(failed("open", device))?;
    let mut number = 0;
    let swap = layout.swap.as_ref().map(|range| {
        number += 1;
        prepare_swap(&disk, device, number, range)
    });
    let swap = swap.transpose()?;
    let file_system = partition(&disk, device, number + 1, &layout.file_system)?;
    let size_bytes = layout.file_system.end - layout.file_system.start;
    let step = failed("write a file system to", &file_system);
    format(&file_system, |node| ext4::format(node, size_bytes, options)).map_err(step)?;
    let step = format!("mount {} with {:?} at", file_system.display(), at.options);
    mount_ext4(&file_system, at).map_err(failed(&step, at.folder))?;
    Ok(Prepared { swap, file_system })
}

fn prepare_swap(disk: &File, device: &Path, number: u8, range: &Range<u64>) -> io::Result<PathBuf> {
    let node = partition(disk, device, number, range)?;
    format(&node, |file| swap::format(file, range.end - range.start))
        .map_err(failed("write a swap header to", &node))?;
    swap_on(&node).map_err(failed("swap to", &node))?;
    Ok(node)
}

fn mount_ext4(node: &Path, at: &Mount<'_>) -> io::Result<()> {
    let (flags, own_options) = mount_options::parse(at.options)?;
    Ok(mount(node, at.folder, "ext4", flags, &*own_options)?)
}

/// Adds a partition and waits for its node.
fn partition(disk: &File, device: &Path, number: u8, range: &Range<u64>) -> io::Result<PathBuf> {
    let node = partition_node(device, number);
    add_partition(disk, number, range.start, range.end - range.start)
        .map_err(failed("add the partition", &node))?;
    for _ in 0..LOOKS {
        if node.exists() {
            return Ok(node);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Err(failed("find the node of the partition", &node)(io::ErrorKind::NotFound.into()))
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
        let layout = Layout::new(100 << 20, 0).unwrap();
        let options = ext4::Options { uuid: [0; 16], hash_seed: [0; 16], time_s: 0, zeroed: false };
        let at = Mount { folder: Path::new("/nowhere"), options: "" };
        let error = prepare(Path::new("/dev/null"), &layout, &options, &at).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot add the partition /dev/null1: "), "{text}");
    }
}
