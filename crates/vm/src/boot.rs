//! What a guest is made of, and booting one to look at it.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use guest::{Notice, Setup, Then};
use keep::Cache;
use kernels::{Kernel, KernelArg, KernelError, locate};
use model::{MachineSpec, Missed};

use crate::guest_process::Said;
use crate::initramfs::{RootFile, archive};
use crate::qemu::{Console, Qemu, THIS_PROGRAM};
use crate::qmp::Event;
use crate::snapshot::{self, BOOT_LIMIT, Ingredients};
use crate::{MODULES, Stop, TICK, VmError};

/// Program header of the dynamic loader (`PT_INTERP`, elf(5)).
const PT_INTERP: u32 = 3;

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
        let missing = self.kernel.facts.missing();
        missing
            .into_iter()
            .map(|found| Missed {
                capability: format!("CONFIG_{}", found.config),
                reason: format!("this kernel is built without it: {}", found.lost),
            })
            .collect()
    }
}

/// The bytes of [`THIS_PROGRAM`].
fn program() -> Result<Vec<u8>, VmError> {
    let mut bytes = Vec::new();
    File::open(THIS_PROGRAM)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(VmError::Qemu)?;
    if needs_loader(&bytes) { Err(VmError::NotStatic) } else { Ok(bytes) }
}

/// Whether a 64-bit ELF program names a dynamic loader.
pub(crate) fn needs_loader(elf: &[u8]) -> bool {
    let half = |at: usize| elf.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
    let (entry_size, entries) = (usize::from(half(54)), usize::from(half(56)));
    let table =
        elf.get(32..40).map_or(0, |b| b.iter().rev().fold(0, |n, x| n << 8 | usize::from(*x)));
    (0..entries).any(|index| {
        let at = table + index * entry_size;
        elf.get(at..at + 4) == Some(&PT_INTERP.to_le_bytes())
    })
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
    let qemu = Qemu::find()?;
    qemu.check(machine)?;
    let parts = Parts::gather(kernel, machine, cache, &[])?;
    let setup =
        Setup { machine: machine.clone(), modules: parts.modules.clone(), then: Then::Report };
    let failed = |source| VmError::Cache { path: cache.root().to_owned(), source };
    let folder = cache.scratch("boot").map_err(failed)?;
    let from = parts.ingredients(&qemu, &setup, Console::Quiet)?;
    snapshot::write_parts(folder.path(), &from).map_err(failed)?;
    let begun = Instant::now();
    let mut guest = snapshot::boot(&from, folder.path())?;
    let (mut first_line, mut ready, mut dmesg) = (None, None, String::new());
    loop {
        let event = guest.event(TICK).map_err(VmError::Qemu)?;
        for said in guest.said().map_err(VmError::Qemu)? {
            match said {
                Said::Notice(Notice::Started) => first_line = Some(begun.elapsed()),
                Said::Notice(Notice::Ready) => ready = Some(begun.elapsed()),
                Said::Notice(Notice::Failed(why)) => return Err(VmError::Boot(why)),
                Said::Notice(Notice::Log { at_us, text }) => dmesg += &log_line(at_us, &text),
                _ => {}
            }
        }
        match (event, ready) {
            (Event::Ended, Some(ready)) => {
                let first_line = first_line.unwrap_or(ready);
                let release = parts.kernel.release;
                return Ok(Booted { release, first_line, ready, dmesg });
            }
            (Event::Ended, None) => {
                return Err(VmError::Boot(guest.autopsy("it ended while it booted")));
            }
            _ if stop() => return Err(VmError::Interrupted),
            _ if begun.elapsed() > BOOT_LIMIT => {
                return Err(VmError::Boot(guest.autopsy("it takes too long")));
            }
            _ => {}
        }
    }
}

/// A record of the log as the kernel's own programs print it.
fn log_line(at_us: u64, text: &str) -> String {
    format!("[{:5}.{:06}] {text}\n", at_us / 1_000_000, at_us % 1_000_000)
}
