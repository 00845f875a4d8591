//! What was measured where, from the headers of runs.

use std::collections::{BTreeMap, BTreeSet};

use model::units::format_size;
use model::{Header, REMOTE_FACT, SubjectSpec};
use serde::Serialize;

/// The subject whose loads take less than its memory.
pub const HOST: &str = "host";

/// What was measured where.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Setup {
    /// `host`, `sandbox`, `vm` or `mmu`.
    pub subject: String,
    /// The machine's address, if the subject was on another one (`ssh://HOST`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The machine, where the subject is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The subject's memory in bytes.
    pub memory_bytes: u64,
    /// CPU bandwidth that the subject may use, in thousandths of a CPU.
    pub cpus_milli: Option<u64>,
    /// Swap space in bytes.
    pub swap_bytes: Option<u64>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The probe.
    pub probe: String,
    /// The timing profile.
    pub profile: String,
    /// Time between two intended starts, in ns.
    pub interval_ns: u64,
    /// Intended interactions under each load.
    pub points: u32,
    /// The seeds, in ascending order.
    pub seeds: Vec<u64>,
}

/// A machine of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Whether equal inputs give equal bytes.
    pub deterministic: bool,
    /// Of a simulated machine: the settings that were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<BTreeMap<String, String>>,
    /// Memory of the sandbox inside it, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_bytes: Option<u64>,
}

/// The seeds of all runs, each once.
#[must_use]
pub fn seeds<'a>(headers: impl Iterator<Item = &'a Header>) -> Vec<u64> {
    headers.map(|header| header.spec.seed).collect::<BTreeSet<u64>>().into_iter().collect()
}

/// The memory that the heading shows: of a machine its own, not that of a sandbox in it.
fn memory_bytes(subject: &SubjectSpec) -> u64 {
    match subject {
        SubjectSpec::Vm(vm) => vm.machine.memory_bytes,
        other => other.memory_bytes(),
    }
}

fn machine(subject: &SubjectSpec) -> Option<Machine> {
    match subject {
        SubjectSpec::Host { .. } | SubjectSpec::Sandbox(_) => None,
        SubjectSpec::Vm(vm) => Some(Machine {
            name: vm.machine.name.clone(),
            deterministic: vm.machine.is_deterministic(),
            simulated: None,
            sandbox_bytes: vm.sandbox.as_ref().map(|sandbox| sandbox.memory_bytes),
        }),
        SubjectSpec::Mmu(mmu) => Some(Machine {
            name: mmu.machine.clone(),
            deterministic: true,
            simulated: Some(mmu.asked.clone()),
            sandbox_bytes: None,
        }),
    }
}

impl Setup {
    /// The setup of a run; `seeds` are those of all runs of its result.
    #[must_use]
    pub fn new(header: &Header, seeds: Vec<u64>) -> Self {
        let fact = |name: &str| header.environment.get(name).cloned();
        let number = |name: &str| fact(name).and_then(|text| text.parse().ok());
        Self {
            subject: header.spec.subject.kind().to_owned(),
            remote: fact(REMOTE_FACT),
            machine: machine(&header.spec.subject),
            memory_bytes: memory_bytes(&header.spec.subject),
            cpus_milli: number("cpus_milli"),
            swap_bytes: number("swap_bytes"),
            kernel: fact("kernel"),
            probe: header.spec.measure.name().to_owned(),
            profile: header.spec.timing.profile.clone(),
            interval_ns: header.spec.timing.interval_ns,
            points: header.spec.timing.points,
            seeds,
        }
    }

    /// The subject in words: `sandbox of 512M, 2 CPUs, no swap, Linux 6.1`.
    #[must_use]
    pub fn place(&self) -> String {
        let mut parts = vec![
            match (&self.machine, self.subject.as_str()) {
                (Some(machine), _) => machine_text(machine, self.memory_bytes),
                (None, HOST) => {
                    format!("{HOST}, loads sized for {}", format_size(self.memory_bytes))
                }
                (None, subject) => format!("{subject} of {}", format_size(self.memory_bytes)),
            },
            self.remote.clone().unwrap_or_default(),
            self.cpus_milli.map_or_else(String::new, cpus),
            match self.swap_bytes {
                Some(0) => "no swap".to_owned(),
                Some(swap_bytes) => format!("swap {}", format_size(swap_bytes)),
                None => String::new(),
            },
            self.kernel.clone().map_or_else(String::new, |kernel| format!("Linux {kernel}")),
        ];
        parts.retain(|part| !part.is_empty());
        parts.join(", ")
    }
}

/// `deterministic machine p2-350 of 96M, in it a sandbox of 64M`, `simulated sparcstation1 of 24M,
/// hat old`.
fn machine_text(machine: &Machine, memory_bytes: u64) -> String {
    if let Some(settings) = &machine.simulated {
        let settings = settings.iter().map(|(name, value)| format!(", {name} {value}"));
        let (name, memory) = (&machine.name, format_size(memory_bytes));
        return format!("simulated {name} of {memory}{}", settings.collect::<String>());
    }
    let kind = if machine.deterministic {
        "deterministic machine"
    } else {
        "machine under KVM (not deterministic)"
    };
    let sandbox = machine.sandbox_bytes.map_or_else(String::new, |size_bytes| {
        format!(", in it a sandbox of {}", format_size(size_bytes))
    });
    format!("{kind} {} of {}{sandbox}", machine.name, format_size(memory_bytes))
}

/// `seed 1`, `seeds 1..5`, `seeds 1,3`.
#[must_use]
pub fn seeds_text(seeds: &[u64]) -> String {
    match seeds {
        [] => "no seed".to_owned(),
        [seed] => format!("seed {seed}"),
        [first, .., last] if last - first + 1 == seeds.len() as u64 => {
            format!("seeds {first}..{last}")
        }
        several => {
            let texts: Vec<String> = several.iter().map(u64::to_string).collect();
            format!("seeds {}", texts.join(","))
        }
    }
}

/// `2 CPUs`, `1 CPU`, `0.5 CPUs`.
fn cpus(cpus_milli: u64) -> String {
    let plural = if cpus_milli == 1000 { "" } else { "s" };
    format!("{} CPU{plural}", cpus_milli as f64 / 1000.0)
}
