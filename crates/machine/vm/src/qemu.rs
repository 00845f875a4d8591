//! QEMU: its path, its version, and the command line of a machine.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};

use guest::{CELL_FILE, PROGRAM, ROLE, SETUP_FILE, Setup};
use keep::{Cache, in_path};
use model::{Accel, Architecture, CpuModel, MachineSpec, TimeModel, VmSpec};

use crate::engine;
use crate::platform::{Platform, find_kernel};
use crate::start_script::{self, FIRST_PROCESS};
use crate::{Result, VmError};

#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// Boots, with its memory in the file. With a terminal, an interactive user has the console at
    /// this socket, and when idle, guest time follows the wall clock.
    Boot { terminal: Option<RawFd> },
    /// Waits to be restored; its memory is a private copy of the file.
    Restore(Restore<'a>),
}

/// How a guest continues from a booted machine.
#[derive(Clone, Copy, Default)]
pub(crate) struct Restore<'a> {
    /// With a seed, virtual CPUs take turns at times that it decides.
    pub(crate) schedule: Option<u64>,
    /// Where the engine keeps translated code, as the end of its option `-accel tcg`. A plugin needs
    /// code of its own.
    pub(crate) code: Option<&'a str>,
    /// The plugin that its clock pays for, with its arguments; the machine decides.
    pub(crate) clock: Option<&'a str>,
    /// A plugin that observes it, with its arguments.
    pub(crate) plugin: Option<&'a str>,
    /// Where it is to stop. Then it does not start by itself.
    pub(crate) stopping: Option<Stopping<'a>>,
}

/// A point at which the engine stops a guest for gdb.
#[derive(Clone, Copy)]
pub(crate) struct Stopping<'a> {
    /// The emulator's time.
    pub(crate) virtual_ns: u64,
    /// The socket of the gdb stub.
    pub(crate) socket: &'a Path,
}

pub(crate) const KERNEL: &str = "kernel";
pub(crate) const INITRAMFS: &str = "initramfs";
pub(crate) const MEMORY: &str = "memory";
pub(crate) const DEVICES: &str = "devices";
pub(crate) const FILES: [&str; 4] = [KERNEL, INITRAMFS, MEMORY, DEVICES];
const DEV_KVM: &str = "/dev/kvm";

/// A QEMU on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    pub(crate) program: PathBuf,
    /// The first line of its `--version`; for an engine also the hash of its files.
    pub version: String,
    /// The folder of its firmware, if it has its own: it is the engine, whose guests depend on
    /// nothing of the host by themselves.
    pub(crate) firmware: Option<PathBuf>,
}

impl Qemu {
    /// Fails where no QEMU is at hand, whatever the kernel.
    pub(crate) fn check_any(cache: &Cache) -> Result<()> {
        let is_any = Platform::all().any(|platform| {
            in_path(platform.emulator).is_some() || Self::engines(platform, cache).next().is_some()
        });
        if is_any { Ok(()) } else { Err(not_installed(Platform::of(Architecture::default()))) }
    }

    /// Finds the engine in the cache, else QEMU in `$PATH`. The error says what is missing and the
    /// next step.
    pub(crate) fn find(platform: &Platform, machine: &MachineSpec, cache: &Cache) -> Result<Self> {
        platform.check(machine)?;
        if machine.accel == Accel::Kvm {
            File::options().read(true).write(true).open(DEV_KVM).map_err(|error| {
                let next = "use accel=tcg, which needs nothing of the host";
                VmError::Unavailable(format!("accel=kvm: {DEV_KVM}: {error}; {next}"))
            })?;
        } else if machine.time_model == TimeModel::Memory
            && platform.architecture != Architecture::X86_64
        {
            return Err(VmError::Unavailable(format!(
                "time.model=memory needs a guest of x86-64, and the kernel is for {}",
                platform.name()
            )));
        } else if let Some(engine) = Self::engines(platform, cache).next() {
            return Ok(engine);
        } else if machine.time_model == TimeModel::Memory {
            return Err(VmError::Unavailable(format!(
                "time.model=memory: only the engine, a QEMU with patches, can charge the virtual \
                 clock; build it: {}",
                engine::build_command(platform.architecture)
            )));
        } else if machine.cpu_count() > 1 {
            return Err(VmError::Unavailable(format!(
                "cpus={}: with several virtual CPUs, what a guest of the system's QEMU does depends \
                 on the host; build the engine, a QEMU with patches: {}",
                machine.cpu_count(),
                engine::build_command(platform.architecture)
            )));
        }
        Self::of_system(platform)
    }

    /// Every QEMU that can run a deterministic machine with this kernel: the engines, the usual one
    /// first, and that in `$PATH`. The error says what is missing and the next step.
    pub fn all(spec: &VmSpec, cache: &Cache) -> Result<Vec<Self>> {
        Self::all_of(Platform::of_kernel(&find_kernel(&spec.kernel, cache)?)?, &spec.machine, cache)
    }

    /// As [`Self::all`], for a machine of this platform.
    pub(crate) fn all_of(
        platform: &Platform,
        machine: &MachineSpec,
        cache: &Cache,
    ) -> Result<Vec<Self>> {
        let usual = Self::find(platform, machine, cache)?;
        let others: Vec<Self> =
            Self::engines(platform, cache).filter(|engine| *engine != usual).collect();
        let is_plain = machine.cpu_count() == 1 && machine.time_model != TimeModel::Memory;
        let system = (is_plain && usual.firmware.is_some())
            .then(|| Self::of_system(platform).ok())
            .flatten();
        Ok([usual].into_iter().chain(others).chain(system).collect())
    }

    fn engines(platform: &Platform, cache: &Cache) -> impl Iterator<Item = Self> {
        let emulator = platform.emulator;
        engine::built(platform.architecture, cache).map(move |(folder, version)| {
            let program = folder.join(emulator);
            Self { program, version, firmware: Some(folder) }
        })
    }

    fn of_system(platform: &Platform) -> Result<Self> {
        let program = in_path(platform.emulator).ok_or_else(|| not_installed(platform))?;
        let version = engine::version_of(&program).map_err(VmError::Unavailable)?;
        Ok(Self { program, version, firmware: None })
    }
}

fn not_installed(platform: &Platform) -> VmError {
    let sudo = if rustix::process::geteuid().is_root() { "" } else { "sudo " };
    let (emulator, [debian, fedora]) = (platform.emulator, platform.packages);
    VmError::Unavailable(format!(
        "{emulator} is not installed; install it with: {sudo}apt-get install \
         --no-install-recommends {debian} (Fedora: dnf install {fedora})"
    ))
}

/// The arguments that define the machine.
///
/// Without the engine, cells run in QEMU's record mode, with the record discarded: it makes main
/// loop and virtual CPU exclude each other, so the clock is exact (`docs/vm.md`). A booting machine
/// cannot: QEMU does not save while recording.
pub(crate) fn machine_arguments(setup: &Setup, start: Start<'_>, is_engine: bool) -> Vec<String> {
    let (machine, platform) = (&setup.machine, Platform::of(setup.architecture));
    let exact = || format!("sleep=off,exact=on{}", time_options(machine));
    let mode = match start {
        Start::Boot { terminal: Some(_) } => "sleep=on".to_owned(),
        Start::Boot { terminal: None } if !is_engine => "sleep=off".to_owned(),
        Start::Restore(_) if !is_engine => "sleep=off,rr=record,rrfile=/dev/null".to_owned(),
        Start::Restore(Restore { schedule, stopping, .. }) => {
            let schedule = schedule.map(|seed| format!(",schedule={seed}")).unwrap_or_default();
            let stop = stopping.map(|at| format!(",stop={}", at.virtual_ns)).unwrap_or_default();
            format!("{}{schedule}{stop}", exact())
        }
        _ => exact(),
    };
    let processor = match machine.accel {
        Accel::Tcg => {
            let shift = machine.icount_shift;
            // A full translation cache depends on the host (`engine/README.md`).
            let (cache, devices) = match is_engine {
                true => (",tb-size=1024", platform.engine_devices),
                false => ("", ""),
            };
            let code = match start {
                Start::Restore(restore) => restore.code.unwrap_or_default(),
                Start::Boot { .. } => "",
            };
            format!(
                "-accel tcg{cache}{code} -icount shift={shift},{mode} -cpu {}{devices}",
                platform.processor
            )
        }
        Accel::Kvm => "-accel kvm -cpu host".to_owned(),
    };
    let nodes = nodes(setup);
    let (sockets, memory) = match &nodes[..] {
        [_] => (String::new(), ",memory-backend=ram"),
        // A core's siblings are on its node.
        nodes => (format!(",sockets={}", nodes.len()), ""),
    };
    let fixed = format!(
        "{processor} -rtc base=2020-01-01,clock=vm -seed 1 -smp {}{sockets} -no-user-config \
         -nodefaults -display none -no-reboot -action panic=pause -machine {}{memory} \
         {} -serial chardev:console -m {}B{} -append",
        machine.cpu_count(),
        platform.machine,
        platform.devices(),
        ram_bytes(setup),
        nodes.iter().filter_map(Node::argument).collect::<String>(),
    );
    // Only the last argument contains spaces.
    fixed.split(' ').map(str::to_owned).chain([command_line(setup)]).collect()
}

/// A NUMA node: a range of CPUs, and a part of the memory file.
struct Node {
    /// Its number, if it is not the only one.
    number: Option<u8>,
    first_cpu: u8,
    last_cpu: u8,
    offset_bytes: u64,
    size_bytes: u64,
}

impl Node {
    /// The name of its memory.
    fn memory(&self) -> String {
        self.number.map_or("ram".to_owned(), |number| format!("ram{number}"))
    }

    /// The arguments of a node with others next to it, with a blank before them.
    fn argument(&self) -> Option<String> {
        let Self { number, first_cpu, last_cpu, .. } = self;
        let (number, memory) = ((*number)?, self.memory());
        Some(format!(" -numa node,nodeid={number},cpus={first_cpu}-{last_cpu},memdev={memory}"))
    }
}

fn nodes(setup: &Setup) -> Vec<Node> {
    let count = setup.machine.node_count();
    let cpus = setup.machine.cpu_count() / count;
    let size_bytes = ram_bytes(setup) / u64::from(count);
    let node = |number| Node {
        number: (count > 1).then_some(number),
        first_cpu: number * cpus,
        last_cpu: (number + 1) * cpus - 1,
        offset_bytes: u64::from(number) * size_bytes,
        size_bytes,
    };
    (0..count).map(node).collect()
}

/// What time means with several virtual CPUs; nothing if it is what the engine does by itself.
fn time_options(machine: &MachineSpec) -> String {
    let model = machine.cpu_model;
    let has_default = model == CpuModel::default() && machine.cpu_quantum_ns.is_none();
    if machine.cpu_count() == 1 || has_default {
        return String::new();
    }
    let quantum_ns = machine.cpu_quantum_ns.unwrap_or(model.quantum_ns());
    format!(",model={},quantum={quantum_ns}", model.name())
}

/// The machine's memory plus the agent, whose pages in the root a guest cannot evict
/// (`Documentation/filesystems/ramfs-rootfs-initramfs.rst`). Each node has an equal part of whole MiB.
pub(crate) fn ram_bytes(setup: &Setup) -> u64 {
    let machine = &setup.machine;
    let bytes = machine.ram_bytes().saturating_add(setup.agent_bytes.next_multiple_of(1 << 20));
    match machine.nodes {
        None => bytes,
        Some(count) => bytes.checked_next_multiple_of(u64::from(count) << 20).unwrap_or(bytes),
    }
}

fn command_line(setup: &Setup) -> String {
    let own = &setup.machine.cmdline;
    let arguments = Platform::of(setup.architecture).kernel_arguments(own);
    // A guest with a start script has another first process, which becomes the agent.
    let first = match own.contains(&start_script::argument()) {
        true => String::new(),
        false => format!(" {FIRST_PROCESS}{PROGRAM}"),
    };
    format!("{arguments}{first} -- {ROLE}")
}

pub(crate) fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// The arguments with paths on this host. QEMU wants commas doubled.
pub(crate) fn file_arguments(
    of: &Setup,
    start: Start<'_>,
    folder: &Path,
    [setup, cell, channel]: [&File; 3],
) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let memory = path(MEMORY).replace(',', ",,");
    let share = if matches!(start, Start::Restore(_)) { "off" } else { "on" };
    let backends = nodes(of).into_iter().map(|node| {
        let (id, size_bytes) = (node.memory(), node.size_bytes);
        // Before QEMU 8.1 there is no offset.
        let offset = match node.offset_bytes {
            0 => String::new(),
            bytes => format!(",offset={bytes}"),
        };
        let backend = format!(
            "memory-backend-file,id={id},size={size_bytes}B,mem-path={memory}{offset},share={share}"
        );
        ("-object", backend)
    });
    let others = [
        ("-kernel", path(KERNEL)),
        ("-initrd", path(INITRAMFS)),
        ("-fw_cfg", format!("name={SETUP_FILE},file={}", path_of(setup))),
        ("-fw_cfg", format!("name={CELL_FILE},file={}", path_of(cell))),
        ("-chardev", format!("file,id=channel,path={}", path_of(channel))),
    ];
    backends.chain(others).flat_map(|(name, value)| [name.to_owned(), value]).collect()
}

#[cfg(test)]
mod tests {
    use guest::Then;

    use super::*;

    fn setup(machine: &MachineSpec) -> Setup {
        Setup {
            machine: machine.clone(),
            modules: Vec::new(),
            root: None,
            architecture: Architecture::X86_64,
            agent_bytes: 2_000_000,
            then: Then::Cell,
        }
    }

    /// Cells are kept under a hash of these: another text would be other machines.
    #[test]
    fn the_arguments_of_a_machine_are_these() {
        let machine = crate::machine::load("p2-350").unwrap().machine;
        let arguments =
            machine_arguments(&setup(&machine), Start::Restore(Restore::default()), false);
        let memory = format!("{}B", ram_bytes(&setup(&machine)));
        let expected = [
            "-accel",
            "tcg",
            "-icount",
            "shift=3,sleep=off,rr=record,rrfile=/dev/null",
            "-cpu",
            "qemu64",
            "-rtc",
            "base=2020-01-01,clock=vm",
            "-seed",
            "1",
            "-smp",
            "1",
            "-no-user-config",
            "-nodefaults",
            "-display",
            "none",
            "-no-reboot",
            "-action",
            "panic=pause",
            "-machine",
            "pc,memory-backend=ram",
            "-device",
            "pvpanic,ioport=1285",
            "-device",
            "isa-debugcon,iobase=0xe9,chardev=channel",
            "-device",
            "isa-debug-exit,iobase=0xf4,iosize=0x04",
            "-serial",
            "chardev:console",
            "-m",
            &memory,
            "-append",
        ];
        let (last, others) = arguments.split_last().unwrap();
        assert_eq!(others, expected);
        assert_eq!(*last, command_line(&setup(&machine)));
    }

    #[test]
    fn a_guest_of_aarch64_has_another_machine_and_the_memory_of_its_own_agent() {
        let machine = crate::machine::load("micro").unwrap().machine;
        let (architecture, agent_bytes) = (Architecture::Aarch64, (3 << 20) - 1);
        let setup = Setup { architecture, agent_bytes, ..setup(&machine) };
        assert_eq!(ram_bytes(&setup), machine.ram_bytes() + (3 << 20));
        let start = Start::Restore(Restore::default());
        let arguments = machine_arguments(&setup, start, false).join(" ");
        for expected in [
            "shift=3,sleep=off,rr=record,rrfile=/dev/null -cpu cortex-a72 ",
            "-machine virt,gic-version=2,dtb-randomness=off,memory-backend=ram ",
            "-device pvpanic-pci,addr=1 -device pci-serial,addr=2,chardev=channel ",
            "-append console=ttyAMA0 panic=-1 cma=0 nokaslr ",
        ] {
            assert!(arguments.contains(expected), "{expected}: {arguments}");
        }
    }

    /// QEMU prints a warning for a default of a device that an architecture does not have.
    #[test]
    fn the_engine_of_each_architecture_has_its_own_devices() {
        let machine = crate::machine::load("micro").unwrap().machine;
        let arguments = |architecture| {
            let setup = Setup { architecture, ..setup(&machine) };
            machine_arguments(&setup, Start::Restore(Restore::default()), true).join(" ")
        };
        let (pc, virt) = (arguments(Architecture::X86_64), arguments(Architecture::Aarch64));
        assert!(pc.contains("-global isa-debugcon.lines=on "), "{pc}");
        assert!(virt.contains("exact=on -cpu cortex-a72 ") && !virt.contains("isa-"), "{virt}");
    }

    #[test]
    fn the_engine_needs_no_record_and_may_have_several_cpus() {
        let mut machine = crate::machine::load("micro").unwrap().machine;
        machine.cpus = Some(4);
        let seeded = Start::Restore(Restore { schedule: Some(7), ..Restore::default() });
        let arguments = machine_arguments(&setup(&machine), seeded, true).join(" ");
        assert!(arguments.contains("shift=3,sleep=off,exact=on,schedule=7 "), "{arguments}");
        assert!(arguments.contains(" -smp 4 "), "{arguments}");
        let boot =
            machine_arguments(&setup(&machine), Start::Boot { terminal: None }, true).join(" ");
        assert!(boot.contains("shift=3,sleep=off,exact=on -cpu"), "{boot}");
    }

    #[test]
    fn nodes_divide_cpus_and_the_memory_file() {
        let mut machine = crate::machine::load("micro").unwrap().machine;
        (machine.cpus, machine.nodes) = (Some(4), Some(2));
        let start = Start::Restore(Restore::default());
        let arguments = machine_arguments(&setup(&machine), start, true).join(" ");
        let half_bytes = ram_bytes(&setup(&machine)) / 2;
        assert_eq!(half_bytes % (1 << 20), 0);
        for expected in [
            "-smp 4,sockets=2 ",
            "-machine pc -device",
            " -numa node,nodeid=0,cpus=0-1,memdev=ram0 -numa node,nodeid=1,cpus=2-3,memdev=ram1 ",
            &format!("-m {}B ", 2 * half_bytes),
        ] {
            assert!(arguments.contains(expected), "{expected}: {arguments}");
        }
        let file = File::open("/dev/null").unwrap();
        let files = file_arguments(&setup(&machine), start, Path::new("/x"), [&file; 3]);
        let object = |node: u64, offset: String| {
            format!(
                "memory-backend-file,id=ram{node},size={half_bytes}B,mem-path=/x/memory{offset},\
                 share=off"
            )
        };
        assert_eq!(files[1], object(0, String::new()));
        assert_eq!(files[3], object(1, format!(",offset={half_bytes}")));
    }

    #[test]
    fn virtual_cpus_in_parallel_have_a_quantum() {
        let options = |settings: &str| {
            let machine = crate::machine::parse_request(settings).unwrap().machine;
            machine_arguments(
                &setup(&machine),
                Start::Restore(Restore { schedule: Some(7), ..Restore::default() }),
                true,
            )
            .join(" ")
        };
        for (settings, icount) in [
            ("cpus=2", "exact=on,schedule=7 "),
            ("cpus=2,cpus.model=turns", "exact=on,schedule=7 "),
            ("cpus=1,cpus.model=parallel", "exact=on,schedule=7 "),
            ("cpus=2,cpus.quantum=20us", "exact=on,model=turns,quantum=20000,schedule=7 "),
            ("cpus=2,cpus.model=parallel", "exact=on,model=parallel,quantum=10000,schedule=7 "),
            (
                "cpus.quantum=1us,cpus.model=parallel,cpus=2",
                "exact=on,model=parallel,quantum=1000,schedule=7 ",
            ),
        ] {
            let found = options(settings);
            assert!(found.contains(icount), "{settings}: {found}");
        }
    }

    #[test]
    fn virtual_time_belongs_to_the_deterministic_machine_only() {
        let mut machine = crate::machine::load("p2-350").unwrap().machine;
        machine.cmdline = "mitigations=off".to_owned();
        let deterministic =
            machine_arguments(&setup(&machine), Start::Boot { terminal: None }, false).join(" ");
        assert!(deterministic.contains("-icount shift=3,sleep=off"), "{deterministic}");
        assert!(deterministic.contains("quiet mitigations=off rdinit=/thrashlab-agent -- guest"));
        machine.accel = Accel::Kvm;
        let fast = machine_arguments(&setup(&machine), Start::Restore(Restore::default()), false)
            .join(" ");
        assert!(fast.contains("-accel kvm") && !fast.contains("icount"), "{fast}");
    }
}
