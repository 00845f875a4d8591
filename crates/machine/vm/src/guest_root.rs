//! The root of programs in a guest, and the room that it needs.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use guest::{RootSetup, TOOL_LIBRARIES, TOOL_LOADER, TOOLS_DIR};
use keep::Cache;
use model::{Architecture, FileSystem, MachineSpec, RootPlace, RootSpec, VmSpec, structure_bytes};
use roots::{Contents, Program, Root, RootError};

use crate::initramfs::{DIRECTORY, EXECUTABLE, RootFile};
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
        let architecture = Platform::of_kernel(&find_kernel(kernel, cache)?)?.architecture;
        check(spec, architecture)?;
        let found = roots::prepare(&spec.name, architecture, &cache.roots(), say, &|| stop());
        let Root { archive, contents } = found.map_err(|error| failure(error, &spec.name))?;
        Ok(Some(Self { spec: spec.clone(), contents, archive }))
    }

    /// What takes long when a machine boots with it.
    pub(crate) fn step(&self) -> String {
        let (name, mib) = (&self.spec.name, self.contents.size_bytes / MIB);
        format!("the machine boots, and unpacks the root {name} ({mib} MiB)")
    }

    /// What a guest runs before it has its root, in order to make the file systems of its disks, with
    /// the libraries of the root. Fails when the root lacks it.
    pub(crate) fn tools(&self, machine: &MachineSpec) -> Result<Vec<RootFile>> {
        let mut files = BTreeMap::new();
        for disk in machine.disks().iter().filter(|disk| disk.may_have_file_system()) {
            self.add_tool(disk.spec.file_system, &mut files)?;
        }
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let folders = ["", TOOL_LIBRARIES].map(|name| (name.to_owned(), DIRECTORY, Vec::new()));
        let files = files.into_iter().map(|(name, bytes)| (name, EXECUTABLE, bytes));
        let file = |(name, mode, bytes)| {
            let path = format!("{TOOLS_DIR}/{name}");
            RootFile { path: path.trim_end_matches('/').to_owned(), mode, bytes }
        };
        Ok(folders.into_iter().chain(files).map(file).collect())
    }

    fn add_tool(&self, kind: FileSystem, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
        let Some((name, package)) = kind.maker() else { return Ok(()) };
        let Program { bytes, loader, libraries } = self.program(name)?.ok_or_else(|| {
            VmError::Unavailable(format!(
                "the root {} has no {name}, which makes the file system {}: add its package, as in \
                 root=debian:13,{package}",
                self.spec.name,
                kind.name()
            ))
        })?;
        files.insert(name.to_owned(), bytes);
        files.extend(loader.map(|bytes| (format!("{name}{TOOL_LOADER}"), bytes)));
        let libraries = libraries.into_iter();
        files.extend(libraries.map(|(name, bytes)| (format!("{TOOL_LIBRARIES}/{name}"), bytes)));
        Ok(())
    }

    /// A program of it; `None` if it has none of this name. Fails when its archive cannot be read.
    pub(crate) fn program(&self, name: &str) -> Result<Option<Program>> {
        let found = roots::program(&self.archive, name);
        found.map_err(|error| failure(error, &self.spec.name))
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
        let kernel_bytes = &mut machine.kernel_memory_bytes;
        *kernel_bytes = kernel_bytes.saturating_add(structure_bytes(bytes).next_multiple_of(MIB));
    }
}

fn failure(error: RootError, name: &str) -> VmError {
    match error {
        RootError::Cache { path, source } => VmError::Cache { path, source },
        RootError::Interrupted => VmError::Interrupted,
        RootError::Io { ref path, ref source }
            if source.kind() == ErrorKind::NotFound && path == Path::new(name) =>
        {
            VmError::RootName(error.to_string())
        }
        other => VmError::Root(other.to_string()),
    }
}

/// Fails where its programs are certainly for another architecture than the kernel.
fn check(root: &RootSpec, architecture: Architecture) -> Result<()> {
    if roots::is_path(&root.name) || architecture == Architecture::X86_64 {
        return Ok(());
    }
    let (root, name) = (&root.name, architecture.name());
    Err(VmError::Root(format!(
        "root={root} has programs for x86-64, and the kernel is for {name}; name a folder, a tar file \
         or an image with programs for {name}"
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
