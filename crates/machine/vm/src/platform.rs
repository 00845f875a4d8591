//! What differs between guests of two architectures: QEMU's machine and its devices, the console, the
//! form of the kernel's image, and the packages that have all of it.

use guest::{CHANNEL_PORT, CHANNEL_SLOT, EXIT_PORT, PAUSE_PORT, PAUSE_SLOT};
use keep::Cache;
use kernels::{Kernel, KernelArg, KernelError, locate};
use model::{Accel, Architecture, MachineSpec};
use object::elf::{self, Machine};

use crate::{Result, VmError, disks, engine};

/// Kernel arguments of every guest. Randomness comes only from the seed; crypto self-tests would
/// double the boot time; pressure and delay accounting are on; a kernel in trouble panics.
const CMDLINE: &str = "nokaslr random.trust_cpu=off random.trust_bootloader=off cryptomgr.notests \
                       psi=1 delayacct cgroup_no_v1=all oops=panic softlockup_panic=1 quiet";

/// The machine of an architecture.
pub(crate) struct Platform {
    pub(crate) architecture: Architecture,
    /// The name of its emulator.
    pub(crate) emulator: &'static str,
    /// What installs that: Debian's package, and Fedora's.
    pub(crate) packages: [&'static str; 2],
    /// How its devices differ in the engine, with a blank before each argument.
    pub(crate) engine_devices: &'static str,
    /// The processor, and arguments for every guest that is not run by the host's.
    pub(crate) processor: &'static str,
    /// QEMU's machine.
    pub(crate) machine: &'static str,
    /// First arguments of the kernel: its console, and what only this architecture has.
    first_arguments: &'static str,
    /// Its name in kernels, and its number in ELF files.
    kernel: &'static str,
    pub(crate) elf: Machine,
}

/// In the engine without the device for other systems' task priorities (`engine/README.md`).
const X86_64: Platform = Platform {
    architecture: Architecture::X86_64,
    emulator: engine::emulator(Architecture::X86_64),
    packages: ["qemu-system-x86", "qemu-system-x86-core"],
    engine_devices: " -global apic-common.vapic=off -global isa-debugcon.lines=on",
    processor: "qemu64",
    machine: "pc",
    first_arguments: "console=ttyS0 panic=-1 tsc=reliable",
    kernel: kernels::X86_64,
    elf: elf::EM_X86_64,
};

/// Without random numbers of the processor (RNDR) or of the device tree. No memory is set aside for
/// devices (`cma`), which would not be the programs'.
const AARCH64: Platform = Platform {
    architecture: Architecture::Aarch64,
    emulator: engine::emulator(Architecture::Aarch64),
    packages: ["qemu-system-arm", "qemu-system-aarch64-core"],
    engine_devices: "",
    processor: "cortex-a72",
    machine: "virt,gic-version=2,dtb-randomness=off",
    first_arguments: "console=ttyAMA0 panic=-1 cma=0",
    kernel: kernels::ARM64,
    elf: elf::EM_AARCH64,
};

/// The kernel of this name. The error has the next step.
pub(crate) fn find_kernel(name: &str, cache: &Cache) -> Result<Kernel> {
    let arg: KernelArg =
        name.parse().map_err(|error| VmError::KernelName(format!("{name}: {error}")))?;
    locate(&arg, &cache.kernels()).map_err(|error| match error {
        KernelError::Io { path, source } if path.starts_with(&cache.root) => {
            VmError::Cache { path, source }
        }
        other => VmError::Kernel(other),
    })
}

/// Why a kernel cannot be a guest's; `None` if it can, and its disk needs no credits.
pub fn obstacle(kernel: &Kernel) -> Option<String> {
    if let Err(error) = Platform::of_kernel(kernel) {
        return Some(error.to_string());
    }
    let mut machine = MachineSpec::default();
    disks::substitute(&mut machine, kernel);
    let (needed, _) = disks::modules(&machine);
    kernel.modules(&needed).err().map(|error| error.to_string())
}

impl Platform {
    pub(crate) fn of(architecture: Architecture) -> &'static Self {
        match architecture {
            Architecture::X86_64 => &X86_64,
            Architecture::Aarch64 => &AARCH64,
        }
    }

    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        Architecture::ALL.iter().map(|architecture| Self::of(*architecture))
    }

    /// Fails for a kernel of which no guest can be made.
    pub(crate) fn of_kernel(kernel: &Kernel) -> Result<&'static Self> {
        Self::all().find(|platform| platform.kernel == kernel.architecture).ok_or_else(|| {
            let (path, architecture) = (kernel.image_path.display(), &kernel.architecture);
            VmError::Unavailable(format!(
                "{path} is a kernel for {architecture}; guests are of x86-64 or arm64"
            ))
        })
    }

    /// The devices through which guest and host communicate.
    pub(crate) fn devices(&self) -> String {
        match self.architecture {
            Architecture::X86_64 => format!(
                "-device pvpanic,ioport={PAUSE_PORT} \
                 -device isa-debugcon,iobase={CHANNEL_PORT:#x},chardev=channel \
                 -device isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x04"
            ),
            Architecture::Aarch64 => format!(
                "-device pvpanic-pci,addr={PAUSE_SLOT} \
                 -device pci-serial,addr={CHANNEL_SLOT},chardev=channel"
            ),
        }
    }

    /// The kernel's arguments with those of a machine, which replace others of the same name; without those
    /// of the first process.
    pub(crate) fn kernel_arguments(&self, own: &str) -> String {
        let name = |argument: &str| argument.split('=').next().map(str::to_owned);
        let replaced: Vec<Option<String>> = own.split_whitespace().map(name).collect();
        let fixed = CMDLINE.split_whitespace().filter(|it| !replaced.contains(&name(it)));
        let all = [self.first_arguments].into_iter().chain(fixed).chain([own]);
        all.filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The kernel in the form that QEMU boots without the guest unpacking it, if there is one.
    pub(crate) fn image(&self, kernel: &Kernel) -> Result<Vec<u8>, KernelError> {
        match (self.architecture, kernel.vmlinux()) {
            (Architecture::X86_64, Ok(elf)) if kernels::has_pvh_entry(&elf) => Ok(elf),
            (Architecture::X86_64, _) => kernel.image(),
            (Architecture::Aarch64, _) => kernel.bare_image(),
        }
    }

    /// Fails for a machine that guests of this architecture cannot have.
    pub(crate) fn check(&self, machine: &MachineSpec) -> Result<()> {
        let name = self.architecture.name();
        let why = if machine.accel == Accel::Kvm && !self.is_of_this_program() {
            format!("accel=kvm: the kernel is for {name}, and this host's processor is not")
        } else if machine.accel == Accel::Kvm && self.architecture != Architecture::X86_64 {
            format!("accel=kvm: only guests of x86-64 have it, and the kernel is for {name}")
        } else {
            return Ok(());
        };
        Err(VmError::Unavailable(format!("{why}; use accel=tcg, which needs nothing of the host")))
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> &'static str {
        self.architecture.name()
    }

    /// Whether this program is for it.
    pub(crate) fn is_of_this_program(&self) -> bool {
        Architecture::of_program() == Some(self.architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_the_machine_replaces_the_one_of_its_name() {
        let own = "psi=0 cgroup_no_v1=none";
        let replaced = X86_64.kernel_arguments(own);
        assert!(replaced.contains(" delayacct oops=panic "), "{replaced}");
        assert!(replaced.ends_with(&format!("quiet {own}")), "{replaced}");
        assert_eq!(X86_64.kernel_arguments(""), format!("{} {CMDLINE}", X86_64.first_arguments));
    }
}
