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
