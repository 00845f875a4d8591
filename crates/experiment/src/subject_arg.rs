//! `--subject`: where to run, as it is typed and as it is resolved.

use std::str::FromStr;

use model::units::{format_size, parse_size_bytes};
use model::{MmuSpec, SandboxSpec, SubjectSpec, VmSpec};
use subject::{Machine, Stage};
use vm::{Cache, VmRequest};

use crate::simulated::mmu_spec;

/// Memory of a sandbox if nothing is said, in bytes.
const SANDBOX_BYTES: u64 = 512 << 20;
/// Most memory that loads take on the host if nothing is said, in bytes.
const HOST_BYTES: u64 = 1 << 30;
/// Smallest memory of a subject, in bytes: below, programs are killed before they are measured.
const SMALLEST_BYTES: u64 = 16 << 20;

/// The kernel that is taken if none is named and the host has none: the newest of Debian's small
/// ones.
const DEFAULT_KERNEL: &str = "deb:linux-image-cloud-amd64";

/// A subject as typed.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectArg {
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
    /// A machine of its own.
    Vm(Box<VmRequest>),
    /// A simulated machine.
    Mmu(Box<MmuSpec>),
}

impl FromStr for SubjectArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
        Self::of_settings(kind, &vm::parse_settings(settings)?)
    }
}

impl SubjectArg {
    /// A subject of a kind (`host`, `sandbox`, `vm`, `mmu`) with settings; of several for one name the
    /// last one counts.
    ///
    /// # Errors
    /// Which kind or setting is unknown or has a bad value, and what there is.
    pub fn of_settings(kind: &str, settings: &[(String, String)]) -> Result<Self, String> {
        if kind == "vm" {
            return vm::request(settings).map(|request| Self::Vm(Box::new(request)));
        }
        if kind == "mmu" {
            return mmu_spec(settings).map(|spec| Self::Mmu(Box::new(spec)));
        }
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
        match kind {
            "host" => Ok(Self::Host { memory_bytes }),
            "sandbox" => Ok(Self::Sandbox { memory_bytes, high_bytes, cpus_milli, processes }),
            _ => Err(format!("no subject is named {kind:?}; there are host, sandbox, vm and mmu")),
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

/// A machine with a kernel; the second part says which one was chosen for the user.
#[must_use]
pub fn vm_spec(request: &VmRequest) -> (VmSpec, Option<String>) {
    let (kernel, note) = match &request.kernel {
        Some(kernel) => (kernel.clone(), None),
        None => {
            let chosen = default_kernel();
            let note = format!("the kernel is {chosen}; name another one with vm:kernel=KERNEL");
            (chosen, Some(note))
        }
    };
    let spec = VmSpec {
        machine: request.machine.clone(),
        kernel,
        overlay: request.overlay.clone(),
        sandbox: request.sandbox.clone(),
    };
    (spec, note)
}

fn default_kernel() -> String {
    let at_hand = kernels::locate(&kernels::KernelSource::Host.into(), &Cache::of_user().kernels());
    match at_hand {
        Ok(kernel) if kernel.modules_dir.is_some() => "host".to_owned(),
        _ => DEFAULT_KERNEL.to_owned(),
    }
}

/// Resolves the subject on this machine; the second part says what was chosen for the user.
///
/// # Errors
/// When the machine cannot have it, with the reason.
pub fn resolve(
    typed: Option<&SubjectArg>,
    stage: &mut Stage,
) -> Result<(SubjectSpec, Option<String>), String> {
    let machine = Machine::read()?;
    let (subject, note) = match typed {
        Some(SubjectArg::Sandbox { memory_bytes, high_bytes, cpus_milli, processes }) => {
            let spec = SandboxSpec {
                memory_bytes: memory_bytes.unwrap_or_else(|| sandbox_bytes(&machine)),
                high_bytes: *high_bytes,
                cpus_milli: *cpus_milli,
                processes: *processes,
            };
            check_memory(spec.memory_bytes, &machine)?;
            stage.try_sandbox(&spec).map_err(|error| format!("make the sandbox: {error}"))?;
            (SubjectSpec::Sandbox(spec), None)
        }
        Some(SubjectArg::Host { memory_bytes }) => {
            let safe_bytes = memory_bytes.unwrap_or_else(|| host_bytes(&machine));
            check_memory(safe_bytes, &machine)?;
            (SubjectSpec::Host { memory_bytes: safe_bytes }, None)
        }
        Some(SubjectArg::Vm(_) | SubjectArg::Mmu(_)) => {
            return Err("a machine of its own has no stage on this host".to_owned());
        }
        None => {
            let memory_bytes = sandbox_bytes(&machine);
            let spec =
                SandboxSpec { memory_bytes, high_bytes: None, cpus_milli: None, processes: None };
            match stage.try_sandbox(&spec) {
                Ok(()) => (SubjectSpec::Sandbox(spec), None),
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
    fn subjects_are_read_or_refused_with_the_reason() {
        assert_eq!(
            "sandbox:mem=256M,high=128M,cpus=1.5,pids=99".parse(),
            Ok(SubjectArg::Sandbox {
                memory_bytes: Some(256 << 20),
                high_bytes: Some(128 << 20),
                cpus_milli: Some(1500),
                processes: Some(99)
            })
        );
        assert_eq!("host".parse(), Ok(SubjectArg::Host { memory_bytes: None }));
        for bad in [
            "qemu",
            "vm:speed=9",
            "host:cpus=1",
            "sandbox:mem",
            "sandbox:mem=x",
            "host:mem=1M",
            "sandbox:cpus=0",
        ] {
            assert!(bad.parse::<SubjectArg>().is_err(), "{bad} was accepted");
        }
    }
}
