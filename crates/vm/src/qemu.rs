//! QEMU: its path, its version, and the command line of a machine.

use std::env;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};

use guest::{CELL_FILE, CHANNEL_PORT, COMMAND, EXIT_PORT, PAUSE_PORT, PROGRAM, SETUP_FILE};
use keep::Cache;
use model::{Accel, CpuModel, MachineSpec};

use crate::engine::{self, EMULATOR};
use crate::{Result, VmError};

#[derive(Clone, Copy)]
pub(crate) enum Start {
    /// Boots, with its memory in the file. With a terminal, an interactive user has the console at
    /// this socket, and when idle, guest time follows the wall clock.
    Boot { terminal: Option<RawFd> },
    /// Waits to be restored; its memory is a private copy of the file. With a seed, virtual CPUs
    /// take turns at times that it decides.
    Restore { schedule: Option<u64> },
}

pub(crate) const KERNEL: &str = "kernel";
pub(crate) const INITRAMFS: &str = "initramfs";
pub(crate) const MEMORY: &str = "memory";
pub(crate) const DEVICES: &str = "devices";
pub(crate) const FILES: [&str; 4] = [KERNEL, INITRAMFS, MEMORY, DEVICES];
/// This program, also the guest's.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";
const DEV_KVM: &str = "/dev/kvm";
/// Kernel arguments of every guest. Randomness comes only from the seed; crypto self-tests would
/// double the boot time; pressure and delay accounting are on; a kernel in trouble panics.
const CMDLINE: &str = "console=ttyS0 panic=-1 tsc=reliable nokaslr random.trust_cpu=off \
                       random.trust_bootloader=off cryptomgr.notests psi=1 delayacct \
                       cgroup_no_v1=all oops=panic softlockup_panic=1 quiet";

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
    /// Finds the engine in the cache, else QEMU in `$PATH`. The error says what is missing and the
    /// next step.
    pub(crate) fn find(machine: &MachineSpec, cache: &Cache) -> Result<Self> {
        if !cfg!(target_arch = "x86_64") {
            let why = "the deterministic machine needs an x86-64 build of thrashlab: its guest \
                       talks to QEMU through I/O ports, which other architectures do not have";
            return Err(VmError::Unavailable(why.to_owned()));
        }
        if machine.accel == Accel::Kvm {
            File::options().read(true).write(true).open(DEV_KVM).map_err(|error| {
                let next = "use accel=tcg, which needs nothing of the host";
                VmError::Unavailable(format!("accel=kvm: {DEV_KVM}: {error}; {next}"))
            })?;
        } else if let Some(engine) = Self::engines(cache).next() {
            return Ok(engine);
        } else if machine.cpu_count() > 1 {
            return Err(VmError::Unavailable(format!(
                "cpus={}: with several virtual CPUs, what a guest of the system's QEMU does depends \
                 on the host; build the engine, a QEMU with patches: thrashlab vm engine build",
                machine.cpu_count()
            )));
        }
        Self::of_system()
    }

    /// Every QEMU that can run this deterministic machine: the engines, the usual one first, and
    /// that in `$PATH`. The error says what is missing and the next step.
    pub fn all(machine: &MachineSpec, cache: &Cache) -> Result<Vec<Self>> {
        let usual = Self::find(machine, cache)?;
        let others = Self::engines(cache).filter(|engine| *engine != usual).collect::<Vec<_>>();
        let system = (machine.cpu_count() == 1 && usual.firmware.is_some())
            .then(|| Self::of_system().ok())
            .flatten();
        Ok([usual].into_iter().chain(others).chain(system).collect())
    }

    fn engines(cache: &Cache) -> impl Iterator<Item = Self> {
        engine::built(cache).map(|(folder, version)| {
            let program = folder.join(EMULATOR);
            Self { program, version, firmware: Some(folder) }
        })
    }

    fn of_system() -> Result<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut programs = env::split_paths(&path).map(|dir| dir.join(EMULATOR));
        let program = programs.find(|program| program.is_file()).ok_or_else(|| {
            let sudo = if rustix::process::geteuid().is_root() { "" } else { "sudo " };
            VmError::Unavailable(format!(
                "{EMULATOR} is not installed; install it with: {sudo}apt-get install \
                 --no-install-recommends qemu-system-x86 (Fedora: dnf install qemu-system-x86-core)"
            ))
        })?;
        let version = engine::version_of(&program).map_err(VmError::Unavailable)?;
        Ok(Self { program, version, firmware: None })
    }
}

/// The arguments that define the machine.
///
/// Without the engine, cells run in QEMU's record mode, with the record discarded: it makes main
/// loop and virtual CPU exclude each other, so the clock is exact (`docs/vm.md`). A booting machine
/// cannot: QEMU does not save while recording.
pub(crate) fn machine_arguments(
    machine: &MachineSpec,
    start: Start,
    is_engine: bool,
) -> Vec<String> {
    let exact = || format!("sleep=off,exact=on{}", time_options(machine));
    let mode = match start {
        Start::Boot { terminal: Some(_) } => "sleep=on".to_owned(),
        Start::Boot { terminal: None } if !is_engine => "sleep=off".to_owned(),
        Start::Restore { .. } if !is_engine => "sleep=off,rr=record,rrfile=/dev/null".to_owned(),
        Start::Restore { schedule: Some(seed) } => format!("{},schedule={seed}", exact()),
        _ => exact(),
    };
    let processor = match machine.accel {
        Accel::Tcg => {
            let shift = machine.icount_shift;
            // A full translation cache depends on the host, as does the device for other systems'
            // task priorities (`engine/README.md`).
            let (cache, devices) = match is_engine {
                true => (",tb-size=1024", " -global apic-common.vapic=off"),
                false => ("", ""),
            };
            format!("-accel tcg{cache} -icount shift={shift},{mode} -cpu qemu64{devices}")
        }
        Accel::Kvm => "-accel kvm -cpu host".to_owned(),
    };
    let nodes = nodes(machine);
    let (sockets, memory) = match &nodes[..] {
        [_] => (String::new(), ",memory-backend=ram"),
        // A core's siblings are on its node.
        nodes => (format!(",sockets={}", nodes.len()), ""),
    };
    let fixed = format!(
        "{processor} -rtc base=2020-01-01,clock=vm -seed 1 -smp {}{sockets} -no-user-config \
         -nodefaults -display none -no-reboot -action panic=pause -machine pc{memory} \
         -device pvpanic,ioport={PAUSE_PORT} \
         -device isa-debugcon,iobase={CHANNEL_PORT:#x},chardev=channel \
         -device isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x04 \
         -serial chardev:console -m {}B{} -append",
        machine.cpu_count(),
        ram_bytes(machine),
        nodes.iter().filter_map(Node::argument).collect::<String>(),
    );
    // Only the last argument contains spaces.
    fixed.split(' ').map(str::to_owned).chain([command_line(machine)]).collect()
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

fn nodes(machine: &MachineSpec) -> Vec<Node> {
    let count = machine.node_count();
    let cpus = machine.cpu_count() / count;
    let size_bytes = ram_bytes(machine) / u64::from(count);
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

/// The machine's memory plus this program, whose pages in the root a guest cannot evict
/// (`Documentation/filesystems/ramfs-rootfs-initramfs.rst`). Each node has an equal part of whole MiB.
pub(crate) fn ram_bytes(machine: &MachineSpec) -> u64 {
    let program_bytes = fs::metadata(THIS_PROGRAM).map_or(0, |program| program.len());
    let bytes = machine.ram_bytes().saturating_add(program_bytes.next_multiple_of(1 << 20));
    match machine.nodes {
        None => bytes,
        Some(count) => bytes.checked_next_multiple_of(u64::from(count) << 20).unwrap_or(bytes),
    }
}

fn command_line(machine: &MachineSpec) -> String {
    let own = &machine.cmdline;
    let space = if own.is_empty() { "" } else { " " };
    format!("{CMDLINE}{space}{own} rdinit={PROGRAM} -- {COMMAND}")
}

pub(crate) fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// The arguments with paths on this host. QEMU wants commas doubled.
pub(crate) fn file_arguments(
    machine: &MachineSpec,
    start: Start,
    folder: &Path,
    [setup, cell, channel]: [&File; 3],
) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let memory = path(MEMORY).replace(',', ",,");
    let share = if matches!(start, Start::Restore { .. }) { "off" } else { "on" };
    let backends = nodes(machine).into_iter().map(|node| {
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
    use super::*;

    /// Cells are kept under a hash of these: another text would be other machines.
    #[test]
    fn the_arguments_of_a_machine_are_these() {
        let machine = crate::machine::load("p2-350").unwrap().machine;
        let arguments = machine_arguments(&machine, Start::Restore { schedule: None }, false);
        let memory = format!("{}B", ram_bytes(&machine));
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
        assert_eq!(*last, command_line(&machine));
    }

    #[test]
    fn the_engine_needs_no_record_and_may_have_several_cpus() {
        let mut machine = crate::machine::load("micro").unwrap().machine;
        machine.cpus = Some(4);
        let seeded = Start::Restore { schedule: Some(7) };
        let arguments = machine_arguments(&machine, seeded, true).join(" ");
        assert!(arguments.contains("shift=3,sleep=off,exact=on,schedule=7 "), "{arguments}");
        assert!(arguments.contains(" -smp 4 "), "{arguments}");
        let boot = machine_arguments(&machine, Start::Boot { terminal: None }, true).join(" ");
        assert!(boot.contains("shift=3,sleep=off,exact=on -cpu"), "{boot}");
    }

    #[test]
    fn nodes_divide_cpus_and_the_memory_file() {
        let mut machine = crate::machine::load("micro").unwrap().machine;
        (machine.cpus, machine.nodes) = (Some(4), Some(2));
        let start = Start::Restore { schedule: None };
        let arguments = machine_arguments(&machine, start, true).join(" ");
        let half_bytes = ram_bytes(&machine) / 2;
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
        let files = file_arguments(&machine, start, Path::new("/x"), [&file; 3]);
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
            machine_arguments(&machine, Start::Restore { schedule: Some(7) }, true).join(" ")
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
            machine_arguments(&machine, Start::Boot { terminal: None }, false).join(" ");
        assert!(deterministic.contains("-icount shift=3,sleep=off"), "{deterministic}");
        assert!(deterministic.contains("quiet mitigations=off rdinit=/thrashlab -- __guest"));
        machine.accel = Accel::Kvm;
        let fast = machine_arguments(&machine, Start::Restore { schedule: None }, false).join(" ");
        assert!(fast.contains("-accel kvm") && !fast.contains("icount"), "{fast}");
    }
}
