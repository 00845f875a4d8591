//! A control group that thrashlab did not create.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::units::exact_size;

/// A control group as the subject: what it had is measured, and its limits may be lowered for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSpec {
    /// Which group.
    #[serde(flatten)]
    pub name: GroupName,
    /// The size of memory for the loads, which run outside of the group, in bytes.
    pub memory_bytes: u64,
    /// Most `memory.high` during the run, in bytes; `None` = as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_bytes: Option<u64>,
    /// Most `memory.max` (`memory.limit_in_bytes` of version 1) during the run, in bytes; `None` = as
    /// it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// How a control group is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupName {
    /// By the systemd unit whose group it is.
    Unit(String),
    /// By a process in it.
    Pid(u32),
    /// By its directory, or its path below the mount.
    Path(PathBuf),
}

impl GroupSpec {
    /// The settings as typed after `group:`, by name.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let name = match &self.name {
            GroupName::Unit(name) => ("unit", name.clone()),
            GroupName::Pid(pid) => ("pid", pid.to_string()),
            GroupName::Path(path) => ("path", path.display().to_string()),
        };
        let size = |name, bytes: Option<u64>| bytes.map(|bytes| (name, exact_size(bytes)));
        let limits = [size("high", self.high_bytes), size("max", self.max_bytes)];
        let memory = ("mem", exact_size(self.memory_bytes));
        [name, memory].into_iter().chain(limits.into_iter().flatten()).collect()
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(name) => write!(out, "the unit {name}"),
            Self::Pid(pid) => write!(out, "the control group of process {pid}"),
            Self::Path(path) => write!(out, "the control group {}", path.display()),
        }
    }
}
