//! The root of programs in a guest, and the room that it needs.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use guest::RootSetup;
use keep::Cache;
use model::{Architecture, MachineSpec, RootPlace, RootSpec, VmSpec};
use roots::{Contents, Root, RootError};

use crate::platform::{Platform, find_kernel};
use crate::{Result, Stop, VmError};

/// What mounts changes over files, and private views of folders for commands.
pub(crate) const MODULE: &str = "overlay";
/// Journal, tables and room to write, in bytes.
const SPARE_BYTES: u64 = 64 << 20;
/// Tables and directories of an ext4, as a part of its files.
const SPARE_PART: u64 = 16;
/// A large ext4 has one inode for so many bytes (`mke2fs`).
const INODE_EVERY_BYTES: u64 = 16 << 10;
/// An inode and a name in the kernel's memory.
const CACHED_ENTRY_BYTES: u64 = 1 << 10;
/// The kernel has a `struct page` of 64 bytes for each page of memory, and page tables (8 bytes for
/// each page).
const STRUCT_PAGE_PART: u64 = 64;
const PAGE_TABLE_PART: u64 = 512;
const MIB: u64 = 1 << 20;

pub(crate) struct GuestRoot {
    spec: RootSpec,
    contents: Contents,
    pub(crate) archive: PathBuf,
}

impl GuestRoot {
    /// Finds or builds the one of a machine, if it has one. Fails as [`roots::prepare`].
    pub(crate) fn of(
        spec: &VmSpec,
        cache: &Cache,
        stop: Stop<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Option<Self>> {
        let (kernel, Some(spec)) = (&spec.kernel, &spec.root) else { return Ok(None) };
        check(spec, kernel, cache)?;
        let found = roots::prepare(&spec.name, &cache.roots(), say, &|| stop());
        let Root { archive, contents } = found.map_err(|error| match error {
            RootError::Cache { path, source } => VmError::Cache { path, source },
            RootError::Interrupted => VmError::Interrupted,
            RootError::Io { ref path, ref source }
                if source.kind() == ErrorKind::NotFound && path == Path::new(&spec.name) =>
            {
                VmError::RootName(error.to_string())
            }
            other => VmError::Root(other.to_string()),
        })?;
        Ok(Some(Self { spec: spec.clone(), contents, archive }))
    }

    /// What takes long when a machine boots with it.
    pub(crate) fn step(&self) -> String {
        let (name, mib) = (&self.spec.name, self.contents.size_bytes / MIB);
        format!("the machine boots, and unpacks the root {name} ({mib} MiB)")
    }

    pub(crate) fn setup(&self) -> RootSetup {
        let Contents { blake3, newest_s, environment, .. } = self.contents.clone();
        let RootSpec { files, changes, .. } = self.spec;
        RootSetup { blake3, files, changes, newest_s, environment }
    }

    /// Whether it cannot be put together without [`MODULE`].
    pub(crate) fn needs_module(&self) -> bool {
        self.spec.files != self.spec.changes
    }

    /// Adds what its files take to disk or memory, so that the machine has the same room without it.
    pub(crate) fn make_room(&self, machine: &mut MachineSpec) {
        let Contents { size_bytes, entries, .. } = self.contents;
        // The disk is in the guest's memory, too.
        let (bytes, grown) = match self.spec.files {
            RootPlace::Disk => {
                let with_tables = size_bytes + size_bytes / SPARE_PART + SPARE_BYTES;
                let bytes = with_tables.max(entries * INODE_EVERY_BYTES);
                (bytes, &mut machine.disk.size_bytes)
            }
            RootPlace::Memory => {
                (size_bytes + entries * CACHED_ENTRY_BYTES, &mut machine.kernel_memory_bytes)
            }
        };
        let bytes = bytes.next_multiple_of(MIB);
        *grown = grown.saturating_add(bytes);
        let structures = bytes / STRUCT_PAGE_PART + bytes / PAGE_TABLE_PART;
        let kernel_bytes = &mut machine.kernel_memory_bytes;
        *kernel_bytes = kernel_bytes.saturating_add(structures.next_multiple_of(MIB));
    }
}

/// Fails where its programs are certainly for another architecture than the kernel.
fn check(root: &RootSpec, kernel: &str, cache: &Cache) -> Result<()> {
    if roots::is_path(&root.name) {
        return Ok(());
    }
    let platform = Platform::of_kernel(&find_kernel(kernel, cache)?)?;
    if platform.architecture == Architecture::X86_64 {
        return Ok(());
    }
    let (root, name) = (&root.name, platform.name());
    Err(VmError::Root(format!(
        "root={root} has programs for x86-64, and the kernel is for {name}; name a folder or a tar \
         file with programs for {name}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_gets_room_for_the_structures_of_added_memory() {
        for (files, least_mib) in [(RootPlace::Disk, 8), (RootPlace::Memory, 512 + 8)] {
            let contents = Contents { size_bytes: 512 << 20, entries: 1, ..Contents::default() };
            let spec = RootSpec { name: String::new(), files, changes: files };
            let root = GuestRoot { spec, contents, archive: PathBuf::new() };
            let mut machine = MachineSpec::default();
            root.make_room(&mut machine);
            let mib = machine.kernel_memory_bytes / MIB;
            assert!((least_mib..least_mib + 8).contains(&mib), "{files:?}: {mib} MiB");
            assert_eq!(machine.kernel_memory_bytes % MIB, 0);
        }
    }
}
