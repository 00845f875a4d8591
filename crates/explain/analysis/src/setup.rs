//! What was measured where, from the headers of runs.

use std::collections::BTreeMap;

use itertools::Itertools;
use model::units::format_size;
use model::{Header, REMOTE_FACT, Run, SubjectSpec};
use serde::Serialize;

use crate::remarks::headers;

/// The subject whose loads are smaller than its memory.
pub const HOST: &str = "host";

/// What was measured, and on what subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Setup {
    /// `host`, `sandbox`, `group`, `vm` or `mmu`.
    pub subject: String,
    /// Which control group, if the subject is one that thrashlab did not create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The machine's address, if the subject was on another one (`ssh://HOST`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The machine, if the subject is one.
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
    /// Settings of a simulated machine that were named; absent for other machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<BTreeMap<String, String>>,
    /// The machine whose translations take virtual time, if each instruction does not take the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_machine: Option<String>,
    /// Memory of the sandbox inside it, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_bytes: Option<u64>,
}

/// The seeds of all runs, each once.
pub fn seeds<'a>(headers: impl Iterator<Item = &'a Header>) -> Vec<u64> {
    headers.map(|header| header.spec.seed).sorted().dedup().collect()
}

impl Setup {
    /// The setup of a run; `seeds` are those of all runs of its result.
    pub fn new(header: &Header, seeds: Vec<u64>) -> Self {
        let spec = &header.spec;
        let fact = |name: &str| header.environment.get(name).cloned();
        let number = |name: &str| fact(name).and_then(|text| text.parse().ok());
        // The machine's memory, not that of a sandbox in it.
        let (memory_bytes, machine) = match &spec.subject {
            SubjectSpec::Vm(vm) => {
                let machine = Machine {
                    name: vm.machine.name.clone(),
                    deterministic: vm.machine.is_deterministic(),
                    simulated: None,
                    time_machine: vm.machine.time_machine.clone(),
                    sandbox_bytes: vm.sandbox.as_ref().map(|sandbox| sandbox.memory_bytes),
                };
                (vm.machine.memory_bytes, Some(machine))
            }
            SubjectSpec::Mmu(mmu) => {
                let (name, simulated) = (mmu.machine.clone(), Some(mmu.asked.clone()));
                let machine = Machine {
                    name,
                    deterministic: true,
                    simulated,
                    time_machine: None,
                    sandbox_bytes: None,
                };
                (mmu.memory_bytes, Some(machine))
            }
            other => (other.memory_bytes(), None),
        };
        let group = match &spec.subject {
            SubjectSpec::Group(group) => Some(group.name.to_string()),
            _ => None,
        };
        Self {
            subject: spec.subject.kind().to_owned(),
            group,
            remote: fact(REMOTE_FACT),
            machine,
            memory_bytes,
            cpus_milli: number("cpus_milli"),
            swap_bytes: number("swap_bytes"),
            kernel: fact("kernel"),
            probe: spec.measure.name().to_owned(),
            profile: spec.timing.profile.clone(),
            interval_ns: spec.timing.interval_ns,
            points: spec.timing.points,
            seeds,
        }
    }

    /// The setup of the first run that `is_it`, with the seeds of all runs.
    pub(crate) fn of_first<'a>(
        runs: &[&'a Run],
        is_it: impl Fn(&Header) -> bool,
    ) -> Option<(&'a Header, Self)> {
        let header = headers(runs).find(|header| is_it(header))?;
        Some((header, Self::new(header, seeds(headers(runs)))))
    }

    /// The subject in words, such as `sandbox of 512M, 2 CPUs, no swap, Linux 6.1`.
    pub fn place(&self) -> String {
        let memory = format_size(self.memory_bytes);
        let subject = match &self.machine {
            Some(Machine { name, simulated: Some(settings), .. }) => {
                let settings = settings.iter().map(|(name, value)| format!(", {name} {value}"));
                format!("simulated {name} of {memory}{}", settings.collect::<String>())
            }
            Some(Machine { name, deterministic, time_machine, sandbox_bytes, .. }) => {
                let kind = match deterministic {
                    true => "deterministic machine",
                    false => "machine under KVM (not deterministic)",
                };
                let sandbox = sandbox_bytes.map(format_size);
                let sandbox = sandbox.map(|size| format!(", in it a sandbox of {size}"));
                let time = time_machine.as_ref().map(|name| format!(" with the TLBs of {name}"));
                let (time, sandbox) = (time.unwrap_or_default(), sandbox.unwrap_or_default());
                format!("{kind} {name} of {memory}{time}{sandbox}")
            }
            None if self.subject == HOST => format!("{HOST}, loads sized for {memory}"),
            None => match &self.group {
                Some(group) => group.clone(),
                None => format!("{} of {memory}", self.subject),
            },
        };
        let cpus = self.cpus_milli.map(|milli| {
            let plural = if milli == 1000 { "" } else { "s" };
            format!("{} CPU{plural}", milli as f64 / 1000.0)
        });
        let swap = self.swap_bytes.map(|swap_bytes| match swap_bytes {
            0 => "no swap".to_owned(),
            some => format!("swap {}", format_size(some)),
        });
        let kernel = self.kernel.as_ref().map(|kernel| format!("Linux {kernel}"));
        let parts = [Some(subject), self.remote.clone(), cpus, swap, kernel];
        parts.into_iter().flatten().join(", ")
    }
}

/// `seed 1`, `seeds 1..5`, `seeds 1,3`.
pub fn seeds_text(seeds: &[u64]) -> String {
    match seeds {
        [] => "no seed".to_owned(),
        [seed] => format!("seed {seed}"),
        [first, .., last] if last - first + 1 == seeds.len() as u64 => {
            format!("seeds {first}..{last}")
        }
        several => format!("seeds {}", several.iter().join(",")),
    }
}
