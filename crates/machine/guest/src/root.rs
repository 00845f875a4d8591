//! The root of a guest with programs of its own: its archive is unpacked while the machine boots, and
//! the first process moves into it before the pause.

mod unpack;

use std::ffi::{CStr, CString};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use model::{MachineSpec, RootPlace};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_move, unmount};
use rustix::process::{chdir, chroot};
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};
use sys::fw_cfg_dma::FwCfgFile;

use crate::at;
use crate::disk::WORK_DIR;
use crate::fw_cfg;
use crate::protocol::{OVERLAY_DIR, PROGRAM, ROOT_FILE, RootSetup};

/// Where the file systems of the disks are while the root is put together.
const DISK_DIR: &str = "/disk";
const SECOND_DISK_DIR: &str = "/disk2";
const MEMORY_DIR: &str = "/memory";
const CHANGES_DIR: &str = "/changes";
const VIEW_DIR: &str = "/view";
/// What is mounted already and moves along.
const MOVED: [&str; 3] = ["proc", "sys", "dev"];
/// Links of `/dev` that udev makes elsewhere.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// The environment of programs, which an image may change.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/root"),
    ("USER", "root"),
    ("SHELL", "/bin/sh"),
    ("LANG", "C.UTF-8"),
];
/// Where the overlay is while it is copied.
const MOVED_OVERLAY: &str = "run/overlay";
const DAY_S: u64 = 86_400;
/// Times of files are 32-bit numbers, as in some file systems.
const LATEST_S: u64 = u32::MAX as u64;
const EMPTY_CACHES: &str = "3";
/// Whether memory compaction moves locked pages; absent in kernels without compaction.
const COMPACTION: &str = "/proc/sys/vm/compact_unevictable_allowed";

/// The environment of programs in a root.
pub(crate) fn environment(setup: &RootSetup) -> impl Iterator<Item = (&str, &str)> {
    let own = setup.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    ENVIRONMENT.into_iter().chain(own)
}

/// Where the file systems of a machine's disks are mounted at first. A first disk with neither root nor
/// files has none.
pub(crate) fn disk_folders(machine: &MachineSpec, has_root: bool) -> [Option<&'static str>; 2] {
    match (has_root, second_has_files(machine)) {
        (false, false) => [Some(WORK_DIR), None],
        (false, true) => [None, Some(WORK_DIR)],
        (true, false) => [Some(DISK_DIR), None],
        (true, true) => [Some(DISK_DIR), Some(SECOND_DISK_DIR)],
    }
}

fn second_has_files(machine: &MachineSpec) -> bool {
    machine.disks().iter().any(|disk| disk.number == 2 && disk.has_files)
}

/// Unpacks the root, puts it together and makes it this process's. The disk is mounted at
/// [`DISK_DIR`], and a second one with the files of runs at [`SECOND_DISK_DIR`]. The error names the
/// step.
pub(crate) fn enter(setup: &RootSetup, machine: &MachineSpec) -> Result<(), String> {
    set_clock(setup.newest_s).map_err(at("set the clock"))?;
    let disk = Path::new(DISK_DIR);
    let lower = match setup.files {
        RootPlace::Disk => disk.to_owned(),
        // Without a limit, and never swapped.
        RootPlace::Memory => mounted("ramfs", MEMORY_DIR, c"mode=0755")?,
    };
    let (key, size_bytes) = fw_cfg::find(ROOT_FILE).map_err(at("find the root"))?;
    let file = FwCfgFile::open(key, size_bytes.into()).map_err(at("read the root"))?;
    without_compaction(|| unpack::unpack(file, &lower))?;
    let second = second_has_files(machine).then_some(Path::new(SECOND_DISK_DIR));
    let root = put_together(setup, &lower, disk, second)?;
    furnish(&root).map_err(at("prepare the root"))?;
    let overlay = Path::new(OVERLAY_DIR);
    let has_overlay = overlay.is_dir();
    if has_overlay {
        fs::create_dir(root.join(MOVED_OVERLAY)).map_err(at("make a place for the overlay"))?;
        mount_bind(overlay, root.join(MOVED_OVERLAY)).map_err(at("move the overlay"))?;
    }
    move_into(&root).map_err(at("move into the root"))?;
    // From here on, links of the root lead to places in the root.
    complete(&machine.name).map_err(at("complete the root"))?;
    if has_overlay {
        let from = Path::new("/").join(MOVED_OVERLAY);
        lay_over(&from, Path::new("/"))?;
        unmount(&from, UnmountFlags::DETACH).map_err(at("leave the overlay"))?;
    }
    // What was written while it was unpacked would be read from memory.
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", EMPTY_CACHES).map_err(at("empty the caches"))
}

/// Runs this while locked pages stay where they are: the device that hands over the root writes to
/// their physical addresses.
fn without_compaction(work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let Ok(default) = fs::read(COMPACTION) else { return work() };
    fs::write(COMPACTION, "0").map_err(at("turn compaction of locked pages off"))?;
    work()?;
    fs::write(COMPACTION, default).map_err(at("turn compaction of locked pages on"))
}

/// Sets the clock to the midnight after the newest file, for programs such as `make`, which complain
/// about files that are newer than the current time.
fn set_clock(newest_s: u64) -> io::Result<()> {
    let now = clock_gettime(ClockId::Realtime);
    match i64::try_from(midnight_after(newest_s)) {
        Ok(tv_sec) if tv_sec > now.tv_sec => {
            Ok(clock_settime(ClockId::Realtime, Timespec { tv_sec, tv_nsec: 0 })?)
        }
        _ => Ok(()),
    }
}

/// Files that claim to be newer than [`LATEST_S`] do not count.
fn midnight_after(newest_s: u64) -> u64 {
    (newest_s.min(LATEST_S) / DAY_S + 1) * DAY_S
}

fn mounted(kind: &str, folder: &str, options: &CStr) -> Result<PathBuf, String> {
    fs::create_dir_all(folder).map_err(at(format!("make {folder}")))?;
    mount("none", folder, kind, MountFlags::empty(), options)
        .map_err(at(format!("mount {folder}")))?;
    Ok(PathBuf::from(folder))
}

/// The folder of the root, with the [`WORK_DIR`] of a disk in it, which is all of a second one.
fn put_together(
    setup: &RootSetup,
    lower: &Path,
    disk: &Path,
    second: Option<&Path>,
) -> Result<PathBuf, String> {
    let changes = match (setup.files, setup.changes) {
        (files, changes) if files == changes => None,
        (_, RootPlace::Disk) => Some(disk.join("changes")),
        (_, RootPlace::Memory) => Some(mounted("tmpfs", CHANGES_DIR, c"mode=0755,size=100%")?),
    };
    let root = match changes {
        None => lower.to_owned(),
        Some(changes) => {
            let [upper, work] = ["upper", "work"].map(|name| changes.join(name));
            for folder in [&upper, &work] {
                fs::create_dir_all(folder).map_err(at(format!("make {}", folder.display())))?;
            }
            let (lower, upper, work) = (lower.display(), upper.display(), work.display());
            let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
            let options = CString::new(options).map_err(at("name the root's folders"))?;
            mounted("overlay", VIEW_DIR, &options)?
        }
    };
    let inside = root.join(&WORK_DIR[1..]);
    own_directory(&inside).map_err(at(format!("make {}", inside.display())))?;
    if let Some(second) = second {
        mount_bind(second, &inside).map_err(at(format!("mount {WORK_DIR}")))?;
    } else if root != disk {
        let work = disk.join(&WORK_DIR[1..]);
        fs::create_dir_all(&work).map_err(at(format!("make {}", work.display())))?;
        mount_bind(&work, &inside).map_err(at(format!("mount {WORK_DIR}")))?;
    }
    Ok(root)
}

/// Makes a directory, in the place of anything else. A symbolic link of the root is not followed: it
/// would lead out of the root, which is not yet this process's own.
fn own_directory(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => return Ok(()),
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    DirBuilder::new().mode(0o755).create(path)
}

/// What has to be there before the root is entered: mount points, devices, this program.
fn furnish(root: &Path) -> io::Result<()> {
    for folder in MOVED.into_iter().chain(["run"]) {
        own_directory(&root.join(folder))?;
    }
    refresh_run(&root.join("run"))?;
    for (name, target) in DEVICE_LINKS {
        if let Err(error) = symlink(target, Path::new("/dev").join(name))
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
    }
    for (folder, kind, options) in
        [("/dev/pts", "devpts", c"mode=0620,ptmxmode=0666"), ("/dev/shm", "tmpfs", c"mode=1777")]
    {
        fs::create_dir_all(folder)?;
        mount(kind, folder, kind, MountFlags::empty(), options)?;
    }
    let program = root.join(&PROGRAM[1..]);
    // It may be a link.
    let _ = fs::remove_file(&program);
    fs::write(&program, [])?;
    Ok(mount_bind(PROGRAM, &program)?)
}

/// What every system has besides its files: names, and directories that programs expect.
fn complete(host_name: &str) -> io::Result<()> {
    for folder in ["/tmp", "/etc", "/root"] {
        // A link to a directory of the root is as good.
        if !Path::new(folder).is_dir() {
            own_directory(Path::new(folder))?;
        }
    }
    fs::set_permissions("/tmp", Permissions::from_mode(0o1777))?;
    let hosts = format!("127.0.0.1 localhost {host_name}\n::1 localhost\n");
    for (name, text) in [
        ("etc/hostname", format!("{host_name}\n")),
        ("etc/hosts", hosts),
        // No name server answers: without one in this file, programs do not wait for it.
        ("etc/resolv.conf", String::new()),
    ] {
        let path = Path::new("/").join(name);
        // It may be a link to where some service would write it.
        let _ = fs::remove_file(&path);
        fs::write(path, text)?;
    }
    Ok(())
}

/// Empties `/run` but for its folders, which are made at boot elsewhere.
fn refresh_run(run: &Path) -> io::Result<()> {
    let mut folders = Vec::new();
    collect_folders(run, Path::new(""), &mut folders)?;
    mount("tmpfs", run, "tmpfs", MountFlags::empty(), c"mode=0755")?;
    for (path, facts) in folders {
        let path = run.join(path);
        fs::create_dir(&path)?;
        chown(&path, Some(facts.uid()), Some(facts.gid()))?;
        fs::set_permissions(&path, facts.permissions())?;
    }
    Ok(())
}

fn collect_folders(
    run: &Path,
    inside: &Path,
    found: &mut Vec<(PathBuf, fs::Metadata)>,
) -> io::Result<()> {
    let entries = fs::read_dir(run.join(inside))?.collect::<io::Result<Vec<_>>>()?;
    for entry in entries {
        let facts = entry.metadata()?;
        if facts.is_dir() {
            let inside = inside.join(entry.file_name());
            found.push((inside.clone(), facts));
            collect_folders(run, &inside, found)?;
        }
    }
    Ok(())
}

/// As `switch_root(8)`: the first root of a machine cannot be left otherwise.
fn move_into(root: &Path) -> io::Result<()> {
    for name in MOVED {
        mount_move(Path::new("/").join(name), root.join(name))?;
    }
    chdir(root)?;
    mount_move(".", "/")?;
    chroot(".")?;
    Ok(chdir("/")?)
}

/// Copies files over those of the root, and frees their memory. The error names the file.
fn lay_over(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path| at(format!("lay over {}", path.display()));
    let entries = fs::read_dir(from).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in entries.map_err(failed(to))? {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let facts = entry.metadata().map_err(failed(&target))?;
        if facts.is_dir() {
            if !target.is_dir() {
                fs::create_dir(&target).map_err(failed(&target))?;
            }
            lay_over(&path, &target)?;
            continue;
        }
        let _ = fs::remove_file(&target);
        let copied = match facts.is_symlink() {
            true => fs::read_link(&path).and_then(|link| symlink(link, &target)),
            false => fs::copy(&path, &target).map(drop),
        };
        copied.and_then(|()| fs::remove_file(&path)).map_err(failed(&target))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_after_the_newest_file_and_never_overflows() {
        assert_eq!(midnight_after(0), DAY_S);
        assert_eq!(midnight_after(DAY_S), 2 * DAY_S);
        assert!(midnight_after(u64::MAX) > LATEST_S);
        assert!(midnight_after(u64::MAX) < LATEST_S + 2 * DAY_S);
    }

    #[test]
    fn links_of_a_root_are_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (outside, inside) = (folder.path().join("outside"), folder.path().join("inside"));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "").unwrap();
        symlink(&outside, &inside).unwrap();
        own_directory(&inside).unwrap();
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
        assert!(!fs::symlink_metadata(&inside).unwrap().is_symlink());
        own_directory(&outside).unwrap();
        assert!(outside.join("file").exists(), "a directory stays as it is");
    }
}
