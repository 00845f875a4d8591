//! Booted machines: a guest is booted once until it pauses itself, and every cell goes on from
//! there with a private copy of its memory.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guest::{Notice, Setup};
use serde::{Deserialize, Serialize};

use crate::guest_process::{GuestProcess, Launch, Said, Start};
use crate::qemu::{Console, Qemu};
use crate::qmp::Event;
use crate::{Stop, VmError};

const KERNEL: &str = "kernel";
const INITRAMFS: &str = "initramfs";
const MEMORY: &str = "memory";
const DEVICES: &str = "devices";
const MANIFEST: &str = "manifest.json";
/// Files that a snapshot consists of.
const FILES: [&str; 4] = [KERNEL, INITRAMFS, MEMORY, DEVICES];
/// How long a boot may take on a busy host.
const BOOT_LIMIT: Duration = Duration::from_secs(300);
const TICK: Duration = Duration::from_millis(20);
const PAGE_BYTES: usize = 4096;
/// How names of folders end that are not complete yet.
const PART: &str = ".part";
/// Unfinished folders that are older belong to nobody any more.
const PART_AGE: Duration = Duration::from_secs(3600);

/// A booted machine in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    folder: PathBuf,
}

/// What the files of a snapshot were when it was made; whoever finds them different makes it anew.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    files: Vec<(String, FileFacts)>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileFacts {
    size_bytes: u64,
    modified_s: i64,
    modified_ns: i64,
    inode: u64,
}

/// What a guest is booted from.
pub(crate) struct Ingredients<'a> {
    pub(crate) qemu: &'a Qemu,
    pub(crate) setup: &'a Setup,
    /// The kernel as QEMU loads it.
    pub(crate) kernel: &'a [u8],
    pub(crate) initramfs: &'a [u8],
    pub(crate) console: Console,
}

impl Snapshot {
    /// The snapshot of this key, if it is whole.
    pub(crate) fn find(snapshots: &Path, key: &str) -> Option<Self> {
        let found = Self { folder: snapshots.join(key) };
        let kept = fs::read(found.folder.join(MANIFEST)).ok()?;
        let kept: Manifest = serde_json::from_slice(&kept).ok()?;
        (Manifest::of(&found.folder).ok()? == kept).then_some(found)
    }

    /// Boots a guest until it pauses itself, and keeps it under this key.
    pub(crate) fn make(
        snapshots: &Path,
        key: &str,
        from: &Ingredients<'_>,
        stop: Stop<'_>,
    ) -> Result<Self, VmError> {
        let failed = |source| VmError::Cache { path: snapshots.to_owned(), source };
        fs::create_dir_all(snapshots).map_err(failed)?;
        sweep(snapshots);
        let made = Unfinished(snapshots.join(format!("{key}.{}{PART}", std::process::id())));
        // What a killed process of the same number had left.
        let _ = fs::remove_dir_all(&made.0);
        fs::create_dir(&made.0).map_err(failed)?;
        write_parts(&made.0, from).map_err(failed)?;
        let mut guest = boot(from, &made.0)?;
        await_pause(&mut guest, stop)?;
        let devices = File::create_new(made.0.join(DEVICES)).map_err(failed)?;
        guest.save(&devices).map_err(VmError::Qemu)?;
        drop(guest);
        dig_holes(&made.0.join(MEMORY)).map_err(failed)?;
        let manifest = Manifest::of(&made.0).map_err(failed)?;
        let text = serde_json::to_vec(&manifest).map_err(|error| failed(error.into()))?;
        fs::write(made.0.join(MANIFEST), text).map_err(failed)?;
        publish(&made.0, snapshots, key).map_err(failed)?;
        Ok(Self { folder: snapshots.join(key) })
    }

    /// Starts a guest that goes on from here with a cell.
    pub(crate) fn restore(
        &self,
        qemu: &Qemu,
        setup: &Setup,
        cell: &[u8],
    ) -> io::Result<GuestProcess> {
        let mut guest = GuestProcess::start(&Launch {
            qemu,
            setup,
            cell,
            kernel: &self.folder.join(KERNEL),
            initramfs: &self.folder.join(INITRAMFS),
            memory: &self.folder.join(MEMORY),
            start: Start::Restore,
            console: Console::Quiet,
        })?;
        guest.restore(&File::open(self.folder.join(DEVICES))?)?;
        Ok(guest)
    }
}

/// A folder that is removed unless it has become a snapshot.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Gives a finished folder its name, unless somebody else was faster.
fn publish(made: &Path, snapshots: &Path, key: &str) -> io::Result<()> {
    // One at a time: what another process has just put there is in use, and not damaged.
    let lock = File::open(snapshots)?;
    lock.lock()?;
    if Snapshot::find(snapshots, key).is_some() {
        return Ok(());
    }
    let folder = snapshots.join(key);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(made, &folder),
    }
}

/// Removes what processes that were killed have left behind.
fn sweep(snapshots: &Path) {
    for entry in fs::read_dir(snapshots).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|facts| facts.modified());
        let age = modified.ok().and_then(|time| time.elapsed().ok());
        let is_part = entry.file_name().to_string_lossy().ends_with(PART);
        if is_part && age.is_some_and(|age| age > PART_AGE) {
            // What cannot be removed now is tried again next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Writes what QEMU boots from.
pub(crate) fn write_parts(folder: &Path, from: &Ingredients<'_>) -> io::Result<()> {
    fs::write(folder.join(KERNEL), from.kernel)?;
    fs::write(folder.join(INITRAMFS), from.initramfs)
}

/// Starts a guest from these files, with its memory in a new one.
pub(crate) fn boot(from: &Ingredients<'_>, folder: &Path) -> Result<GuestProcess, VmError> {
    GuestProcess::start(&Launch {
        qemu: from.qemu,
        setup: from.setup,
        cell: &[],
        kernel: &folder.join(KERNEL),
        initramfs: &folder.join(INITRAMFS),
        memory: &folder.join(MEMORY),
        start: Start::Boot,
        console: from.console,
    })
    .map_err(VmError::Qemu)
}

/// Waits until a guest pauses the machine.
fn await_pause(guest: &mut GuestProcess, stop: Stop<'_>) -> Result<(), VmError> {
    let until = Instant::now() + BOOT_LIMIT;
    loop {
        let event = guest.event(TICK).map_err(VmError::Qemu)?;
        for said in guest.said().map_err(VmError::Qemu)? {
            if let Said::Notice(Notice::Failed(why)) = said {
                return Err(VmError::Boot(why));
            }
        }
        match event {
            Event::Paused => return Ok(()),
            Event::Ended => return Err(VmError::Boot(guest.autopsy("it ended while it booted"))),
            _ if stop() => return Err(VmError::Interrupted),
            _ if Instant::now() > until => {
                let how = format!("it did not boot within {} s", BOOT_LIMIT.as_secs());
                return Err(VmError::Boot(guest.autopsy(&how)));
            }
            _ => {}
        }
    }
}

impl Manifest {
    fn of(folder: &Path) -> io::Result<Self> {
        let facts = |name: &&str| {
            let found = fs::metadata(folder.join(name))?;
            let facts = FileFacts {
                size_bytes: found.len(),
                modified_s: found.mtime(),
                modified_ns: found.mtime_nsec(),
                inode: found.ino(),
            };
            Ok(((*name).to_owned(), facts))
        };
        FILES.iter().map(facts).collect::<io::Result<_>>().map(|files| Self { files })
    }
}

/// Gives back what pages of zeros take on the disk; what the file reads as stays the same.
fn dig_holes(path: &Path) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    let file = File::options().read(true).write(true).open(path)?;
    let size_bytes = file.metadata()?.len();
    let mut chunk = vec![0; 256 * PAGE_BYTES];
    let mut offset = 0;
    while offset < size_bytes {
        let part = chunk.len().min((size_bytes - offset) as usize);
        file.read_exact_at(&mut chunk[..part], offset)?;
        if chunk[..part].iter().all(|byte| *byte == 0) {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match fallocate(file.as_fd(), flags, offset, part as u64) {
                // A file system without holes keeps the zeros.
                Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        offset += part as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_change_nothing_but_the_size_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MEMORY);
        let mut bytes = vec![0; 5 << 20];
        bytes[3 << 20] = 7;
        fs::write(&path, &bytes).unwrap();
        dig_holes(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert!(fs::metadata(&path).unwrap().blocks() * 512 <= 2 << 20);
    }

    #[test]
    fn a_snapshot_whose_files_changed_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let snapshot = folder.path().join("k");
        fs::create_dir(&snapshot).unwrap();
        for name in FILES {
            fs::write(snapshot.join(name), name).unwrap();
        }
        assert!(Snapshot::find(folder.path(), "k").is_none());
        let manifest = serde_json::to_vec(&Manifest::of(&snapshot).unwrap()).unwrap();
        fs::write(snapshot.join(MANIFEST), manifest).unwrap();
        assert!(Snapshot::find(folder.path(), "k").is_some());
        fs::write(snapshot.join(DEVICES), "other").unwrap();
        assert!(Snapshot::find(folder.path(), "k").is_none());
    }
}
