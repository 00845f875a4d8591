//! A subject of this machine as it is asked for, and what this machine makes of it.

use model::units::{format_size, parse_size_bytes};
use model::{SandboxSpec, SubjectSpec};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::stage::Stage;

/// Memory of a sandbox if nothing is said, in bytes.
const SANDBOX_BYTES: u64 = 512 << 20;
/// Most memory that loads take on the host if nothing is said, in bytes.
const HOST_BYTES: u64 = 1 << 30;
/// Smallest memory of a subject, in bytes: below, programs are killed before they are measured.
const SMALLEST_BYTES: u64 = 16 << 20;

/// The machine as it is, or control groups on it. What is not said is chosen where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Asked {
    /// The machine as it is.
    Host {
        /// What loads take for the size of memory, in bytes.
        memory_bytes: Option<u64>,
    },
    /// Control groups.
    Sandbox {
        /// Limit of memory, in bytes.
        memory_bytes: Option<u64>,
        /// Memory from which on processes are slowed down, in bytes.
        high_bytes: Option<u64>,
        /// Limit of CPU bandwidth, in thousandths of a CPU.
        cpus_milli: Option<u64>,
        /// Most processes.
        processes: Option<u64>,
    },
}

impl Asked {
    /// A subject of a kind (`host`, `sandbox`) with settings; of several for one name the last one
    /// counts. `None` if this is another kind.
    ///
    /// # Errors
    /// Which setting is unknown or has a bad value, and what there is.
    pub fn of_settings(kind: &str, settings: &[(String, String)]) -> Option<Result<Self, String>> {
        match kind {
            "host" | "sandbox" => Some(Self::of_kind(kind, settings)),
            _ => None,
        }
    }

    fn of_kind(kind: &str, settings: &[(String, String)]) -> Result<Self, String> {
        let (mut memory_bytes, mut high_bytes) = (None, None);
        let (mut cpus_milli, mut processes) = (None, None);
        for (name, value) in settings {
            match (kind, name.as_str()) {
                (_, "mem") => memory_bytes = Some(parse_memory(value)?),
                ("sandbox", "high") => {
                    let bytes = parse_size_bytes(value).map_err(|error| error.to_string())?;
                    high_bytes = Some(bytes);
                }
                ("sandbox", "cpus") => cpus_milli = Some(parse_cpus(value)?),
                ("sandbox", "pids") => {
                    let count = value.parse().ok().filter(|count| *count >= 8);
                    processes = Some(count.ok_or("pids is a number of at least 8")?);
                }
                _ => return Err(format!("{kind} has no setting {name:?}")),
            }
        }
        Ok(match kind {
            "host" => Self::Host { memory_bytes },
            _ => Self::Sandbox { memory_bytes, high_bytes, cpus_milli, processes },
        })
    }

    /// Whether a subject is the one that is asked for, in all that is said.
    #[must_use]
    pub fn describes(&self, made: &SubjectSpec) -> bool {
        match (self, made) {
            (Self::Host { memory_bytes: asked }, SubjectSpec::Host { memory_bytes }) => {
                asked.is_none_or(|asked| asked == *memory_bytes)
            }
            (
                Self::Sandbox { memory_bytes, high_bytes, cpus_milli, processes },
                SubjectSpec::Sandbox(made),
            ) => {
                memory_bytes.is_none_or(|asked| asked == made.memory_bytes)
                    && *high_bytes == made.high_bytes
                    && *cpus_milli == made.cpus_milli
                    && *processes == made.processes
            }
            _ => false,
        }
    }
}

fn parse_memory(value: &str) -> Result<u64, String> {
    let bytes = parse_size_bytes(value).map_err(|error| error.to_string())?;
    if bytes < SMALLEST_BYTES {
        return Err(format!("a subject has a memory of at least {}", format_size(SMALLEST_BYTES)));
    }
    Ok(bytes)
}

fn parse_cpus(value: &str) -> Result<u64, String> {
    match value.parse::<f64>() {
        Ok(cpus) if (0.05..=4096.0).contains(&cpus) => Ok((cpus * 1000.0).round() as u64),
        _ => Err("cpus is a number of at least 0.05".to_owned()),
    }
}

/// Resolves the subject on this machine; the second part says what was chosen for the user.
///
/// # Errors
/// When the machine cannot have it, with the reason.
pub fn resolve(
    typed: Option<&Asked>,
    stage: &mut Stage,
) -> Result<(SubjectSpec, Option<String>), String> {
    let machine = Machine::read()?;
    let (subject, note) = match typed {
        Some(Asked::Sandbox { memory_bytes, high_bytes, cpus_milli, processes }) => {
            let spec = SandboxSpec {
                memory_bytes: memory_bytes.unwrap_or_else(|| sandbox_bytes(&machine)),
                high_bytes: *high_bytes,
                cpus_milli: *cpus_milli,
                processes: *processes,
            };
            check_memory(spec.memory_bytes, &machine)?;
            let note =
                stage.try_sandbox(&spec).map_err(|error| format!("make the sandbox: {error}"))?;
            (SubjectSpec::Sandbox(spec), note)
        }
        Some(Asked::Host { memory_bytes }) => {
            let safe_bytes = memory_bytes.unwrap_or_else(|| host_bytes(&machine));
            check_memory(safe_bytes, &machine)?;
            (SubjectSpec::Host { memory_bytes: safe_bytes }, None)
        }
        None => {
            let memory_bytes = sandbox_bytes(&machine);
            let spec =
                SandboxSpec { memory_bytes, high_bytes: None, cpus_milli: None, processes: None };
            match stage.try_sandbox(&spec) {
                Ok(note) => (SubjectSpec::Sandbox(spec), note),
                Err(error) => {
                    let memory_bytes = host_bytes(&machine);
                    let note = format!(
                        "{error}. Going on with the host; its loads are sized for {} and do not \
                         thrash it",
                        format_size(memory_bytes)
                    );
                    (SubjectSpec::Host { memory_bytes }, Some(note))
                }
            }
        }
    };
    Ok((subject, note))
}

fn sandbox_bytes(machine: &Machine) -> u64 {
    SANDBOX_BYTES.min(machine.available_bytes / 2)
}

fn host_bytes(machine: &Machine) -> u64 {
    HOST_BYTES.min(machine.available_bytes / 4)
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
            let asked = Asked::of_settings("sandbox", &settings).unwrap().unwrap();
            assert!(asked.describes(&SubjectSpec::Sandbox(made)), "{settings:?}");
        }
    }
}
