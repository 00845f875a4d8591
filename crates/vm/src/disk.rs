//! Settings of a machine's disk, and the modules of the kernel that it needs.

use kernels::Kernel;
use model::units::{parse_duration_ns, parse_size_bytes};
use model::{BurstSpec, DiskDriver, DiskModel, DiskSpec};

/// The driver of the simulated disk, and what mounts its files.
const MODULES: [&str; 3] = [SCSI_DEBUG, "sd_mod", "ext4"];
const SCSI_DEBUG: &str = "scsi_debug";
const NULL_BLK: &str = "null_blk";
/// The setting on which the others build.
pub(crate) const MODEL: &str = "disk.model";
const SMALLEST_FILES_BYTES: u64 = 16 << 20;
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
pub(crate) fn check(disk: &DiskSpec, swap_bytes: u64) -> Result<(), String> {
    let on_disk_bytes = if disk.has_zram() { 0 } else { swap_bytes };
    if disk.size_bytes < on_disk_bytes.saturating_add(SMALLEST_FILES_BYTES) {
        return Err("disk.size: the disk holds the swap area and at least 16M of files".to_owned());
    }
    if disk.has_zram() && swap_bytes == 0 {
        return Err(
            "disk.model=zram: it is a swap area in compressed memory: swap=SIZE, too".to_owned()
        );
    }
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

/// Whether a kernel has no `scsi_debug`, but `null_blk`, which does the same for a disk without
/// credits.
pub(crate) fn substitute(disk: &mut DiskSpec, kernel: &Kernel) {
    disk.lacks_scsi_debug =
        disk.burst.is_none() && !kernel.has_module(SCSI_DEBUG) && kernel.has_module(NULL_BLK);
}

/// The modules that a disk and its files need, and one that only some kernels need.
pub(crate) fn modules(disk: &DiskSpec) -> (Vec<&str>, Option<&str>) {
    let mut needed = match disk.driver() {
        DiskDriver::Shared | DiskDriver::Substitute => vec![NULL_BLK, "ext4"],
        DiskDriver::Delayed => MODULES.to_vec(),
        DiskDriver::Credited => [&MODULES[..], &["dm-mod"]].concat(),
    };
    needed.extend(disk.needs_mapper().then_some("dm-delay"));
    needed.extend(disk.has_zram().then_some("zram"));
    // Newer kernels have the compressors of zram in zram.
    (needed, disk.compressor.as_deref())
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
        ] {
            let found = parse_request(bad).unwrap_err();
            assert!(found.contains(name) && found.contains(why), "{bad}: {found}");
        }
        // Swap in compressed memory takes no room on the disk.
        assert!(parse_request("machine=micro,disk.size=32M,disk.model=zram").is_ok());
        assert!(parse_request("machine=micro,disk.size=32M").is_err());
    }

    #[test]
    fn a_disk_needs_what_simulates_it() {
        let needed = |settings: &str| {
            let disk = disk(settings);
            let (needed, optional) = modules(&disk);
            format!("{} {}", needed.join(" "), optional.unwrap_or("-"))
        };
        assert_eq!(needed("machine=micro"), "scsi_debug sd_mod ext4 -");
        assert_eq!(needed("disk.model=spindle"), "scsi_debug sd_mod ext4 -");
        assert_eq!(needed("disk.model=ssd"), "null_blk ext4 -");
        assert_eq!(needed("disk.model=cloud"), "scsi_debug sd_mod ext4 dm-mod -");
        assert_eq!(needed("disk.model=zram"), "scsi_debug sd_mod ext4 zram lzo-rle");
        let two = "disk.rate=0,disk.read_delay=1ms,disk.write_delay=2ms";
        assert_eq!(needed(two), "scsi_debug sd_mod ext4 dm-delay -");
    }
}
