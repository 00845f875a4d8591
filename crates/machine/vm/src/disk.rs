//! Settings of a disk.

use model::units::{parse_duration_ns, parse_size_bytes};
use model::{BurstSpec, DiskDriver, DiskModel, DiskSpec, FileSystem, swap_end_bytes};

/// The setting on which the others build.
pub(crate) const MODEL: &str = "disk.model";
const MIB: u64 = 1 << 20;
const SMALLEST_FILES_BYTES: u64 = 16 * MIB;
/// The limit of `mkfs.xfs` since 5.19, and what `mkfs.btrfs` needs for two copies of its trees.
const SMALLEST_XFS_BYTES: u64 = 300 * MIB;
const SMALLEST_BTRFS_BYTES: u64 = 128 * MIB;
/// Most requests at a time: the limit of `scsi_debug`.
const MOST_REQUESTS: u64 = 192;
/// The unit in which `null_blk` has its rate, and how many of them make a part of one negligible.
const SHARED_RATE_UNIT: u64 = 1 << 20;
const EXACT_UNITS: u64 = 64;
/// `scsi_debug` delays a request by less than 1 s.
const SLOWEST_IOPS: u64 = 2;
const LONGEST_DELAY_NS: u64 = 999_999_999;
const MOST_IOPS: u64 = 1_000_000;
const MOST_CREDITS: u64 = 1_000_000_000_000;
/// Compressors that `zram` may have.
const COMPRESSORS: [&str; 7] = ["lzo", "lzo-rle", "lz4", "lz4hc", "zstd", "deflate", "842"];

/// Applies a setting of a disk; whether it is one. Fails for a bad value.
pub(crate) fn set(disk: &mut DiskSpec, key: &str, value: &str) -> Result<bool, String> {
    let failed = |why: String| format!("{key}: {why}");
    let size = || parse_size_bytes(value).map_err(failed);
    let time = || parse_duration_ns(value).map_err(failed);
    let count = |least: u64, most: u64| {
        let count = value.parse().ok().filter(|count| (least..=most).contains(count));
        count.ok_or_else(|| failed(format!("a whole number from {least} to {most}")))
    };
    let none = BurstSpec { iops: 0, burst_iops: 0, credits: 0 };
    match key {
        MODEL => DiskModel::named(value).map_err(failed)?.apply(disk),
        "disk.size" => disk.size_bytes = size()?,
        "disk.delay" => (disk.read_delay_ns, disk.write_delay_ns) = (time()?, time()?),
        "disk.read_delay" => disk.read_delay_ns = time()?,
        "disk.write_delay" => disk.write_delay_ns = time()?,
        "disk.rate" => disk.rate_bytes_per_s = Some(size()?).filter(|rate| *rate > 0),
        "disk.queue" => disk.queue = Some(count(1, MOST_REQUESTS)? as u32),
        "disk.iops" => {
            disk.burst.get_or_insert(none).iops = count(SLOWEST_IOPS, MOST_IOPS)?;
        }
        "disk.burst_iops" => {
            disk.burst.get_or_insert(none).burst_iops = count(SLOWEST_IOPS, MOST_IOPS)?;
        }
        "disk.burst_credits" => {
            disk.burst.get_or_insert(none).credits = count(1, MOST_CREDITS)?;
        }
        "disk.fs" => disk.file_system = FileSystem::named(value).map_err(failed)?,
        "disk.compressor" if COMPRESSORS.contains(&value) => {
            disk.compressor = Some(value.to_owned());
        }
        "disk.compressor" => {
            return Err(failed(format!("choose from {}", COMPRESSORS.join(", "))));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Fails for parameters that do not go together, with the names of their settings.
pub(crate) fn check(disk: &DiskSpec) -> Result<(), String> {
    if disk.compressor.is_some() && !disk.has_zram() {
        return Err("disk.compressor: only disk.model=zram compresses".to_owned());
    }
    if disk.read_delay_ns.max(disk.write_delay_ns) > LONGEST_DELAY_NS && !disk.needs_mapper() {
        return Err("disk.delay: less than 1s, which is the driver's limit".to_owned());
    }
    // The driver takes whole units; large rates lose little.
    if disk.driver() == DiskDriver::Shared
        && disk.rate_bytes_per_s.is_some_and(|rate| {
            rate < SHARED_RATE_UNIT * EXACT_UNITS && rate % SHARED_RATE_UNIT != 0
        })
    {
        return Err("disk.rate: whole MiB, or at least 64M, for several requests at a time; \
                    disk.queue=1 has any"
            .to_owned());
    }
    if disk.needs_mapper() {
        check_two_delays(disk)?;
    }
    disk.burst.map_or(Ok(()), |burst| check_burst(disk, burst))
}

/// Fails for a disk without room for swap and files.
pub(crate) fn check_size(disk: &DiskSpec, swap_bytes: u64) -> Result<(), String> {
    let name = disk.file_system.name();
    let least_files_bytes = match disk.file_system {
        FileSystem::Ext4 if disk.size_bytes >= swap_bytes.saturating_add(SMALLEST_FILES_BYTES) => {
            return Ok(());
        }
        FileSystem::Ext4 => {
            let swap = if swap_bytes > 0 { "the swap area and " } else { "" };
            return Err(format!("disk.size: the disk holds {swap}at least 16M of files"));
        }
        FileSystem::Xfs => SMALLEST_XFS_BYTES,
        FileSystem::Btrfs => SMALLEST_BTRFS_BYTES,
    };
    let least_bytes = swap_end_bytes(swap_bytes).saturating_add(least_files_bytes);
    if disk.size_bytes >= least_bytes {
        return Ok(());
    }
    let [files_mib, least_mib] = [least_files_bytes, least_bytes].map(|bytes| bytes / MIB);
    Err(format!(
        "disk.size: {name} has at least {files_mib}M, besides swap and the first MiB: \
         disk.size={least_mib}M or more"
    ))
}

fn check_two_delays(disk: &DiskSpec) -> Result<(), String> {
    let one_delay = [
        ("disk.rate", disk.rate_bytes_per_s.is_some(), "with a rate"),
        ("disk.queue", disk.queue.is_some(), "with a queue"),
        ("disk.iops", disk.burst.is_some(), "with credits"),
    ];
    if let Some((name, _, which)) = one_delay.iter().find(|(_, is_set, _)| *is_set) {
        return Err(format!("{name}: a disk {which} has one delay, disk.delay"));
    }
    if [disk.read_delay_ns, disk.write_delay_ns].iter().any(|delay| delay % 1_000_000 != 0) {
        return Err("disk.read_delay, disk.write_delay: whole milliseconds, where they are not \
                    the same"
            .to_owned());
    }
    Ok(())
}

fn check_burst(disk: &DiskSpec, burst: BurstSpec) -> Result<(), String> {
    if [burst.iops, burst.burst_iops, burst.credits].contains(&0) {
        return Err("disk.iops, disk.burst_iops, disk.burst_credits: a disk with credits has all \
                    three"
            .to_owned());
    }
    if disk.queue.is_some() {
        return Err(
            "disk.queue: with credits it follows from disk.burst_iops and disk.delay".to_owned()
        );
    }
    if burst.burst_iops <= burst.iops {
        return Err(format!("disk.burst_iops: more than disk.iops, which is {}", burst.iops));
    }
    let service = disk.service();
    if service.delay_ns > LONGEST_DELAY_NS {
        return Err(
            "disk.delay: with this disk.burst_iops a request takes 1s or more, which is the \
                    driver's limit"
                .to_owned(),
        );
    }
    let queue = service.queue;
    if u64::from(queue) > MOST_REQUESTS {
        return Err(format!(
            "disk.burst_iops: with this disk.delay it takes {queue} requests at a time; there are \
             at most {MOST_REQUESTS}"
        ));
    }
    Ok(())
}

/// Fails for a file system that a program of a root makes; for machines without a root.
pub(crate) fn check_maker(disk: &DiskSpec) -> Result<(), String> {
    let (name, maker) = (disk.file_system.name(), disk.file_system.maker());
    let Some((program, package)) = maker else { return Ok(()) };
    Err(format!(
        "disk.fs={name}: {program} of the guest's root makes it: root=debian:13,{package}, too, or \
         another root that has this program"
    ))
}

#[cfg(test)]
mod tests {
    use crate::machine::{parse_description, parse_request};

    use super::*;

    fn disk(settings: &str) -> DiskSpec {
        parse_request(settings).unwrap_or_else(|why| panic!("{settings}: {why}")).machine.disk
    }

    #[test]
    fn settings_override_the_model_wherever_they_are() {
        let before = disk("machine=micro,disk.delay=5ms,disk.model=ssd");
        assert_eq!(before, disk("machine=micro,disk.model=ssd,disk.delay=5ms"));
        assert_eq!((before.read_delay_ns, before.queue), (5_000_000, Some(8)));
        // What the description of the machine says is replaced by the model.
        assert_eq!(disk("machine=micro,disk.model=ssd").read_delay_ns, 77_000);
        let text =
            "mem=\"48M\"\nkernel_mem=\"29M\"\n[disk]\nsize=\"64M\"\ndelay=\"9ms\"\nmodel=\"nvme\"";
        let machine = parse_description("x", text).unwrap().machine;
        assert_eq!((machine.disk.read_delay_ns, machine.disk.queue), (9_000_000, Some(29)));
        let cloud = disk("disk.model=cloud,disk.burst_credits=7").burst.unwrap();
        assert_eq!((cloud.iops, cloud.burst_iops, cloud.credits), (100, 3000, 7));
        let zram = disk("machine=micro,disk.model=zram,disk.compressor=zstd");
        assert_eq!((zram.read_delay_ns, zram.compressor.as_deref()), (2_000_000, Some("zstd")));
    }

    #[test]
    fn bad_disks_are_refused_by_the_name_of_a_setting() {
        for (bad, name, why) in [
            ("disk.model=floppy", "disk.model", "spindle, ssd, nvme, cloud, zram"),
            ("disk.queue=0", "disk.queue", "from 1 to 192"),
            ("disk.queue=193", "disk.queue", "from 1 to 192"),
            ("disk.iops=1", "disk.iops", "from 2"),
            ("disk.burst_iops=x", "disk.burst_iops", "from 2"),
            ("disk.burst_credits=0", "disk.burst_credits", "from 1"),
            ("disk.iops=10", "disk.burst_credits", "all three"),
            ("disk.model=cloud,disk.queue=2", "disk.queue", "follows from"),
            ("disk.model=cloud,disk.iops=3000", "disk.burst_iops", "which is 3000"),
            ("disk.model=cloud,disk.delay=100ms", "disk.burst_iops", "at most 192"),
            ("disk.model=cloud,disk.read_delay=7ms", "disk.rate", "one delay"),
            ("disk.rate=0,disk.queue=3,disk.read_delay=7ms", "disk.queue", "one delay"),
            ("disk.queue=3,disk.rate=1000", "disk.rate", "whole MiB"),
            ("disk.queue=2,disk.rate=1900K", "disk.rate", "whole MiB"),
            (
                "disk.model=cloud,disk.iops=2,disk.burst_iops=3,disk.delay=999999999ns",
                "disk.delay",
                "1s or more",
            ),
            ("disk.delay=1s", "disk.delay", "less than 1s"),
            ("disk.compressor=lz4", "disk.compressor", "disk.model=zram"),
            ("disk.model=zram,disk.compressor=zip", "disk.compressor", "zstd"),
            ("disk.model=zram,swap=0", "disk.model=zram", "swap=SIZE"),
            ("disk.fs=zfs", "disk.fs", "ext4, xfs, btrfs"),
            ("disk.fs=xfs,disk.size=1G", "disk.fs=xfs", "root=debian:13,xfsprogs"),
            ("disk.fs=btrfs", "mkfs.btrfs", "root=debian:13,btrfs-progs"),
        ] {
            let found = parse_request(bad).unwrap_err();
            assert!(found.contains(name) && found.contains(why), "{bad}: {found}");
        }
        // Swap in compressed memory takes no room on the disk.
        assert!(parse_request("machine=micro,disk.size=32M,disk.model=zram").is_ok());
        assert!(parse_request("machine=micro,disk.size=32M").is_err());
    }

    #[test]
    fn file_systems_have_smallest_sizes() {
        let parsed = |settings: &str| parse_request(&format!("machine=micro,{settings}"));
        for (settings, least_mib) in [
            ("disk.fs=xfs,swap=48M", 349),
            ("disk.fs=xfs,swap=0", 301),
            ("disk.fs=xfs,disk.model=zram", 301),
            ("disk.fs=btrfs,swap=1025K", 131),
        ] {
            let with = |mib: u64| parsed(&format!("{settings},disk.size={mib}M,root=x"));
            let why = with(least_mib - 1).unwrap_err();
            assert!(why.contains(&format!("disk.size={least_mib}M or more")), "{why}");
            assert!(with(least_mib).is_ok(), "{settings}");
        }
        // A model sets parameters of the device only, and a description has no root.
        let text =
            "mem=\"48M\"\nkernel_mem=\"29M\"\n[disk]\nsize=\"400M\"\nmodel=\"ssd\"\nfs=\"xfs\"";
        let disk = parse_description("x", text).unwrap().machine.disk;
        assert_eq!((disk.file_system, disk.queue), (FileSystem::Xfs, Some(8)));
    }
}
