//! What is run: subject × load × measure × seed, complete enough to run it again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{GroupSpec, MmuSpec, SandboxSpec, Script, VmSpec};

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
        let is_command = matches!(&self.measure, Measure::Job(job) if job.is_command());
        match self.subject {
            SubjectSpec::Group(_) => 3,
            _ if is_command => 3,
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

/// What is timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// A small interaction, sampled repeatedly.
    Probe(ProbeSpec),
    /// Work that is timed and counted itself.
    Job(Box<JobSpec>),
}

impl Measure {
    /// The probe's or job's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Probe(probe) => &probe.name,
            Self::Job(job) => &job.name,
        }
    }

    /// Version of the probe's or job's meaning.
    pub fn version(&self) -> u32 {
        match self {
            Self::Probe(probe) => probe.version,
            Self::Job(job) => job.version,
        }
    }
}

/// Work that is timed and counted itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The job's name.
    pub name: String,
    /// Version of the job's meaning.
    pub version: u32,
    /// The job's parameters as resolved for this subject: sizes in bytes, times in ns, counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, u64>,
    /// Choices among named values (`pattern` = `chase`), and texts (`run` = `sort big`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub choices: BTreeMap<String, String>,
    /// The script of users, if the job has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
}

/// Name of the job that repeats the user's own commands.
pub const COMMAND: &str = "command";

impl JobSpec {
    /// Whether it repeats the user's own commands.
    pub fn is_command(&self) -> bool {
        self.name == COMMAND
    }

    /// Whether it is work on memory: without a script and without commands.
    pub fn is_memory(&self) -> bool {
        self.script.is_none() && !self.is_command()
    }
}

/// The probe sampled under the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeSpec {
    /// The probe's name.
    pub name: String,
    /// Version of the probe's meaning.
    pub version: u32,
    /// The probe's parameters as resolved for this subject.
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
