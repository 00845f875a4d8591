//! What is run: subject × load × measure × seed, complete enough to run it again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{GroupSpec, Measure, MmuSpec, SandboxSpec, VmSpec};

/// Name of the reference load.
pub const BASELINE: &str = "noload";

/// The full description of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Where it runs.
    pub subject: SubjectSpec,
    /// The reproducible activity in the background.
    pub load: LoadSpec,
    /// What is timed; in the file its key is `probe` or `job`.
    #[serde(flatten)]
    pub measure: Measure,
    /// When interactions start, and how long anything may take.
    pub timing: Timing,
    /// Kernel parameters of this host (`vm.swappiness` = `60`); a guest machine has its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
    /// Seed of everything random in load and probe.
    pub seed: u64,
    /// The run's pass through all cells, from 0.
    pub block: u32,
    /// Position in the order of all runs, from 0.
    pub order: u32,
}

impl Spec {
    /// The lowest format version with this subject and measure, so that older readers can read it.
    pub fn schema(&self) -> u32 {
        // A command may end as `failed`.
        match self.subject {
            SubjectSpec::Group(_) => 3,
            _ if matches!(self.measure, Measure::Command(_)) => 3,
            SubjectSpec::Mmu(_) => 2,
            SubjectSpec::Host { .. } | SubjectSpec::Sandbox(_) | SubjectSpec::Vm(_) => 1,
        }
    }
}

/// Where a run takes place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SubjectSpec {
    /// The machine as it is. Memory loads are sized by `memory_bytes`, a safe amount.
    Host {
        /// The size of memory for the loads, in bytes.
        memory_bytes: u64,
    },
    /// Processes confined by control groups.
    Sandbox(SandboxSpec),
    /// A control group that thrashlab did not create; loads and measure run outside of it.
    Group(GroupSpec),
    /// A kernel in a guest machine.
    Vm(Box<VmSpec>),
    /// A simulated machine with simulated time.
    Mmu(Box<MmuSpec>),
}

impl SubjectSpec {
    /// The subject's memory in bytes: the sandbox's limit, not the host's.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Self::Host { memory_bytes } => *memory_bytes,
            Self::Sandbox(sandbox) => sandbox.memory_bytes,
            Self::Group(group) => group.memory_bytes,
            Self::Vm(vm) => {
                vm.sandbox.as_ref().map_or(vm.machine.memory_bytes, |sandbox| sandbox.memory_bytes)
            }
            Self::Mmu(mmu) => mmu.memory_bytes,
        }
    }

    /// The control groups that confine the run; for a guest machine those inside it.
    pub fn sandbox(&self) -> Option<&SandboxSpec> {
        match self {
            Self::Host { .. } | Self::Group(_) | Self::Mmu(_) => None,
            Self::Sandbox(sandbox) => Some(sandbox),
            Self::Vm(vm) => vm.sandbox.as_ref(),
        }
    }

    /// The subject's kind as a word: `host`, `sandbox`, `group`, `vm` or `mmu`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Host { .. } => "host",
            Self::Sandbox(_) => "sandbox",
            Self::Group(_) => "group",
            Self::Vm(_) => "vm",
            Self::Mmu(_) => "mmu",
        }
    }
}

/// A load and its intensity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// The load's name, as in `docs/loads/`.
    pub name: String,
    /// Version of the load's meaning; results of different versions must not be compared.
    pub version: u32,
    /// Intensity: 1.0 is the load as documented, 0.5 half of it.
    pub intensity: f64,
    /// The load's parameters as resolved for this subject (sizes in bytes, counts).
    #[serde(default)]
    pub params: BTreeMap<String, u64>,
}

/// The schedule of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The profile's name: `default`, `quick`, `slow`, `classic` or `custom`.
    pub profile: String,
    /// Time between two intended starts, in ns.
    pub interval_ns: u64,
    /// Number of intended interactions.
    pub points: u32,
    /// How long the load may take to become warm, in ns.
    pub warmup_ns: u64,
    /// Longest interaction from its intended start in ns; then it is abandoned as censored.
    pub timeout_ns: u64,
}
