//! What a guest is made of, and booting one to look at it.

use std::fs;
use std::time::{Duration, Instant};

use guest::{Notice, Setup, Then};
use keep::Cache;
use kernels::{Kernel, KernelArg, KernelError, locate};
use model::{MachineSpec, Missed};
use object::Endianness;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::guest_process::News;
use crate::initramfs::{RootFile, archive};
use crate::qemu::{Console, Qemu, THIS_PROGRAM};
use crate::qmp::Event;
use crate::snapshot::{self, Ingredients};
use crate::{MODULES, Stop, VmError};

/// Kernel and root of a guest.
pub(crate) struct Parts {
    pub(crate) kernel: Kernel,
    pub(crate) kernel_hash: String,
    pub(crate) initramfs: Vec<u8>,
    pub(crate) initramfs_hash: String,
    /// Files of the modules, in the order in which they are loaded.
    pub(crate) modules: Vec<String>,
}

impl Parts {
    /// Finds the kernel and packs the root.
    pub(crate) fn gather(
        kernel: &str,
        machine: &MachineSpec,
        cache: &Cache,
        extra: &[RootFile],
    ) -> Result<Self, VmError> {
        let arg: KernelArg =
            kernel.parse().map_err(|error| VmError::KernelName(format!("{kernel}: {error}")))?;
        let kernel = locate(&arg, &cache.kernels()).map_err(|error| match error {
            KernelError::Io { path, source } if path.starts_with(cache.root()) => {
                VmError::Cache { path, source }
            }
            other => VmError::Kernel(other),
        })?;
        let mut modules = Vec::new();
        let mut wanted = MODULES.to_vec();
        wanted.extend(machine.disk.needs_mapper().then_some("dm-delay"));
        for module in kernel.modules()?.plan(&wanted)? {
            modules.push((format!("{}.ko", module.name), module.bytes()?));
        }
        let initramfs = archive(&program()?, &modules, extra);
        Ok(Self {
            kernel_hash: kernel.image_hash.clone(),
            kernel,
            initramfs_hash: blake3::hash(&initramfs).to_hex().to_string(),
            initramfs,
            modules: modules.into_iter().map(|(file, _)| file).collect(),
        })
    }

    /// What a guest of these parts is booted from.
    pub(crate) fn ingredients<'a>(
        &'a self,
        qemu: &'a Qemu,
        setup: &'a Setup,
        console: Console,
    ) -> Result<Ingredients<'a>, VmError> {
        let kernel = self.kernel_for_qemu()?;
        Ok(Ingredients { qemu, setup, kernel, initramfs: &self.initramfs, console })
    }

    /// The kernel without its compression where QEMU can start that: the guest need not unpack it.
    fn kernel_for_qemu(&self) -> Result<Vec<u8>, VmError> {
        match self.kernel.vmlinux() {
            Ok(elf) if kernels::has_pvh_entry(&elf) => Ok(elf),
            _ => Ok(self.kernel.image()?),
        }
    }

    /// What this kernel cannot offer, as far as its configuration tells.
    pub(crate) fn missed(&self) -> Vec<Missed> {
        let missing = self.kernel.facts.missing().iter();
        missing
            .map(|found| Missed {
                capability: format!("CONFIG_{}", found.config),
                reason: format!("this kernel is built without it: {}", found.lost),
            })
            .collect()
    }
}

/// The bytes of [`THIS_PROGRAM`].
fn program() -> Result<Vec<u8>, VmError> {
    let bytes = fs::read(THIS_PROGRAM)?;
    match needs_loader(&bytes) {
        false => Ok(bytes),
        true => Err(VmError::Unavailable(
            "this program needs a dynamic loader, which a guest does not have: build the static one \
             with `make build` (target/release/thrashlab)"
                .to_owned(),
        )),
    }
}

/// Whether a 64-bit ELF program names a dynamic loader.
pub(crate) fn needs_loader(elf: &[u8]) -> bool {
    let interpreter = || {
        let header = FileHeader64::<Endianness>::parse(elf)?;
        let endian = header.endian()?;
        let mut segments = header.program_headers(endian, elf)?.iter();
        Ok::<_, object::Error>(segments.any(|segment| segment.p_type(endian) == PT_INTERP))
    };
    interpreter().unwrap_or(false)
}

/// A guest that came up.
#[derive(Clone, Debug)]
pub struct Booted {
    /// The kernel's release.
    pub release: String,
    /// Wall time from starting QEMU to the first line of the guest's program.
    pub first_line: Duration,
    /// Wall time until everything was set up.
    pub ready: Duration,
    /// The kernel's log, a record a line: `[    0.254061] text`.
    pub dmesg: String,
}

/// Boots a guest afresh, past the cache, and tells how that went.
///
/// # Errors
/// As [`crate::Vm::prepare`].
pub fn boot(
    machine: &MachineSpec,
    kernel: &str,
    cache: &Cache,
    stop: Stop<'_>,
) -> Result<Booted, VmError> {
    let qemu = Qemu::find(machine)?;
    let parts = Parts::gather(kernel, machine, cache, &[])?;
    let setup =
        Setup { machine: machine.clone(), modules: parts.modules.clone(), then: Then::Report };
    let failed = VmError::cache(cache.root());
    let folder = cache.scratch("boot").map_err(failed)?;
    let from = parts.ingredients(&qemu, &setup, Console::Quiet)?;
    snapshot::write_parts(folder.path(), &from).map_err(failed)?;
    let begun = Instant::now();
    let mut guest = snapshot::boot(&from, folder.path())?;
    let (mut first_line, mut ready, mut dmesg) = (None, None, String::new());
    let ready = guest.follow("boot", stop, |news| {
        match news {
            News::Said(Notice::Started) => first_line = Some(begun.elapsed()),
            News::Said(Notice::Ready) => ready = Some(begun.elapsed()),
            News::Said(Notice::Log { at_us, text }) => dmesg += &log_line(at_us, &text),
            News::Event(Event::Ended) => return ready,
            _ => {}
        }
        None
    })?;
    let first_line = first_line.unwrap_or(ready);
    Ok(Booted { release: parts.kernel.release, first_line, ready, dmesg })
}

/// A record of the log as the kernel's own programs print it.
fn log_line(at_us: u64, text: &str) -> String {
    format!("[{:5}.{:06}] {text}\n", at_us / 1_000_000, at_us % 1_000_000)
}
