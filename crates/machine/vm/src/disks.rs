//! The disks of a machine together: settings of a second one, what lies on which, and the modules of
//! the kernel that they need.

use kernels::Kernel;
use model::{
    DiskDriver, DiskModel, DiskModule, DiskSpec, MachineDisk, MachineSpec, SecondDisk, SecondHolds,
    swap_end_bytes,
};

use crate::disk;

/// The settings on which others build.
pub(crate) const MODELS: [&str; 2] = [disk::MODEL, "disk2.model"];
const SCSI_DEBUG: &str = "scsi_debug";
const NULL_BLK: &str = "null_blk";
const FIRST: &str = "disk.";
const SECOND: &str = "disk2.";
const MIB: u64 = 1 << 20;

/// Applies a setting of one of the disks; whether it is one. Fails for a bad value.
pub(crate) fn set(machine: &mut MachineSpec, key: &str, value: &str) -> Result<bool, String> {
    let Some(name) = key.strip_prefix(SECOND) else {
        return disk::set(&mut machine.disk, key, value);
    };
    let second = machine.disk2.get_or_insert_default();
    let is_zram = name == "model" && value == DiskModel::Zram.name();
    match name {
        "holds" => {
            second.holds = SecondHolds::named(value).map_err(|why| format!("{key}: {why}"))?;
            Ok(true)
        }
        _ if is_zram || name == "compressor" => Err(format!(
            "{key}: swap in compressed memory is on no disk: disk.model=zram, disk.compressor"
        )),
        _ => disk::set(&mut second.disk, &format!("{FIRST}{name}"), value).map_err(of_second),
    }
}

/// What is said of one disk, with the names of the second one's settings.
fn of_second(why: String) -> String {
    why.replace(FIRST, SECOND)
}

/// Fails for parameters that do not go together, with the names of their settings.
pub(crate) fn check(machine: &MachineSpec) -> Result<(), String> {
    if machine.disk.has_zram() && machine.swap_bytes == 0 {
        return Err(
            "disk.model=zram: it is a swap area in compressed memory: swap=SIZE, too".to_owned()
        );
    }
    let disks = machine.disks();
    disk::check_size(&machine.disk, disks[0].swap_bytes)?;
    disk::check(&machine.disk)?;
    match &machine.disk2 {
        Some(second) => check_second(machine, second),
        None => Ok(()),
    }
}

fn check_second(machine: &MachineSpec, second: &SecondDisk) -> Result<(), String> {
    let disk = &second.disk;
    let bare = DiskSpec {
        size_bytes: disk.size_bytes,
        file_system: disk.file_system,
        ..DiskSpec::default()
    };
    if *disk == bare {
        return Err(
            "disk2: which disk it is: disk2.model=NAME or disk2.delay=TIME, as of the first"
                .to_owned(),
        );
    }
    if second.holds == SecondHolds::Swap {
        check_swap_disk(machine, disk)?;
    } else {
        disk::check_size(disk, 0).map_err(of_second)?;
    }
    if machine.disk.burst.is_some() && disk.burst.is_some() {
        return Err(
            "disk2.model, disk2.iops: one of two disks has credits; the driver has one delay, \
                    which follows them"
                .to_owned(),
        );
    }
    disk::check(disk).map_err(of_second)
}

fn check_swap_disk(machine: &MachineSpec, disk: &DiskSpec) -> Result<(), String> {
    let next = "disk2.holds=files has the files on it instead";
    if machine.disk.has_zram() {
        return Err(format!("disk2.holds=swap: disk.model=zram has swap in memory; {next}"));
    }
    if machine.swap_bytes == 0 {
        return Err(format!("disk2.holds=swap: there is no swap: swap=SIZE, too; {next}"));
    }
    if disk.file_system.maker().is_some() {
        return Err(format!("disk2.fs: a disk of swap has no file system; {next}"));
    }
    let least_bytes = swap_end_bytes(machine.swap_bytes);
    if disk.size_bytes > 0 && disk.size_bytes < least_bytes {
        let least_mib = least_bytes / MIB;
        return Err(format!(
            "disk2.size: it holds the swap area and 1 MiB before it: disk2.size={least_mib}M or \
             more, or nothing, which is just that"
        ));
    }
    Ok(())
}

/// Gives a disk of swap the size that it needs, if it has none.
pub(crate) fn complete(machine: &mut MachineSpec) {
    let needed_bytes = swap_end_bytes(machine.swap_bytes);
    let second = machine.disk2.as_mut().filter(|second| second.holds == SecondHolds::Swap);
    if let Some(second) = second.filter(|second| second.disk.size_bytes == 0) {
        second.disk.size_bytes = needed_bytes;
    }
}

/// Fails for what needs a root where there is none: a program that makes a file system, and a first
/// disk that has nothing else.
pub(crate) fn check_root(machine: &MachineSpec, has_root: bool) -> Result<(), String> {
    if has_root {
        return Ok(());
    }
    disk::check_maker(&machine.disk)?;
    if let Some(second) = &machine.disk2 {
        disk::check_maker(&second.disk).map_err(of_second)?;
    }
    let is_used = |disk: &MachineDisk<'_>| disk.has_files || disk.swap_bytes > 0;
    match machine.disks().first().is_some_and(is_used) {
        true => Ok(()),
        false => {
            Err("disk2.holds=files: nothing is left for the first disk, which has swap and the \
                      root: swap=SIZE or root=NAME, too, or no second disk"
                .to_owned())
        }
    }
}

/// Has a kernel without `scsi_debug` simulate disks without credits by `null_blk`, if it has that.
pub(crate) fn substitute(machine: &mut MachineSpec, kernel: &Kernel) {
    let lacks_scsi_debug = !kernel.has_module(SCSI_DEBUG) && kernel.has_module(NULL_BLK);
    let second = machine.disk2.as_mut().map(|second| &mut second.disk);
    for disk in std::iter::once(&mut machine.disk).chain(second) {
        disk.lacks_scsi_debug = lacks_scsi_debug && disk.burst.is_none();
    }
}

/// The modules that disks and files need, and one that only some kernels need.
pub(crate) fn modules(machine: &MachineSpec) -> (Vec<&str>, Option<&str>) {
    let disks = machine.disks();
    let mut needed = Vec::new();
    for disk in &disks {
        match disk.module {
            DiskModule::ScsiDebug => needed.extend([SCSI_DEBUG, "sd_mod"]),
            DiskModule::NullBlk => needed.push(NULL_BLK),
        }
    }
    let file_systems = disks.iter().filter(|disk| disk.may_have_file_system());
    needed.extend(file_systems.map(|disk| disk.spec.file_system.name()));
    let has = |is: fn(&DiskSpec) -> bool| disks.iter().any(|disk| is(disk.spec));
    needed.extend(has(|disk| disk.driver() == DiskDriver::Credited).then_some("dm-mod"));
    needed.extend(has(DiskSpec::needs_mapper).then_some("dm-delay"));
    needed.extend(has(DiskSpec::has_zram).then_some("zram"));
    let mut once = Vec::new();
    for name in needed {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    // Newer kernels have the compressors of zram in zram.
    (once, machine.disk.compressor.as_deref())
}

#[cfg(test)]
mod tests {
    use crate::machine::{load, parse_description, parse_request};

    use super::*;

    const FILES: &str = "disk2.holds=files,disk2.size=64M";

    fn machine(settings: &str) -> MachineSpec {
        let request = parse_request(&format!("machine=micro,{settings}"));
        request.unwrap_or_else(|why| panic!("{settings}: {why}")).machine
    }

    #[test]
    fn a_second_disk_has_parameters_of_its_own() {
        let second = |settings: &str| machine(settings).disk2.unwrap();
        let found = second("disk2.delay=5ms,disk2.model=ssd");
        assert_eq!(found, second("disk2.model=ssd,disk2.delay=5ms"));
        assert_eq!((found.disk.read_delay_ns, found.disk.queue), (5_000_000, Some(8)));
        assert_eq!((found.holds, found.disk.size_bytes), (SecondHolds::Swap, 49 << 20));
        let found = second(&format!("disk2.delay=1ms,{FILES}"));
        assert_eq!((found.holds, found.disk.size_bytes), (SecondHolds::Files, 64 << 20));
        // What follows from the swap area follows from that of the request.
        assert_eq!(second("disk2.model=ssd,swap=8M").disk.size_bytes, 9 << 20);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two.toml").display().to_string();
        let text = "mem=\"48M\"\nkernel_mem=\"29M\"\nswap=\"20M\"\n[disk]\nsize=\"64M\"\n[disk2]\nmodel=\"nvme\"\ndelay=\"1ms\"";
        std::fs::write(&path, text).unwrap();
        let described = load(&path).unwrap().machine.disk2.unwrap().disk;
        assert_eq!((described.size_bytes, described.read_delay_ns), (21 << 20, 1_000_000));
        let swap = parse_request(&format!("machine={path},swap=30M")).unwrap().machine.disk2;
        assert_eq!(swap.unwrap().disk.size_bytes, 31 << 20);
        assert!(parse_description("x", &format!("{text}\nholds=\"all\"")).is_err());
    }

    #[test]
    fn the_first_disk_needs_no_room_for_what_is_on_the_second() {
        assert!(parse_request("machine=micro,disk.size=32M,disk2.model=ssd").is_ok());
        assert!(parse_request("machine=micro,disk.size=32M").is_err());
        let [one, two] = ["", "disk2.model=spindle"].map(|settings| machine(settings).ram_bytes());
        // The store, and 1/128, 1/64 and 1/512 of it in whole MiB.
        assert_eq!(two - one, (49 + 2) << 20);
    }

    #[test]
    fn bad_second_disks_are_refused_by_the_name_of_a_setting() {
        for (bad, name, why) in [
            ("disk2.holds=root", "disk2.holds", "swap, files"),
            ("disk2.model=zram", "disk2.model", "disk.model=zram"),
            ("disk2.compressor=lz4", "disk2.compressor", "disk.compressor"),
            ("disk2.model=floppy", "disk2.model", "nvme"),
            ("disk2.speed=1", "disk2.speed", "no setting"),
            ("disk2.holds=swap", "disk2:", "disk2.delay=TIME"),
            ("disk2.delay=1s", "disk2.delay", "less than 1s"),
            ("disk2.model=ssd,swap=0", "disk2.holds=swap", "disk2.holds=files"),
            ("disk2.model=ssd,disk.model=zram", "disk2.holds=swap", "in memory"),
            ("disk2.model=ssd,disk2.size=48M", "disk2.size", "disk2.size=49M"),
            ("disk2.model=ssd,disk2.holds=files", "disk2.size", "16M"),
            ("disk2.model=ssd,disk2.fs=xfs,root=x", "disk2.fs", "no file system"),
            (
                "disk2.model=ssd,disk2.fs=xfs,disk2.holds=files,disk2.size=400M",
                "disk2.fs=xfs",
                "root=debian:13,xfsprogs",
            ),
            ("disk2.model=ssd,disk2.holds=files,disk2.size=64M,swap=0", "disk2.holds", "root=NAME"),
            ("disk.model=cloud,disk2.model=cloud", "disk2.iops", "credits"),
        ] {
            let found = parse_request(&format!("machine=micro,{bad}")).unwrap_err();
            assert!(found.contains(name) && found.contains(why), "{bad}: {found}");
        }
    }

    #[test]
    fn disks_need_what_simulates_them() {
        let needed = |settings: &str| {
            let machine = machine(settings);
            let (needed, optional) = modules(&machine);
            format!("{} {}", needed.join(" "), optional.unwrap_or("-"))
        };
        assert_eq!(needed(""), "scsi_debug sd_mod ext4 -");
        assert_eq!(needed("disk.model=spindle"), "scsi_debug sd_mod ext4 -");
        assert_eq!(needed("disk.model=ssd"), "null_blk ext4 -");
        assert_eq!(needed("disk.model=cloud"), "scsi_debug sd_mod ext4 dm-mod -");
        assert_eq!(needed("disk.model=zram"), "scsi_debug sd_mod ext4 zram lzo-rle");
        let two = "disk.rate=0,disk.read_delay=1ms,disk.write_delay=2ms";
        assert_eq!(needed(two), "scsi_debug sd_mod ext4 dm-delay -");
        assert_eq!(needed("disk.size=400M,disk.fs=xfs,root=x"), "scsi_debug sd_mod xfs -");
        assert_eq!(needed("disk2.delay=1ms"), "scsi_debug sd_mod null_blk ext4 -");
        assert_eq!(needed("disk.model=ssd,disk2.model=nvme"), "null_blk ext4 -");
        let xfs = "disk2.delay=1ms,disk2.holds=files,disk2.fs=xfs,disk2.size=301M,root=x";
        assert_eq!(needed(xfs), "null_blk scsi_debug sd_mod ext4 xfs -");
    }
}
