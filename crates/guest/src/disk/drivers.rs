//! The kernel's drivers of simulated disks: `scsi_debug`, whose store is memory of its own, and
//! `null_blk`, whose pages are allocated here before they are used.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use model::{DiskDriver, DiskModel, DiskSpec, Service};
use rustix::fs::OFlags;
use rustix::mount::{MountFlags, mount};

use super::aligned::Aligned;
use super::node::{failed, look_for};
use crate::at;

pub(super) const BLOCK_DEVICES: &str = "/sys/block";
const SCSI_DEBUG: &str = "/sys/bus/pseudo/drivers/scsi_debug";
/// Where the names of the driver's disks begin.
pub(super) const SCSI_DISK: &str = "sd";
const CONFIGFS: &str = "/sys/kernel/config";
/// The name of the disk, too: newer kernels take it from the folder.
const NULL_BLK: &str = "nullb0";
const SMALLEST_REQUEST_KB: u64 = 4;
const SECTOR_SHIFT: u32 = 9;
/// 16 MiB, more than a request ever has.
const MOST_SECTORS: u64 = 1 << 15;
const WRITTEN_BYTES: usize = 1 << 20;

/// Arguments of a driver's module (`drivers/scsi/scsi_debug.c`, `drivers/block/null_blk` of the
/// kernel); nothing for other modules.
pub(crate) fn module_arguments(file: &str, disk: &DiskSpec) -> CString {
    let text = match file {
        "scsi_debug.ko" => {
            let (size_mb, service) = (disk.size_bytes >> 20, disk.service());
            let delay = match service.delay_ns {
                delay_ns if delay_ns > 0 && !disk.needs_mapper() => format!("ndelay={delay_ns}"),
                _ => "delay=0".to_owned(),
            };
            format!("dev_size_mb={size_mb} max_queue={} {delay}", service.queue)
        }
        // Its disk is made when its parameters are known.
        "null_blk.ko" => "nr_devices=0".to_owned(),
        _ => String::new(),
    };
    // There is no NUL in it.
    CString::new(text).unwrap_or_default()
}

/// Finds or makes the disk, and applies its parameters; returns its node. The error names device and
/// step.
pub(super) fn prepare(disk: &DiskSpec) -> Result<PathBuf, String> {
    let driver = disk.driver();
    let name = match driver {
        DiskDriver::Shared | DiskDriver::Substitute => {
            make_null_blk(disk)?;
            find(NULL_BLK)?
        }
        DiskDriver::Delayed | DiskDriver::Credited => find(SCSI_DISK)?,
    };
    let service = disk.service();
    // A mapping is not limited to what its first level allows.
    let limits = disk.service_without_credits().unwrap_or(service);
    limits.request_bytes.map_or(Ok(()), |bytes| set_largest_request(&name, bytes))?;
    let node = Path::new("/dev").join(&name);
    if disk.rate_bytes_per_s.is_some()
        && !matches!(driver, DiskDriver::Shared | DiskDriver::Credited)
    {
        set_queue(&name, "rotational", 1)?;
    }
    match driver {
        DiskDriver::Delayed => {}
        DiskDriver::Substitute => write_all(&node)?,
        DiskDriver::Shared => {
            if disk.model == Some(DiskModel::Nvme) {
                // As the kernel does for such disks.
                set_queue(&name, "scheduler", "none")?;
            }
            write_all(&node)?;
        }
        DiskDriver::Credited => set_queue(&name, "write_cache", "write through")?,
    }
    Ok(node)
}

/// Changes what the disk does with requests, while none is under way.
pub(super) fn switch(name: &str, service: Service) -> Result<(), String> {
    write(&Path::new(SCSI_DEBUG).join("ndelay"), service.delay_ns)?;
    write(&Path::new(BLOCK_DEVICES).join(name).join("device/queue_depth"), service.queue)?;
    service.request_bytes.map_or(Ok(()), |bytes| set_largest_request(name, bytes))
}

fn make_null_blk(disk: &DiskSpec) -> Result<(), String> {
    mount("none", CONFIGFS, "configfs", MountFlags::empty(), c"")
        .map_err(at(format!("mount {CONFIGFS}")))?;
    let folder = Path::new(CONFIGFS).join("nullb").join(NULL_BLK);
    fs::create_dir(&folder).map_err(failed("make", &folder))?;
    let service = disk.service();
    let is_shared = disk.driver() == DiskDriver::Shared;
    let rate_mib = disk.rate_bytes_per_s.filter(|_| is_shared).unwrap_or(0) >> 20;
    // Where reading and writing differ, the device mapper delays.
    let delay_ns = if disk.needs_mapper() { 0 } else { service.delay_ns };
    if let Some(bytes) = service.request_bytes.filter(|_| !is_shared) {
        // Since Linux 5.11; before, requests have less than 128 KiB.
        let path = folder.join("max_sectors");
        if path.exists() {
            write(&path, (bytes >> SECTOR_SHIFT).min(MOST_SECTORS))?;
        }
    }
    for (name, value) in [
        ("size", disk.size_bytes >> 20),
        ("memory_backed", 1),
        ("submit_queues", 1),
        // Requests that a timer completes.
        ("queue_mode", 2),
        ("irqmode", 2),
        ("completion_nsec", delay_ns),
        ("hw_queue_depth", service.queue.into()),
        ("mbps", rate_mib),
        ("power", 1),
    ] {
        write(&folder.join(name), value)?;
    }
    Ok(())
}

/// Allocates all pages of a disk that allocates them as they are written: later they might not be
/// available.
fn write_all(node: &Path) -> Result<(), String> {
    let step = "write all of";
    let mut file = open_direct(node).map_err(failed(step, node))?;
    let size_bytes = file.seek(SeekFrom::End(0)).map_err(failed(step, node))?;
    file.rewind().map_err(failed(step, node))?;
    let zeros = Aligned::zeroed(WRITTEN_BYTES);
    let mut left_bytes = size_bytes as usize;
    while left_bytes > 0 {
        let count = left_bytes.min(WRITTEN_BYTES);
        file.write_all(&zeros.bytes()[..count]).map_err(failed(step, node))?;
        left_bytes -= count;
    }
    Ok(())
}

/// Opens a device past the page cache.
pub(super) fn open_direct(node: &Path) -> io::Result<File> {
    let direct = OFlags::DIRECT.bits() as i32;
    File::options().read(true).write(true).custom_flags(direct).open(node)
}

fn set_largest_request(name: &str, bytes: u64) -> Result<(), String> {
    let path = Path::new(BLOCK_DEVICES).join(name).join("queue/max_hw_sectors_kb");
    let text = fs::read_to_string(&path).map_err(at(path.display()))?;
    let most_kb: u64 = text.trim().parse().map_err(at(path.display()))?;
    // Whole pages.
    let kb = (bytes >> 12 << 2).min(most_kb & !3).max(SMALLEST_REQUEST_KB);
    set_queue(name, "max_sectors_kb", kb)
}

fn set_queue(name: &str, file: &str, value: impl ToString) -> Result<(), String> {
    write(&Path::new(BLOCK_DEVICES).join(name).join("queue").join(file), value)
}

pub(super) fn write(path: &Path, value: impl ToString) -> Result<(), String> {
    let value = value.to_string();
    fs::write(path, &value).map_err(at(format!("write {value} to {}", path.display())))
}

/// The name of the first disk whose name begins so, with a node. Fails when there is none for long.
pub(super) fn find(start: &str) -> Result<String, String> {
    let find = || {
        let entries = fs::read_dir(BLOCK_DEVICES).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.find(|name| name.starts_with(start) && Path::new("/dev").join(name).exists())
    };
    look_for(find).ok_or_else(|| format!("the driver created no disk {start}*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_follow_from_the_disk() {
        let disk = DiskSpec {
            size_bytes: 120 << 20,
            read_delay_ns: 8_000_000,
            write_delay_ns: 8_000_000,
            rate_bytes_per_s: Some(10 << 20),
            ..DiskSpec::default()
        };
        let arguments =
            |disk: &DiskSpec| module_arguments("scsi_debug.ko", disk).into_string().unwrap();
        assert_eq!(arguments(&disk), "dev_size_mb=120 max_queue=1 ndelay=8000000");
        // Where reading and writing differ, the device mapper delays and the driver does not.
        let disk = DiskSpec { write_delay_ns: 0, rate_bytes_per_s: None, ..disk };
        assert_eq!(arguments(&disk), "dev_size_mb=120 max_queue=64 delay=0");
        let mut disk = disk;
        DiskModel::Cloud.apply(&mut disk);
        assert_eq!(arguments(&disk), "dev_size_mb=120 max_queue=3 ndelay=1000000");
        assert_eq!(module_arguments("null_blk.ko", &disk).as_c_str(), c"nr_devices=0");
        assert_eq!(module_arguments("ext4.ko", &disk).as_c_str(), c"");
    }
}
