//! Booted machines on their way to another host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use guest::Setup;
use model::{Environment, Unavailable};
use serde::{Deserialize, Serialize};

use crate::memory_clock::MemoryClock;
use crate::platform::Platform;
use crate::program_files::ProgramFiles;
use crate::qemu::{FILES, Qemu};
use crate::{Result, Vm, VmError, VmOptions, machine_key};

/// A booted machine as another host needs it to continue from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PackedMachine {
    /// The hash of everything that it depends on.
    pub key: String,
    /// The QEMU that it needs: the first line of its `--version`.
    pub qemu: String,
    /// Memory that a guest takes of its host, in bytes.
    pub memory_bytes: u64,
    pub(crate) setup: Setup,
    pub(crate) facts: Environment,
    pub(crate) missed: Vec<Unavailable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clock: Option<MemoryClock>,
    /// Its files where it was packed, by the names that they have in its folder.
    pub files: BTreeMap<String, PathBuf>,
}

impl Vm {
    /// This machine as another host has to know it.
    pub fn packed(&self) -> PackedMachine {
        let files = FILES.map(|name| (name.to_owned(), self.folder.join(name))).into();
        PackedMachine { files, ..self.machine.clone() }
    }

    /// A machine booted on another host. Fails when QEMU or this program differs, or a file
    /// is missing; the content of files is not compared.
    pub fn unpack(packed: &PackedMachine, folder: &Path, options: &VmOptions) -> Result<Self> {
        let platform = Platform::of(packed.setup.architecture);
        let all = Qemu::all_of(platform, &packed.setup.machine, &options.cache)?;
        // Any that is the same, even if this host would boot the machine in another one.
        let same = all.iter().find(|qemu| qemu.version == packed.qemu);
        let qemu = same.unwrap_or(&all[0]).clone();
        let fact = |name: &str| packed.facts.get(name).map_or("", String::as_str);
        let hashes = ["vm_kernel_blake3", "vm_initramfs_blake3"].map(fact);
        let missing = FILES.iter().find(|name| !folder.join(name).is_file());
        let why = if qemu.version != packed.qemu {
            let (theirs, ours) = (&packed.qemu, &qemu.version);
            let next = "install the same QEMU everywhere";
            format!("the machine was booted by {theirs:?}, here is {ours:?}: {next}")
        } else if machine_key(&qemu, &packed.setup, packed.clock.as_ref(), hashes)? != packed.key {
            "the machine was booted by another thrashlab: use the same program everywhere"
                .to_owned()
        } else if let Some(missing) = missing {
            format!("the machine's {missing} is not in {}", folder.display())
        } else {
            let (machine, folder, options) = (packed.clone(), folder.to_owned(), options.clone());
            let programs = ProgramFiles::default();
            return Ok(Self { qemu, machine, folder, options, programs });
        };
        Err(VmError::Unavailable(why))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::time::Duration;

    use guest::Then;
    use keep::Cache;
    use model::Architecture;

    use super::*;
    use crate::engine::{ENGINE_RELEASES, emulator};

    /// Puts an engine for each release into the cache, which does nothing but print its version.
    fn build_engines(cache: &Cache) {
        for release in ENGINE_RELEASES {
            let build = release.unpack(Architecture::X86_64, cache).unwrap();
            let made = build.folder().join("made");
            fs::create_dir(&made).unwrap();
            let program = made.join(emulator(Architecture::X86_64));
            let version = release.version;
            // Written by another process: as long as this one may have it open, it cannot execute it.
            let script = format!("printf '#!/bin/sh\necho QEMU {version}\n' > \"$1\"");
            let written = Command::new("sh").args(["-c", &script, "sh"]).arg(&program).status();
            assert!(written.unwrap().success());
            fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            build.keep(cache).unwrap();
        }
    }

    /// A machine that this QEMU booted, and its files.
    fn packed(qemu: &Qemu, folder: &Path) -> PackedMachine {
        let setup = Setup {
            machine: crate::machine::load("micro").unwrap().machine,
            modules: Vec::new(),
            root: None,
            architecture: Architecture::X86_64,
            agent_bytes: 2_000_000,
            then: Then::Cell,
        };
        FILES.iter().for_each(|name| fs::write(folder.join(name), name).unwrap());
        PackedMachine {
            key: machine_key(qemu, &setup, None, ["", ""]).unwrap(),
            qemu: qemu.version.clone(),
            memory_bytes: 1 << 26,
            setup,
            facts: Environment::new(),
            missed: Vec::new(),
            clock: None,
            files: BTreeMap::new(),
        }
    }

    #[test]
    fn a_machine_from_another_host_runs_in_the_qemu_that_booted_it_if_there_is_one() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path().join("cache"));
        build_engines(&cache);
        let machine = crate::machine::load("micro").unwrap().machine;
        let all = Qemu::all_of(Platform::of(Architecture::X86_64), &machine, &cache).unwrap();
        let silence = Duration::from_secs(1);
        let options = VmOptions { cache, reuse_cells: false, silence, qemu: None, freeze: None };
        // The first one is that in which this host boots machines itself.
        assert!(all.len() >= 2, "{all:?}");
        for qemu in &all[..2] {
            let vm = Vm::unpack(&packed(qemu, root.path()), root.path(), &options).unwrap();
            assert_eq!(vm.qemu, *qemu);
        }
        let other = Qemu { version: "QEMU 7.2.22".to_owned(), ..all[0].clone() };
        let packed = packed(&other, root.path());
        let refused = Vm::unpack(&packed, root.path(), &options).err().unwrap().to_string();
        let expected = format!(
            "the machine was booted by \"QEMU 7.2.22\", here is {:?}: install the same QEMU \
             everywhere",
            all[0].version
        );
        assert_eq!(refused, expected);
    }
}
