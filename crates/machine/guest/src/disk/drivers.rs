//! The kernel's drivers of simulated disks: `scsi_debug`, whose store is memory of its own, and
//! `null_blk`, whose pages are allocated here before they are used.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use model::{
    DiskDriver, DiskModel, DiskModule, LARGEST_NULL_BLK_BYTES, MachineDisk, MachineSpec, Service,
};
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
/// Where the names of disks begin; newer kernels take them from the folders, older ones count.
const NULL_BLK: &str = "nullb";
const SECTOR_BYTES: u64 = 512;
const SMALLEST_REQUEST_KB: u64 = 4;
const WRITTEN_BYTES: usize = 1 << 20;

/// Arguments of a driver's module (`drivers/scsi/scsi_debug.c`, `drivers/block/null_blk` of the
/// kernel); nothing for other modules.
pub(crate) fn module_arguments(file: &str, machine: &MachineSpec) -> CString {
    let disks = machine.disks();
    let disk = disks.iter().find(|disk| disk.module == DiskModule::ScsiDebug);
    let text = match (file, disk) {
        ("scsi_debug.ko", Some(disk)) => {
            let (size_mb, service) = (disk.spec.size_bytes >> 20, disk.service());
            let delay = match service.delay_ns {
                delay_ns if delay_ns > 0 && !disk.spec.needs_mapper() => {
                    format!("ndelay={delay_ns}")
                }
                _ => "delay=0".to_owned(),
            };
            format!("dev_size_mb={size_mb} max_queue={} {delay}", service.queue)
        }
        // Its disks are made when their parameters are known.
        ("null_blk.ko", _) => "nr_devices=0".to_owned(),
        _ => String::new(),
    };
    // There is no NUL in it.
    CString::new(text).unwrap_or_default()
}

/// Finds or makes the disks, and applies their parameters; returns their nodes. The error names device
/// and step.
pub(super) fn prepare(disks: &[MachineDisk<'_>]) -> Result<Vec<PathBuf>, String> {
    let mut made = 0;
    let mut nodes = Vec::new();
    for disk in disks {
        let name = match disk.module {
            DiskModule::ScsiDebug => find(SCSI_DISK)?,
            DiskModule::NullBlk => {
                let name = format!("{NULL_BLK}{made}");
                make_null_blk(disk, &name)?;
                made += 1;
                find(&name)?
            }
        };
        apply(disk, &name)?;
        nodes.push(Path::new("/dev").join(name));
    }
    Ok(nodes)
}

fn apply(disk: &MachineDisk<'_>, name: &str) -> Result<(), String> {
    let (spec, service) = (disk.spec, disk.service());
    // A mapping is not limited to what its first level allows.
    let limits = spec.service_without_credits().unwrap_or(service);
    limits.request_bytes.map_or(Ok(()), |bytes| set_largest_request(name, bytes))?;
    match spec.driver() {
        DiskDriver::Delayed if spec.rate_bytes_per_s.is_some() => {
            set_queue(name, "rotational", 1)?;
        }
        // As the kernel does for such disks.
        DiskDriver::Shared if spec.model == Some(DiskModel::Nvme) => {
            set_queue(name, "scheduler", "none")?;
        }
        DiskDriver::Delayed | DiskDriver::Shared => {}
        DiskDriver::Credited => set_queue(name, "write_cache", "write through")?,
    }
    match disk.module {
        DiskModule::NullBlk => write_all(&Path::new("/dev").join(name)),
        DiskModule::ScsiDebug => Ok(()),
    }
}

/// Changes what the disk does with requests, while none is under way.
pub(super) fn switch(name: &str, service: Service) -> Result<(), String> {
    write(&Path::new(SCSI_DEBUG).join("ndelay"), service.delay_ns)?;
    write(&Path::new(BLOCK_DEVICES).join(name).join("device/queue_depth"), service.queue)?;
    service.request_bytes.map_or(Ok(()), |bytes| set_largest_request(name, bytes))
}

fn make_null_blk(disk: &MachineDisk<'_>, name: &str) -> Result<(), String> {
    let driver = Path::new(CONFIGFS).join("nullb");
    if !driver.exists() {
        mount("none", CONFIGFS, "configfs", MountFlags::empty(), c"")
            .map_err(at(format!("mount {CONFIGFS}")))?;
    }
    let folder = driver.join(name);
    fs::create_dir(&folder).map_err(failed("make", &folder))?;
    let (spec, service) = (disk.spec, disk.service());
    let is_shared = spec.driver() == DiskDriver::Shared;
    if !is_shared {
        allow_large_requests(&folder)?;
    }
    // Other rates follow from the sizes of requests, and other delays are those of a mapping.
    let rate_mib = spec.rate_bytes_per_s.filter(|_| is_shared).unwrap_or(0) >> 20;
    let delay_ns = if spec.needs_mapper() { 0 } else { service.delay_ns };
    for (name, value) in [
        ("size", spec.size_bytes >> 20),
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

/// Requests are as large as the driver allows, which is less than 128 KiB without this.
fn allow_large_requests(folder: &Path) -> Result<(), String> {
    let path = folder.join("max_sectors");
    if !path.exists() {
        return Err(format!(
            "this kernel's null_blk has no {}, which a disk with a delay for each request needs \
             where scsi_debug does not simulate it; Linux 5.11 and later have it, and the models ssd \
             and nvme do without",
            path.display()
        ));
    }
    write(&path, LARGEST_NULL_BLK_BYTES / SECTOR_BYTES)
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
    use model::{DiskSpec, SecondDisk, SecondHolds};

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
        let mut machine = MachineSpec { disk: disk.clone(), ..MachineSpec::default() };
        let arguments = |machine: &MachineSpec| {
            module_arguments("scsi_debug.ko", machine).into_string().unwrap()
        };
        assert_eq!(arguments(&machine), "dev_size_mb=120 max_queue=1 ndelay=8000000");
        // Where reading and writing differ, the device mapper delays and the driver does not.
        machine.disk = DiskSpec { write_delay_ns: 0, rate_bytes_per_s: None, ..disk.clone() };
        assert_eq!(arguments(&machine), "dev_size_mb=120 max_queue=64 delay=0");
        DiskModel::Cloud.apply(&mut machine.disk);
        assert_eq!(arguments(&machine), "dev_size_mb=120 max_queue=3 ndelay=1000000");
        // With two disks, the one with the files counts.
        machine.disk = DiskSpec { size_bytes: 7 << 20, ..disk.clone() };
        machine.disk2 = Some(SecondDisk { disk, holds: SecondHolds::Files });
        assert_eq!(arguments(&machine), "dev_size_mb=120 max_queue=1 ndelay=8000000");
        assert_eq!(module_arguments("null_blk.ko", &machine).as_c_str(), c"nr_devices=0");
        assert_eq!(module_arguments("ext4.ko", &machine).as_c_str(), c"");
    }
}
