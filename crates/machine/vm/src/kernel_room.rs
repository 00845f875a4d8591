//! Kernels that need more memory for themselves than their machine gives them: a named machine gives
//! all kernels the same, and a stock kernel of a distribution may not even start its first program.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use keep::out_file::OutFile;
use keep::{Cache, key_of};
use model::MachineSpec;

use crate::machine;

/// Where the cache remembers what a kernel needed, next to booted machines; hidden, as it is not one.
const NOTE: &str = ".kernel-memory-";

/// A kernel gets so much more at a time, and at most so often.
const STEP_BYTES: u64 = 8 << 20;
const STEPS: u64 = 4;

/// How much memory the kernel of a guest may get.
pub(crate) struct KernelRoom {
    /// In which the cache remembers what it needed.
    file: PathBuf,
    pub(crate) first_bytes: u64,
    most_bytes: u64,
}

impl KernelRoom {
    /// The room of a machine as its user names it (`wanted`) and as it is built. A kernel gets more
    /// only where the user has not given it so much himself.
    pub(crate) fn of(
        wanted: &MachineSpec,
        built: &MachineSpec,
        kernel_hash: &str,
        cache: &Cache,
    ) -> Self {
        let named = machine::load(&wanted.name).map(|named| named.machine.kernel_memory_bytes);
        let is_named = named.is_ok_and(|bytes| bytes == wanted.kernel_memory_bytes);
        let steps = if is_named { STEPS } else { 0 };
        let settings = format!("{:?}", built.settings());
        let first_bytes = built.kernel_memory_bytes;
        let key = key_of(&[kernel_hash.as_bytes(), settings.as_bytes()]);
        Self {
            file: cache.snapshots.join(format!("{NOTE}{key}")),
            first_bytes,
            most_bytes: first_bytes.saturating_add(steps * STEP_BYTES),
        }
    }

    /// What the cache remembers.
    pub(crate) fn known(&self) -> Option<u64> {
        let bytes = fs::read_to_string(&self.file).ok()?.trim().parse().ok()?;
        (self.first_bytes..=self.most_bytes).contains(&bytes).then_some(bytes)
    }

    /// Has the cache remember it. Fails when it cannot be written.
    pub(crate) fn remember(&self, bytes: u64) -> io::Result<()> {
        fs::create_dir_all(self.file.parent().unwrap_or(&self.file))?;
        let (out, mut file) = OutFile::create(&self.file)?;
        writeln!(file, "{bytes}")?;
        out.finish()
    }

    /// The next size to try, in bytes, after one that was too small; `None` if there is none.
    pub(crate) fn more(&self, bytes: u64) -> Option<u64> {
        (bytes < self.most_bytes).then_some(bytes + STEP_BYTES)
    }

    /// More than the machine gives all kernels, in bytes, if this one has more.
    pub(crate) fn grown(&self, machine: &MachineSpec) -> Option<u64> {
        Some(machine.kernel_memory_bytes).filter(|bytes| *bytes != self.first_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_memory_of_a_named_machine_grows() {
        let cache = Cache::at(PathBuf::from("/nowhere"));
        let micro = machine::load("micro").unwrap().machine;
        let room = KernelRoom::of(&micro, &micro, "kernel", &cache);
        let first = micro.kernel_memory_bytes;
        assert_eq!(room.more(first), Some(first + STEP_BYTES));
        assert_eq!(room.more(first + STEPS * STEP_BYTES), None);
        let given = MachineSpec { kernel_memory_bytes: 30 << 20, ..micro.clone() };
        let room = KernelRoom::of(&given, &given, "kernel", &cache);
        assert_eq!(room.more(30 << 20), None);
        assert_eq!(room.grown(&given), None);
        assert_eq!(room.grown(&micro), Some(micro.kernel_memory_bytes));
    }

    #[test]
    fn what_a_kernel_needed_is_remembered_for_its_machine() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let micro = machine::load("micro").unwrap().machine;
        let room = KernelRoom::of(&micro, &micro, "kernel", &cache);
        assert_eq!(room.known(), None);
        let bytes = micro.kernel_memory_bytes + STEP_BYTES;
        room.remember(bytes).unwrap();
        assert_eq!(room.known(), Some(bytes));
        let more = MachineSpec { memory_bytes: 96 << 20, ..micro.clone() };
        assert_eq!(KernelRoom::of(&more, &more, "kernel", &cache).known(), None);
        // Damaged, or of another version.
        fs::write(&room.file, "1\n").unwrap();
        assert_eq!(room.known(), None);
    }
}
