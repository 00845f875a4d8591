//! Booted machines: each is paused once, and every cell continues with a private copy of memory.
//!
//! Booting takes seconds, and a cell less than one. So a guest boots once, up to the point at which it
//! reads its cell; its memory is a file that all cells map privately, so a page is copied only when a
//! cell writes it. All cells also begin at the same instruction of the same machine, which makes
//! them comparable to the byte.
//!
//! QEMU without the engine may let real time into a boot or into the pause. What it lets in would
//! be in the cache forever, and another host would have other bytes. So such a guest boots until the
//! memory of two boots is equal, and no virtual time passed in the pause of one of them beyond the
//! instructions there. On a busy host time passes in two of three pauses, while memory hardly ever
//! differs, so pauses are not compared with each other.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use guest::{Notice, Setup};
use keep::{Scratch, Shelf};
use rustix::fs::{FallocateFlags, fallocate};

use crate::boot::Parts;
use crate::guest_process::{GuestProcess, Message};
use crate::qemu::{DEVICES, FILES, MEMORY, Qemu, Restore, Start};
use crate::qmp::Event;
use crate::{Result, Stop, VmError};

const SHELF_HEAD: &str = "thrashlab machine 1";
/// Its time is that of the last use.
const USED: &str = "used";
/// Snapshots kept however old they are; others only for this time.
const KEPT: usize = 8;
const KEPT_FOR: Duration = Duration::from_secs(7 * 86_400);
/// The unit of reading memory and punching holes, in bytes.
const CHUNK_BYTES: usize = 1 << 16;
/// Attempts for boots that agree; on a busy host time passes in most pauses ([`agreed`]).
const ROUNDS: u32 = 20;
/// Upper bound of the instructions between the clock readings around the pause: aarch64 has 1232. A
/// clock that QEMU sets forward is off by far more.
const INSTRUCTIONS_IN_PAUSE: u64 = 2500;

pub(crate) fn find(snapshots: &Path, key: &str) -> Option<PathBuf> {
    let folder = shelf(snapshots).find(key)?;
    // Only used by `tidy`; the cache may be read-only.
    let _ = fs::write(folder.join(USED), []);
    Some(folder)
}

/// Boots a guest until it pauses, and keeps it under this key. Without the engine, a deterministic
/// guest boots twice at a time until boots agree, so that no chance gets into the cache.
pub(crate) fn make(snapshots: &Path, key: &str, parts: &Parts, stop: Stop<'_>) -> Result<PathBuf> {
    let failed = VmError::cache(snapshots);
    tidy(snapshots);
    let image = &parts.image()?;
    let mut made: Vec<Boot> = Vec::new();
    let is_chance = parts.setup.machine.is_deterministic() && parts.qemu.firmware.is_none();
    let at_a_time = if is_chance { 2 } else { 1 };
    for round in 0..ROUNDS {
        let boots = thread::scope(|scope| {
            let boots: Vec<_> = (0..at_a_time)
                .map(|index| {
                    let name = format!("{key}-{round}-{index}");
                    scope.spawn(move || Boot::make(snapshots, &name, parts, image, stop))
                })
                .collect();
            boots.into_iter().map(|boot| boot.join()).collect::<Vec<_>>()
        });
        for boot in boots {
            made.push(boot.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        if let Some(boot) = agreed(&made, at_a_time) {
            fs::write(boot.folder.path().join(USED), []).map_err(failed)?;
            return shelf(snapshots).put(&boot.folder, FILES, key).map_err(failed);
        }
    }
    Err(VmError::Boot(format!(
        "of {} boots none agrees with another and has an exact pause",
        made.len()
    )))
}

pub(crate) fn restore(
    folder: &Path,
    qemu: &Qemu,
    setup: &Setup,
    cell: &[u8],
    how: Restore<'_>,
) -> io::Result<GuestProcess> {
    let start = Start::Restore(how);
    let mut guest = GuestProcess::start(qemu, setup, cell, folder, start, None)?;
    guest.restore(&File::open(folder.join(DEVICES))?)?;
    if how.stopping.is_none() {
        guest.resume()?;
    }
    Ok(guest)
}

struct Boot {
    folder: Scratch,
    /// Hash of memory; devices contain the host's clock.
    memory_hash: blake3::Hash,
    /// Whether no virtual time passed in the pause, as the guest saw it, beyond the instructions there,
    /// which equal memory makes equal.
    is_exact: bool,
}

impl Boot {
    fn make(
        snapshots: &Path,
        name: &str,
        parts: &Parts,
        image: &[u8],
        stop: Stop<'_>,
    ) -> Result<Self> {
        let failed = VmError::cache(snapshots);
        let scratch = Scratch::make(snapshots, name).map_err(failed)?;
        let folder = scratch.path();
        parts.write(image, folder)?;
        let mut guest = parts.boot(folder, None)?;
        let is_pause = |said| matches!(said, Message::Event(Event::Paused)).then_some(());
        guest.follow("boot", stop, is_pause)?;
        guest.save(&File::create_new(folder.join(DEVICES)).map_err(failed)?)?;
        drop(guest);
        let mut hasher = blake3::Hasher::new();
        compact(&folder.join(MEMORY), &mut hasher).map_err(failed)?;
        let mut guest = restore(folder, &parts.qemu, &parts.setup, &[], Restore::default())?;
        let gap_ns = guest.follow("continue from its pause", stop, |said| match said {
            Message::Notice(Notice::Resumed { gap_ns }) => Some(gap_ns),
            _ => None,
        })?;
        let is_exact = gap_ns < INSTRUCTIONS_IN_PAUSE << parts.setup.machine.icount_shift;
        Ok(Self { folder: scratch, memory_hash: hasher.finalize(), is_exact })
    }
}

/// A boot with whose memory `wanted` boots agree, in which QEMU advanced no virtual time during the
/// pause.
fn agreed(made: &[Boot], wanted: usize) -> Option<&Boot> {
    let agree =
        |boot: &Boot| made.iter().filter(|other| other.memory_hash == boot.memory_hash).count();
    made.iter().find(|boot| wanted == 1 || boot.is_exact && agree(boot) >= wanted)
}

fn shelf(snapshots: &Path) -> Shelf {
    Shelf::at(snapshots.to_owned(), SHELF_HEAD)
}

/// Removes long unused snapshots: every build of this program makes new ones.
fn tidy(snapshots: &Path) {
    let entries = fs::read_dir(snapshots).into_iter().flatten().flatten();
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let used = fs::metadata(entry.path().join(USED)).and_then(|facts| facts.modified());
            Some((used.ok()?, entry.path()))
        })
        .collect();
    found.sort_by(|(first, _), (second, _)| second.cmp(first));
    for (used, folder) in found.into_iter().skip(KEPT) {
        if used.elapsed().is_ok_and(|age| age > KEPT_FOR) {
            // Retried next time.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Hashes the guest's memory, and turns zeros in the file into holes.
fn compact(path: &Path, hasher: &mut blake3::Hasher) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(path)?;
    let size_bytes = file.metadata()?.len();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut offset = 0;
    while offset < size_bytes {
        let part = chunk.len().min((size_bytes - offset) as usize);
        file.read_exact_at(&mut chunk[..part], offset)?;
        if chunk[..part].iter().all(|byte| *byte == 0) {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match fallocate(&file, flags, offset, part as u64) {
                // Not supported by the file system.
                Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        } else {
            hasher.update(&offset.to_le_bytes());
            hasher.update(&chunk[..part]);
        }
        offset += part as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn holes_change_nothing_but_the_size_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MEMORY);
        let mut bytes = vec![0; 5 << 20];
        bytes[3 << 20] = 7;
        fs::write(&path, &bytes).unwrap();
        compact(&path, &mut blake3::Hasher::new()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert!(fs::metadata(&path).unwrap().blocks() * 512 <= 2 << 20);
    }

    #[test]
    fn what_nobody_uses_is_removed_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        for index in 0..=KEPT {
            let used = folder.path().join(index.to_string()).join(USED);
            fs::create_dir(used.parent().unwrap()).unwrap();
            let age = KEPT_FOR + Duration::from_secs(60 * index as u64);
            File::create(&used).unwrap().set_modified(SystemTime::now() - age).unwrap();
        }
        tidy(folder.path());
        let left = |index: usize| folder.path().join(index.to_string()).exists();
        assert!((0..KEPT).all(left) && !left(KEPT));
    }
}
