//! The parts of a guest, and booting one for inspection.

use std::fs::{self, File};
use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guest::{Notice, Setup, Then};
use keep::{Cache, Scratch};
use kernels::{Kernel, Missing};
use model::units::exact_size;
use model::{MachineSpec, Unavailable, VmSpec};
use rustix::fs::{FallocateFlags, fallocate};

use crate::guest_process::{BootLimit, GuestProcess, Message};
use crate::guest_root::{self, GuestRoot};
use crate::initramfs::{RootFile, archive};
use crate::kernel_room::KernelRoom;
use crate::platform::{Platform, find_kernel};
use crate::qemu::{INITRAMFS, KERNEL, MEMORY, Qemu, Start, ram_bytes};
use crate::qmp::Event;
use crate::{Result, Stop, VmError, disks, guest_program, overlay, start_script};

pub(crate) struct Parts {
    pub(crate) qemu: Qemu,
    pub(crate) setup: Setup,
    pub(crate) kernel: Kernel,
    pub(crate) initramfs: Vec<u8>,
    pub(crate) initramfs_hash: String,
    pub(crate) agent_hash: &'static str,
    /// The archive of its root.
    root: Option<PathBuf>,
    pub(crate) room: KernelRoom,
    pub(crate) boot_limit: BootLimit,
}

impl Parts {
    /// With the usual QEMU, if none is named.
    pub(crate) fn gather(
        qemu: Option<&Qemu>,
        spec: &VmSpec,
        cache: &Cache,
        extra: &[RootFile],
        root: Option<&GuestRoot>,
        then: Then,
    ) -> Result<Self> {
        Qemu::check_any(cache)?;
        let mut machine = spec.machine.clone();
        let kernel = find_kernel(&spec.kernel, cache)?;
        let platform = Platform::of_kernel(&kernel)?;
        let usual = || Qemu::find(platform, &machine, cache);
        let qemu = qemu.map_or_else(usual, |qemu| Ok(qemu.clone()))?;
        let agent = guest_program::agent(platform)?;
        disks::substitute(&mut machine, &kernel);
        let modules = modules(&kernel, &machine, root)?;
        let mut tools = root.map_or_else(|| Ok(Vec::new()), |root| root.tools(&machine))?;
        if start_script::is_in(extra) {
            tools.extend(start_script::files(root)?);
            let arguments = [&*machine.cmdline, &start_script::argument()].join(" ");
            arguments.trim_start().clone_into(&mut machine.cmdline);
        }
        let initramfs = archive(&agent.bytes, &modules, &tools, extra, root.is_some());
        let initramfs_hash = blake3::hash(&initramfs).to_hex().to_string();
        let modules = modules.into_iter().map(|(file, _)| file).collect();
        root.into_iter().for_each(|root| root.make_room(&mut machine));
        let room = KernelRoom::of(&spec.machine, &machine, &kernel.image_hash, cache);
        let setup = Setup {
            machine,
            modules,
            root: root.map(GuestRoot::setup),
            architecture: platform.architecture,
            agent_bytes: agent.bytes.len() as u64,
            then,
        };
        let root = root.map(|root| root.archive.clone());
        let boot_limit = BootLimit::FIXED;
        Ok(Self {
            qemu,
            setup,
            kernel,
            initramfs,
            initramfs_hash,
            agent_hash: agent.hash,
            root,
            room,
            boot_limit,
        })
    }

    /// Boots a guest (`attempt`), with more memory for its kernel as long as that dies for lack of it.
    /// Fails as the last attempt.
    pub(crate) fn with_room<T>(
        &mut self,
        say: &mut dyn FnMut(&str),
        mut attempt: impl FnMut(&Self, &mut dyn FnMut(&str)) -> Result<T>,
    ) -> Result<T> {
        let known = self.room.known();
        let mut bytes = known.unwrap_or(self.room.first_bytes);
        let done = loop {
            self.setup.machine.kernel_memory_bytes = bytes;
            match (attempt(self, say), self.room.more(bytes)) {
                (Err(VmError::KernelMemory(_)), Some(more)) => bytes = more,
                (other, _) => break other?,
            }
        };
        if self.room.grown(&self.setup.machine).is_some() {
            let [grown, first] = [bytes, self.room.first_bytes].map(exact_size);
            say(&format!(
                "this kernel needs more memory for itself: kernel_mem={grown}, not {first}"
            ));
            if known != Some(bytes) {
                // In a cache that cannot be written it is found again.
                let _ = self.room.remember(bytes);
            }
        }
        Ok(done)
    }

    /// Writes the boot files; `image` comes from [`Self::image`].
    pub(crate) fn write(&self, image: &[u8], folder: &Path) -> Result<()> {
        let written = fs::write(folder.join(KERNEL), image);
        written
            .and_then(|()| fs::write(folder.join(INITRAMFS), &self.initramfs))
            .map_err(VmError::cache(folder))
    }

    pub(crate) fn boot(&self, folder: &Path, terminal: Option<RawFd>) -> Result<GuestProcess> {
        let memory = folder.join(MEMORY);
        reserve(&memory, ram_bytes(&self.setup)).map_err(VmError::cache(&memory))?;
        let (start, root) = (Start::Boot { terminal }, self.root.as_deref());
        let mut guest = GuestProcess::start(&self.qemu, &self.setup, &[], folder, start, root)?;
        // Slow, busy hosts take long to unpack a root.
        let archive_bytes =
            root.map_or(Ok(0), |root| fs::metadata(root).map(|facts| facts.len()))?;
        guest.boot_limit = self.boot_limit.with_root(archive_bytes);
        Ok(guest)
    }

    /// The uncompressed kernel where QEMU can boot it, so that the guest need not unpack it.
    pub(crate) fn image(&self) -> Result<Vec<u8>> {
        Ok(Platform::of(self.setup.architecture).image(&self.kernel)?)
    }

    pub(crate) fn missed(&self) -> Vec<Unavailable> {
        let missed = |found: &Missing| Unavailable {
            capability: format!("CONFIG_{}", found.config),
            reason: format!("this kernel is built without it: {}", found.lost),
        };
        self.kernel.facts.missing.iter().map(missed).collect()
    }
}

/// Creates the memory file and reserves its space: on a full disk a guest would get a bus error.
fn reserve(path: &Path, bytes: u64) -> io::Result<()> {
    let file = File::create_new(path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        // Not supported by the file system.
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes),
        Err(error) => Err(error.into()),
    }
}

/// Files and contents of the modules that disks and a root need, in the order in which they are
/// loaded.
fn modules(
    kernel: &Kernel,
    machine: &MachineSpec,
    root: Option<&GuestRoot>,
) -> Result<Vec<(String, Vec<u8>)>> {
    let (mut wanted, optional) = disks::modules(machine);
    let has_optional_root = root.is_some_and(|root| !root.needs_module());
    wanted.extend(root.filter(|root| root.needs_module()).map(|_| guest_root::MODULE));
    let mut optional: Vec<&str> = optional.into_iter().collect();
    optional.extend(has_optional_root.then_some(guest_root::MODULE));
    let all = |optional: &[&str]| kernel.modules(&[&wanted[..], optional].concat());
    let found = all(&optional).or_else(|_| {
        optional.retain(|name| kernel.modules(&[name]).is_ok());
        all(&optional)
    })?;
    let named = |module: kernels::Module| (format!("{}.ko", module.name), module.bytes);
    Ok(found.into_iter().map(named).collect())
}

/// The names of all modules that a machine's guests may load, of any kernel.
pub fn modules_of(machine: &MachineSpec) -> Vec<String> {
    let (mut names, optional) = disks::modules(machine);
    names.extend(optional);
    names.push(guest_root::MODULE);
    names.into_iter().map(str::to_owned).collect()
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
    /// The kernel's log, one record per line: `[    0.254061] text`.
    pub dmesg: String,
}

/// Boots a guest without kept machines, and reports how that went; `say` gets the steps that take
/// long. Fails as [`crate::Vm::prepare`].
pub fn boot(
    spec: &VmSpec,
    cache: &Cache,
    stop: Stop<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Booted> {
    let overlay = overlay::of(spec, cache)?;
    let root = GuestRoot::of(spec, cache, stop, say)?;
    let mut parts = Parts::gather(None, spec, cache, &overlay, root.as_ref(), Then::Report)?;
    parts.with_room(say, |parts, _| boot_once(parts, cache, stop))
}

fn boot_once(parts: &Parts, cache: &Cache, stop: Stop<'_>) -> Result<Booted> {
    let folder = Scratch::make(&cache.root, "boot").map_err(VmError::cache(&cache.root))?;
    parts.write(&parts.image()?, folder.path())?;
    let begun = Instant::now();
    let mut guest = parts.boot(folder.path(), None)?;
    let (mut first_line, mut ready, mut dmesg) = (None, None, String::new());
    let ready = guest.follow("boot", stop, |said| {
        match said {
            Message::Notice(Notice::Started) => first_line = Some(begun.elapsed()),
            Message::Notice(Notice::Ready) => ready = Some(begun.elapsed()),
            // As dmesg prints it.
            Message::Notice(Notice::Log { at_us, text }) => {
                let (s, us) = (at_us / 1_000_000, at_us % 1_000_000);
                dmesg += &format!("[{s:5}.{us:06}] {text}\n");
            }
            Message::Event(Event::Ended) => return ready,
            _ => {}
        }
        None
    })?;
    let first_line = first_line.unwrap_or(ready);
    Ok(Booted { release: parts.kernel.release.clone(), first_line, ready, dmesg })
}
