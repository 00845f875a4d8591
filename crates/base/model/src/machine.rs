//! Specifications of machines: deterministic ones, simulated ones, and sandboxes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::disk::DiskSpec;
use crate::machine_disks::{MachineDisk, SecondDisk};
use crate::units::{exact_duration, exact_size};

/// A kernel in a machine, and where in it the loads run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VmSpec {
    /// The machine.
    pub machine: MachineSpec,
    /// The kernel as named by the user: a path, a directory, `deb:NAME`.
    pub kernel: String,
    /// A folder of this host that overlays the guest's root: the programs under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
    /// The root file system of programs; `None` = only the agent and the overlay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<RootSpec>,
    /// A sandbox inside the guest; `None` = the whole guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxSpec>,
}

/// A machine, complete enough to be built again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineSpec {
    /// Its name.
    pub name: String,
    /// What executes the guest's instructions.
    pub accel: Accel,
    /// Memory for programs and caches, in bytes, to which loads are sized.
    pub memory_bytes: u64,
    /// Additional memory for the kernel itself, in bytes; equal for all kernels.
    pub kernel_memory_bytes: u64,
    /// Virtual time of an instruction: 2 to the power of this many ns. Unused under KVM.
    pub icount_shift: u8,
    /// Number of virtual CPUs; `None` = one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u8>,
    /// Number of NUMA nodes, each with an equal part of the CPUs and of memory; `None` = one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u8>,
    /// What time means with several virtual CPUs.
    #[serde(default, skip_serializing_if = "CpuModel::is_turns")]
    pub cpu_model: CpuModel,
    /// Virtual time after which the next virtual CPU has its turn, in ns; `None` = the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quantum_ns: Option<u64>,
    /// When virtual CPUs take turns.
    #[serde(default, skip_serializing_if = "Schedule::is_even")]
    pub schedule: Schedule,
    /// What takes virtual time.
    #[serde(default, skip_serializing_if = "TimeModel::is_instructions")]
    pub time_model: TimeModel,
    /// The machine whose translations take time (`thrashlab mmu machines`), by name or path; `None` with
    /// another [model](Self::time_model).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_machine: Option<String>,
    /// The simulated disk, with swap area and files.
    pub disk: DiskSpec,
    /// A second disk, which has either the swap area or the files; `None` = the first has both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk2: Option<SecondDisk>,
    /// Size of the swap area in bytes; 0 = no swap.
    pub swap_bytes: u64,
    /// Added to the kernel's command line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cmdline: String,
    /// Kernel parameters (`vm.swappiness` = `60`) set before anything runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
    /// Transparent huge pages: `always`, `madvise` or `never`; `None` = the kernel's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thp: Option<String>,
    /// When an allocation waits for a huge page: `always`, `defer`, `defer+madvise`, `madvise` or
    /// `never`; `None` = the kernel's default, which is `never` below 512 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thp_defrag: Option<String>,
    /// The multi-generational LRU; `None` = the kernel's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lru_gen: Option<bool>,
    /// The time in ms for which the multi-generational LRU protects the working set: if it cannot,
    /// it has the OOM killer end a process. `None` = the kernel's default, which is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lru_gen_min_ttl_ms: Option<String>,
    /// The compressed cache in front of swap; `None` = the kernel's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zswap: Option<bool>,
}

/// A root file system in a guest. Its content is known by the fact `vm_root_blake3` of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootSpec {
    /// As named by the user: a path, `debian:SUITE`.
    pub name: String,
    /// Where its files are.
    pub files: RootPlace,
    /// Where changes to them go.
    pub changes: RootPlace,
}

named! {
    /// A place for a root's files or changes.
    #[derive(Default)]
    pub enum RootPlace {
        /// The machine's disk, whose room grows by what is there.
        #[default]
        Disk = "disk",
        /// Memory; that of the root's files is additional to the machine's.
        Memory = "memory",
    }
}

impl RootSpec {
    /// Its settings as typed after `vm:` (`docs/vm.md`), without defaults.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let files = (self.files != RootPlace::default())
            .then(|| ("root.files", self.files.name().to_owned()));
        let changes =
            (self.changes != self.files).then(|| ("root.changes", self.changes.name().to_owned()));
        let name = ("root", self.name.clone());
        std::iter::once(name).chain(files).chain(changes).collect()
    }
}

/// A simulated machine and its system, complete enough to simulate it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MmuSpec {
    /// The machine's name, or the path of its description.
    pub machine: String,
    /// Main memory in bytes, to which loads are sized.
    pub memory_bytes: u64,
    /// The machine's description (TOML).
    pub description: String,
    /// The settings named by the user.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<String, String>,
    /// All settings of machine and system beyond the description, defaults included.
    pub settings: BTreeMap<String, String>,
}

named! {
    /// The instruction set of a guest, which its kernel decides.
    #[derive(Default)]
    pub enum Architecture {
        /// PCs.
        #[default]
        X86_64 = "x86-64",
        /// ARM of 64 bits.
        Aarch64 = "aarch64",
    }
}

impl Architecture {
    /// The one that this program is built for; `None` for any other.
    pub fn of_program() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }
}

named! {
    /// What executes the guest's instructions.
    #[derive(Default)]
    pub enum Accel {
        /// QEMU's translator, counting instructions: deterministic.
        #[default]
        Tcg = "tcg",
        /// The host's processor: fast, not deterministic.
        Kvm = "kvm",
    }
}

named! {
    /// What time means with several virtual CPUs.
    #[derive(Default)]
    pub enum CpuModel {
        /// They share one clock: while one executes, the others stand still.
        #[default]
        Turns = "turns",
        /// Each has its own time, so that they execute in parallel in virtual time.
        Parallel = "parallel",
    }
}

impl CpuModel {
    fn is_turns(&self) -> bool {
        *self == Self::Turns
    }

    /// The quantum of virtual time, in ns, if none is named.
    pub fn quantum_ns(self) -> u64 {
        match self {
            Self::Turns => 100_000,
            Self::Parallel => 10_000,
        }
    }
}

named! {
    /// When virtual CPUs take turns.
    #[derive(Default)]
    pub enum Schedule {
        /// At even distances of virtual time.
        #[default]
        Even = "even",
        /// At times that the seed of each run decides.
        Seed = "seed",
    }
}

impl Schedule {
    fn is_even(&self) -> bool {
        *self == Self::Even
    }
}

named! {
    /// What takes virtual time in a deterministic machine.
    #[derive(Default)]
    pub enum TimeModel {
        /// Each instruction takes the same time.
        #[default]
        Instructions = "instructions",
        /// Looking up translations of addresses takes time too, as in the TLBs of a machine.
        Memory = "memory",
    }
}

impl TimeModel {
    fn is_instructions(&self) -> bool {
        *self == Self::Instructions
    }
}

impl MachineSpec {
    /// The guest's memory in bytes, including the stores of its disks.
    pub fn ram_bytes(&self) -> u64 {
        let disks = self.disks();
        let disks = disks.iter().map(MachineDisk::memory_bytes);
        self.memory_bytes
            .saturating_add(self.kernel_memory_bytes)
            .saturating_add(disks.fold(0, u64::saturating_add))
    }

    /// Its disks, the first one first.
    pub fn disks(&self) -> Vec<MachineDisk<'_>> {
        MachineDisk::all(&self.disk, self.disk2.as_ref(), self.swap_bytes)
    }

    /// How many virtual CPUs it has.
    pub fn cpu_count(&self) -> u8 {
        self.cpus.unwrap_or(1)
    }

    /// How many NUMA nodes it has.
    pub fn node_count(&self) -> u8 {
        self.nodes.unwrap_or(1)
    }

    /// Its settings as typed after `vm:` (`docs/vm.md`), without the kernel's defaults.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let size = |bytes| Some(exact_size(bytes));
        let switch = |on: Option<bool>| on.map(|on| if on { "on" } else { "off" }.to_owned());
        let settings = [
            ("accel", Some(self.accel.name().to_owned())),
            ("mem", size(self.memory_bytes)),
            ("kernel_mem", size(self.kernel_memory_bytes)),
            ("shift", Some(self.icount_shift.to_string())),
            ("cpus", self.cpus.map(|count| count.to_string())),
            ("nodes", self.nodes.map(|count| count.to_string())),
            ("cpus.model", (!self.cpu_model.is_turns()).then(|| self.cpu_model.name().to_owned())),
            ("cpus.quantum", self.cpu_quantum_ns.map(exact_duration)),
            ("schedule", (!self.schedule.is_even()).then(|| self.schedule.name().to_owned())),
            (
                "time.model",
                (!self.time_model.is_instructions()).then(|| self.time_model.name().to_owned()),
            ),
            ("time.machine", self.time_machine.clone()),
            ("swap", size(self.swap_bytes)),
            ("cmdline", Some(self.cmdline.clone()).filter(|text| !text.is_empty())),
            ("thp", self.thp.clone()),
            ("thp_defrag", self.thp_defrag.clone()),
            ("lru_gen", switch(self.lru_gen)),
            ("lru_gen.min_ttl_ms", self.lru_gen_min_ttl_ms.clone()),
            ("zswap", switch(self.zswap)),
        ];
        let settings = settings.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?)));
        let sysctls = self.sysctls.iter();
        let sysctls = sysctls.map(|(name, value)| (format!("sysctl.{name}"), value.clone()));
        let disk = self.disk.settings().into_iter();
        let disk = disk.map(|(name, value)| (format!("disk.{name}"), value));
        let second = self.disk2.iter().flat_map(SecondDisk::settings);
        let second = second.map(|(name, value)| (format!("disk2.{name}"), value));
        settings.chain(disk).chain(second).chain(sysctls).collect()
    }

    /// Whether equal inputs give equal bytes.
    pub fn is_deterministic(&self) -> bool {
        self.accel == Accel::Tcg
    }
}

/// The limits of a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Memory limit in bytes, to which loads are sized.
    pub memory_bytes: u64,
    /// Memory above which processes are throttled (`memory.high`), in bytes; `None` = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_bytes: Option<u64>,
    /// CPU bandwidth limit in thousandths of a CPU; `None` = all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_milli: Option<u64>,
    /// Most concurrent processes; `None` = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

impl SandboxSpec {
    /// The limits as typed after `sandbox:`, by name.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let high = self.high_bytes.map(|bytes| ("high", exact_size(bytes)));
        let cpus = self.cpus_milli.map(|milli| ("cpus", (milli as f64 / 1000.0).to_string()));
        let processes = self.processes.map(|count| ("pids", count.to_string()));
        let memory = ("mem", exact_size(self.memory_bytes));
        std::iter::once(memory).chain(high).chain(cpus).chain(processes).collect()
    }
}
