//! The lines of a run file (JSON lines; the format is described in `docs/run-format.md`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CounterSet, HistogramRecord, SampleRecord, Spec, SubjectSpec, Unavailable, Values};

/// One line of a run file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Line {
    /// The first line: what was run, where, and unavailable capabilities.
    Header(Box<Header>),
    /// The run entered a phase.
    Phase(PhaseRecord),
    /// One timed interaction.
    Sample(Box<SampleRecord>),
    /// Many timed interactions of a high-rate probe.
    Histogram(Box<HistogramRecord>),
    /// A work item of a job.
    Work(Box<WorkRecord>),
    /// All work items of a job once, by one worker.
    Pass(Box<PassRecord>),
    /// The load volume delivered against that intended.
    Delivered(Delivered),
    /// Counters outside any sample.
    Counters(Box<CounterRecord>),
    /// A remark for readers of the results.
    Warning(Warning),
    /// The cause of death of the system under test or a process of the run.
    Death(Box<DeathRecord>),
    /// The last line.
    End(End),
    /// An unknown kind, kept as read.
    #[serde(untagged)]
    Unknown(Value),
}

/// The first line of a run file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Format version; see [`crate::SCHEMA`].
    pub schema: u32,
    /// Name of the run, unique within its results folder.
    pub run_id: String,
    /// Version of thrashlab that ran it.
    pub thrashlab: String,
    /// Time of day at the start, in ns since 1970 UTC; all other times count from here.
    pub started_unix_ns: u64,
    /// What was run.
    pub spec: Spec,
    /// The system under test.
    pub environment: Environment,
    /// Sources of options (`given`, `environment`, `file`) by name; built-in ones are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub origins: BTreeMap<String, String>,
    /// Unavailable capabilities, with reasons.
    pub missed: Vec<Unavailable>,
}

impl Header {
    /// Whether equal inputs give equal bytes: in the deterministic machine and simulated ones.
    pub fn is_deterministic(&self) -> bool {
        let is_yes = |fact: &String| fact == "yes";
        matches!(self.spec.subject, SubjectSpec::Mmu(_))
            || self.environment.get("vm_deterministic").is_some_and(is_yes)
    }
}

/// Facts of the system under test (`kernel`, `thp`, …); unreadable ones are absent.
pub type Environment = BTreeMap<String, String>;

/// Fact of a run: the BLAKE3 of the agent that executed it, in hexadecimal.
pub const AGENT_FACT: &str = "agent";

/// Fact of a run on another machine: its address (`ssh://HOST`).
pub const REMOTE_FACT: &str = "remote";

named! {
    /// The phases of a run, in order.
    pub enum Phase {
        /// The load was started and is warming up.
        Warming = "warming",
        /// The load reached its warm state.
        Warm = "warm",
        /// The load did not reach its warm state in time; measuring continued.
        NotWarm = "not-warm",
        /// The probe's schedule begins.
        Measuring = "measuring",
        /// The load was stopped.
        Stopped = "stopped",
    }
}

/// The run entered a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// When, in ns from the start of the run (monotonic).
    pub at_ns: u64,
    /// Which phase.
    pub phase: Phase,
    /// What the instrument held when the warm-up ended; only in sandboxes and guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument: Option<InstrumentWeight>,
}

/// Memory that the processes of the agent hold, without what loads, probes and jobs map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstrumentWeight {
    /// How many processes they are.
    pub processes: u64,
    /// Their data, heaps and stacks, in bytes.
    pub anonymous_bytes: u64,
    /// Pages of the agent's file, shared ones once, in bytes. They take nothing of the limit: in a
    /// sandbox they belong to the controller, and a guest has more memory by the size of the file.
    pub file_bytes: u64,
    /// Their page tables, in bytes, with those of what loads, probes and jobs map.
    pub page_table_bytes: u64,
}

/// A work item of a job, such as a command of a session, with its resource usage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkRecord {
    /// When the line was written, in ns from the start of the run.
    pub at_ns: u64,
    /// The worker: number of the user or process, from 0.
    pub worker: u32,
    /// The worker's pass through all items, from 0.
    pub pass: u32,
    /// The item: the command's name.
    pub item: String,
    /// When it began.
    pub started_ns: u64,
    /// When it was complete; `None` if it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_ns: Option<u64>,
    /// When it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub censored_at_ns: Option<u64>,
    /// Why it failed or was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How it ended; absent in files of older versions: see [`WorkRecord::end`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<WorkEnd>,
    /// Usage of the processes that were waited for, under the names of `sys::process::Usage`, and
    /// CPU time of all of them ([`crate::CPU_OF_ALL`]) where that was counted.
    pub usage: Values,
    /// Figures that it printed, by name: times (`_ns`), rates (`_per_s`), other numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// What delayed its processes, in all: `taskstats` of its process tree, else `schedstat` of its
    /// first process, and the increase of the sandbox's `cpu_cgroup`. Empty if none was counted.
    #[serde(
        default,
        skip_serializing_if = "CounterSet::is_empty",
        deserialize_with = "crate::counters::sorted_set"
    )]
    pub delays: CounterSet,
}

/// How an issued command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkEnd {
    /// It ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended it.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// The kernel killed processes of it for lack of memory, perhaps its first one.
    KilledForMemory {
        /// How many were killed.
        processes: u64,
        /// The exit code of its first process; `None` if a signal ended that one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
    },
    /// It could not be started.
    NotStarted {
        /// What the kernel answered.
        reason: String,
    },
    /// It ran into its limit of time and was killed.
    AtLimit,
    /// It waited for the terminal, which another process owns, and was killed.
    StoppedByTerminal {
        /// The signal that stopped it.
        signal: i32,
    },
    /// The run did not wait for it any longer.
    EndedByUs,
}

/// All work items of a job once, by one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassRecord {
    /// When the line was written, in ns from the start of the run.
    pub at_ns: u64,
    /// The worker: number of the user or process, from 0.
    pub worker: u32,
    /// The worker's pass, from 0.
    pub pass: u32,
    /// When it began.
    pub started_ns: u64,
    /// When it was complete.
    pub completed_ns: u64,
    /// Usage of the worker and all its descendants, as in [`WorkRecord::usage`].
    pub usage: Values,
}

/// The load volume delivered against that intended, from the warm state to the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    /// When the line was written, in ns from the start of the run.
    pub at_ns: u64,
    /// Unit of the load volume (`cpu_ns`, `busy_ns`, `bytes`).
    pub unit: String,
    /// The intended volume.
    pub intended: u64,
    /// The delivered volume.
    pub delivered: u64,
    /// Time over which it was delivered, in ns.
    pub elapsed_ns: u64,
    /// Other raw totals of the load (`written_bytes`, `circles`, `loops`, …).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub totals: Values,
}

/// Counters outside any sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterRecord {
    /// When they were read, in ns from the start of the run.
    pub at_ns: u64,
    /// The counters.
    #[serde(deserialize_with = "crate::counters::sorted_set")]
    pub counters: CounterSet,
}

/// A remark for readers of the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// When, in ns from the start of the run.
    pub at_ns: u64,
    /// What happened, where, and what it means for the result.
    pub text: String,
}

/// The cause of death of the system under test or a process of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeathRecord {
    /// When the line was written, in ns from the start of the run.
    pub at_ns: u64,
    /// The cause in one line, such as `BUG: kernel NULL pointer dereference, address: …`.
    pub cause: String,
    /// The kernel's last lines, oldest first, with registers and call trace; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

named! {
    /// How a run ended.
    #[derive(PartialOrd, Ord)]
    pub enum EndStatus {
        /// All intended interactions completed.
        Complete = "complete",
        /// The user stopped it.
        Interrupted = "interrupted",
        /// An interaction took longer than allowed.
        Timeout = "timeout",
        /// The load died before the end.
        LoadDied = "load-died",
        /// The agent died, or the file has no `end` line.
        Killed = "killed",
        /// The kernel under test died.
        KernelDied = "kernel-died",
        /// The kernel killed the probe or the job for lack of memory.
        OutOfMemory = "out-of-memory",
        /// The user's command failed.
        Failed = "failed",
    }
}

/// The last line of a run file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// When, in ns from the start of the run.
    pub at_ns: u64,
    /// How the run ended.
    pub status: EndStatus,
    /// BLAKE3 of all bytes of the file before this line, in hexadecimal.
    pub blake3: String,
}

impl Line {
    /// The text of a warning, or the cause of a death.
    pub fn note(&self) -> Option<&str> {
        match self {
            Self::Warning(warning) => Some(&warning.text),
            Self::Death(death) => Some(&death.cause),
            _ => None,
        }
    }

    /// The nonempty counter sets of the line, with their timestamps in ns of the run.
    pub fn readings(&self) -> impl Iterator<Item = (u64, &CounterSet)> {
        let two = match self {
            Self::Counters(record) => [Some((record.at_ns, &record.counters)), None],
            Self::Sample(record) => [
                Some((record.started_ns.unwrap_or(record.intended_ns), &record.before)),
                Some((record.at_ns, &record.after)),
            ],
            Self::Histogram(record) => {
                [Some((record.from_ns, &record.before)), Some((record.at_ns, &record.after))]
            }
            _ => [None, None],
        };
        two.into_iter().flatten().filter(|(_, set)| !set.is_empty())
    }

    /// When the line was written, in ns from the start of the run; `None` for a header.
    pub fn at_ns(&self) -> Option<u64> {
        match self {
            Self::Header(_) | Self::Unknown(_) => None,
            Self::Phase(record) => Some(record.at_ns),
            Self::Sample(record) => Some(record.at_ns),
            Self::Histogram(record) => Some(record.at_ns),
            Self::Work(record) => Some(record.at_ns),
            Self::Pass(record) => Some(record.at_ns),
            Self::Delivered(record) => Some(record.at_ns),
            Self::Counters(record) => Some(record.at_ns),
            Self::Warning(record) => Some(record.at_ns),
            Self::Death(record) => Some(record.at_ns),
            Self::End(record) => Some(record.at_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_never_began_has_no_readings() {
        let sample = |counters: &str| {
            let fields = r#""kind":"sample","at_ns":9,"index":1,"intended_ns":2"#;
            Line::parse(&format!("{{{fields},\"before\":{counters},\"after\":{counters}}}"))
                .unwrap()
        };
        let moments = |line: &Line| line.readings().map(|(at_ns, _)| at_ns).collect::<Vec<u64>>();
        assert_eq!(moments(&sample(r#"{"vmstat":{"pgfault":1}}"#)), [2, 9]);
        assert_eq!(moments(&sample("{}")), [0; 0]);
    }
}
