//! The agent's input (one spec, and where to run it), and why nothing can be measured.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use counters::Sources;
use model::{Environment, Spec, Unavailable};
use serde::{Deserialize, Serialize};

/// One run; read as JSON from the agent's standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Assignment {
    /// Name of the run.
    pub run_id: String,
    /// What to run; the parameters of load and probe are resolved by the agent.
    pub spec: Spec,
    /// CPU bandwidth that the subject may use, in thousandths of a CPU.
    pub cpus_milli: u64,
    /// An empty directory for the files of load and probe; the caller removes it.
    pub work_dir: PathBuf,
    /// Free space in `work_dir` that the load may use, in bytes.
    pub free_disk_bytes: u64,
    /// Swap space that the subject may use, in bytes; 0 without swap.
    pub swap_bytes: u64,
    /// Key for a SysV queue and segment, which the caller has recorded for removal.
    pub queue_key: i32,
    /// Control-group files (`cgroup.procs`, `tasks`) that prober and workers enter.
    pub enter: Vec<PathBuf>,
    /// Where counters are read.
    pub sources: Sources,
    /// Facts about the system under test that the agent cannot see.
    pub environment: Environment,
    /// Capabilities that are unavailable to the caller.
    pub missed: Vec<Unavailable>,
    /// Where options come from, for the header.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub origins: BTreeMap<String, String>,
    /// Test hook: freeze the prober.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Freeze>,
}

/// Freezes the prober (SIGSTOP) periodically, to show that the freeze is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeze {
    /// Length of each freeze in ns.
    pub freeze_ns: u64,
    /// Time from one freeze to the next in ns.
    pub every_ns: u64,
}

/// A run that measured nothing.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The spec names a workload that this build does not have.
    #[error("no {0} is named {1:?}")]
    Unknown(&'static str, String),
    /// The load cannot run on this subject.
    #[error("{0}")]
    Unsupported(String),
    /// The probe cannot start.
    #[error("the probe cannot start: {0}")]
    Probe(String),
    /// The job cannot be done on this subject.
    #[error("the job cannot start: {0}")]
    Job(String),
    /// The output is closed, or a process cannot be started.
    #[error(transparent)]
    Io(#[from] io::Error),
}
