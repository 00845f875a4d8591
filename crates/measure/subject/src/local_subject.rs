//! A subject of this machine as requested, and as resolved here.

use model::units::{format_size, parse_size_bytes};
use model::{GroupName, GroupSpec, SandboxSpec, SubjectSpec};
use serde::{Deserialize, Serialize};

use crate::group::ExistingGroup;
use crate::machine::Machine;
use crate::stage::Stage;

/// Default memory of a sandbox, in bytes.
const SANDBOX_BYTES: u64 = 512 << 20;
/// Most memory that loads take on the host by default, in bytes.
const HOST_BYTES: u64 = 1 << 30;
/// Smallest memory of a subject, in bytes: with less, programs are killed before they are measured.
const SMALLEST_BYTES: u64 = 16 << 20;
const MOST_CPUS: f64 = 4096.0;

/// The machine as it is, or control groups on it. What is not given is chosen where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LocalSubject {
    /// The machine as it is.
    Host {
        /// What loads take for the size of memory, in bytes.
        memory_bytes: Option<u64>,
    },
    /// Control groups.
    Sandbox(Limits),
    /// A control group that is there already.
    Group(GroupRequest),
}

/// A control group as requested: a [`GroupSpec`] with optional memory for the loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRequest {
    name: GroupName,
    memory_bytes: Option<u64>,
    high_bytes: Option<u64>,
    max_bytes: Option<u64>,
}

impl GroupRequest {
    fn from_settings(settings: &[(String, String)]) -> Result<Self, String> {
        let (mut group, [mut memory, mut high, mut max]) = (None, [None; 3]);
        for (name, value) in settings {
            let size = || match parse_size_bytes(value)? {
                ..SMALLEST_BYTES => {
                    Err(format!("{name}={value}: at least {}", format_size(SMALLEST_BYTES)))
                }
                bytes => Ok(Some(bytes)),
            };
            match name.as_str() {
                "unit" => group = Some(GroupName::Unit(value.clone())),
                "pid" => {
                    let pid =
                        value.parse().map_err(|_| format!("{value:?} is not a process id"))?;
                    group = Some(GroupName::Pid(pid));
                }
                "path" => group = Some(GroupName::Path(value.into())),
                "mem" => memory = size()?,
                "high" => high = size()?,
                "max" => max = size()?,
                _ => {
                    let known = "it has unit, pid, path, mem, high and max";
                    return Err(format!("a group has no setting {name:?}; {known}"));
                }
            }
        }
        let name = group.ok_or("which group? name a unit, a pid or a path: group:unit=NAME")?;
        Ok(Self { name, memory_bytes: memory, high_bytes: high, max_bytes: max })
    }

    fn with_memory(&self, otherwise_bytes: u64) -> GroupSpec {
        let Self { name, memory_bytes, high_bytes, max_bytes } = self.clone();
        let memory_bytes = memory_bytes.unwrap_or(otherwise_bytes);
        GroupSpec { name, memory_bytes, high_bytes, max_bytes }
    }
}

/// The limits of a sandbox as requested: a [`SandboxSpec`] with optional memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Limit of memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Memory from which on processes are slowed down, in bytes.
    pub high_bytes: Option<u64>,
    /// Limit of CPU bandwidth, in thousandths of a CPU.
    pub cpus_milli: Option<u64>,
    /// Most processes.
    pub processes: Option<u64>,
}

impl Limits {
    /// Sets one limit by its option name. The error names the limit and the valid values.
    pub fn set(&mut self, name: &str, value: &str, most_cpus: f64) -> Result<(), String> {
        let size = || parse_size_bytes(value);
        match name {
            "mem" => self.memory_bytes = Some(size()?),
            "high" => self.high_bytes = Some(size()?),
            "cpus" => {
                let cpus = value.parse::<f64>().ok();
                let cpus = cpus.filter(|cpus| (0.05..=most_cpus).contains(cpus));
                let cpus = cpus.ok_or_else(|| format!("cpus is from 0.05 to {most_cpus}"))?;
                self.cpus_milli = Some((cpus * 1000.0).round() as u64);
            }
            "pids" => {
                let count = value.parse().ok().filter(|count| *count >= 8);
                self.processes = Some(count.ok_or("pids is a number of at least 8")?);
            }
            _ => {
                let known = "it has mem, high, cpus and pids";
                return Err(format!("a sandbox has no setting {name:?}; {known}"));
            }
        }
        Ok(())
    }

    /// The limits, with this memory if none was requested.
    pub fn with_memory(&self, otherwise_bytes: u64) -> SandboxSpec {
        SandboxSpec {
            memory_bytes: self.memory_bytes.unwrap_or(otherwise_bytes),
            high_bytes: self.high_bytes,
            cpus_milli: self.cpus_milli,
            processes: self.processes,
        }
    }
}

impl LocalSubject {
    /// A subject by kind (`host`, `sandbox`, `group`) and settings; `None` for another kind. Fails
    /// for an unknown setting or a bad value, and lists what there is.
    pub fn from_settings(
        kind: &str,
        settings: &[(String, String)],
    ) -> Option<Result<Self, String>> {
        let set = |mut limits: Limits, (name, value): &(String, String)| {
            if kind == "host" && name != "mem" {
                return Err(format!("host has no setting {name:?}"));
            }
            limits.set(name, value, MOST_CPUS)?;
            match limits.memory_bytes {
                Some(..SMALLEST_BYTES) => {
                    let smallest = format_size(SMALLEST_BYTES);
                    Err(format!("a subject has a memory of at least {smallest}"))
                }
                _ => Ok(limits),
            }
        };
        let limits = || settings.iter().try_fold(Limits::default(), set);
        match kind {
            "host" => Some(limits().map(|limits| Self::Host { memory_bytes: limits.memory_bytes })),
            "sandbox" => Some(limits().map(Self::Sandbox)),
            "group" => Some(GroupRequest::from_settings(settings).map(Self::Group)),
            _ => None,
        }
    }

    /// Whether a subject matches the request in every value that the request names.
    pub fn describes(&self, made: &SubjectSpec) -> bool {
        match (self, made) {
            (Self::Host { memory_bytes: asked }, SubjectSpec::Host { memory_bytes }) => {
                asked.is_none_or(|asked| asked == *memory_bytes)
            }
            (Self::Sandbox(limits), SubjectSpec::Sandbox(made)) => {
                limits.with_memory(made.memory_bytes) == *made
            }
            (Self::Group(asked), SubjectSpec::Group(made)) => {
                asked.with_memory(made.memory_bytes) == *made
            }
            _ => false,
        }
    }
}

/// Resolves the subject here; also returns a note. Fails when the machine cannot provide it.
pub fn resolve(
    asked: Option<&LocalSubject>,
    stage: &mut Stage,
) -> Result<(SubjectSpec, Option<String>), String> {
    let machine = Machine::read()?;
    let host_bytes = HOST_BYTES.min(machine.available_bytes / 4);
    let limits = match asked {
        Some(LocalSubject::Host { memory_bytes }) => {
            let memory_bytes = memory_bytes.unwrap_or(host_bytes);
            check_memory(memory_bytes, &machine)?;
            return Ok((SubjectSpec::Host { memory_bytes }, None));
        }
        Some(LocalSubject::Group(asked)) => {
            let spec = asked.with_memory(host_bytes);
            check_memory(spec.memory_bytes, &machine)?;
            ExistingGroup::find(&spec.name)?.limits(&spec)?;
            return Ok((SubjectSpec::Group(spec), None));
        }
        Some(LocalSubject::Sandbox(limits)) => limits,
        None => &Limits::default(),
    };
    let spec = limits.with_memory(SANDBOX_BYTES.min(machine.available_bytes / 2));
    check_memory(spec.memory_bytes, &machine)?;
    match stage.try_sandbox(&spec) {
        Ok(note) => Ok((SubjectSpec::Sandbox(spec), note)),
        Err(error) if asked.is_some() => Err(format!("create the sandbox: {error}")),
        Err(error) => {
            let note = format!(
                "{error}. Continuing on the host; its loads are sized for {} and do not thrash it",
                format_size(host_bytes)
            );
            Ok((SubjectSpec::Host { memory_bytes: host_bytes }, Some(note)))
        }
    }
}

fn check_memory(memory_bytes: u64, machine: &Machine) -> Result<(), String> {
    if memory_bytes > machine.memory_bytes {
        return Err(format!(
            "memory of {} is more than this machine has ({})",
            format_size(memory_bytes),
            format_size(machine.memory_bytes)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_written_out_are_asked_for_again() {
        for (high_bytes, cpus_milli, processes) in [
            (None, None, None),
            (Some(5 << 20), Some(1500), Some(99)),
            (Some(4097), Some(50), None),
        ] {
            let made = SandboxSpec { memory_bytes: 1 << 30, high_bytes, cpus_milli, processes };
            let settings = made.settings();
            let settings: Vec<(String, String)> =
                settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let asked = LocalSubject::from_settings("sandbox", &settings).unwrap().unwrap();
            assert!(asked.describes(&SubjectSpec::Sandbox(made)), "{settings:?}");
        }
    }
}
