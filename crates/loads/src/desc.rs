//! What a load is: the row of the table, and what its functions get.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

use model::Values;
use sys::board::Board;

/// One load: a row of [`crate::ALL`].
pub struct Desc {
    /// Name on the command line, in run files and of its page in `docs/loads/`.
    pub name: &'static str,
    /// Version of its meaning.
    pub version: u32,
    /// One line for `--help`.
    pub about: &'static str,
    /// Names of the totals that the workers count, with their units, in the order of the slots.
    pub totals: &'static [&'static str],
    /// Unit of the dose (`busy_ns`, `cpu_ns`, `bytes`); empty for no load.
    pub dose_unit: &'static str,
    /// Resolves the load for a subject.
    pub plan: fn(&Setting) -> Result<Plan, Unsupported>,
    /// Makes what all workers share, before they are forked.
    pub prepare: fn(&Setting, &Plan) -> Result<(), WorkError>,
    /// The work of one worker, in its own process, until it is killed.
    pub work: fn(&Work<'_>) -> Result<Infallible, WorkError>,
    /// Whether the load is in the state in which it is to be measured.
    pub warm: fn(&Progress<'_>) -> bool,
    /// What was intended and delivered over the time of a progress.
    pub dose: fn(&Progress<'_>) -> Dose,
    /// Removes what `prepare` made (files are removed with the work directory).
    pub finish: fn(&Setting),
}

impl Desc {
    /// The totals of all workers by name.
    #[must_use]
    pub fn totals_of(&self, board: &Board) -> Values {
        self.totals
            .iter()
            .enumerate()
            .map(|(slot, name)| ((*name).into(), board.total(slot)))
            .collect()
    }
}

/// The subject as a load sees it.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The subject's memory in bytes (the sandbox's limit).
    pub memory_bytes: u64,
    /// CPU bandwidth that the subject may use, in thousandths of a CPU.
    pub cpus_milli: u64,
    /// Swap space that the subject may use, in bytes; 0 without swap.
    pub swap_bytes: u64,
    /// Directory for the load's files, removed afterwards by whoever made it.
    pub work_dir: PathBuf,
    /// Free space there that the load may use, in bytes.
    pub free_disk_bytes: u64,
    /// Key for the load's SysV message queue, free and recorded for removal.
    pub queue_key: i32,
    /// Seed of everything random.
    pub seed: u64,
    /// Dose: 1.0 is the load as documented.
    pub intensity: f64,
}

impl Setting {
    /// How many CPUs the subject has: a part of one counts as one.
    #[must_use]
    pub fn cpus(&self) -> u64 {
        self.cpus_milli.div_ceil(1000).max(1)
    }
}

/// A load resolved for a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// How many worker processes there are.
    pub workers: usize,
    /// Resolved parameters, units last in their names.
    pub params: BTreeMap<String, u64>,
    /// Where the subject forced less than the document asks for, and why.
    pub notes: Vec<String>,
}

impl Plan {
    /// A parameter of this plan; 0 if it has none of that name.
    #[must_use]
    pub fn param(&self, name: &str) -> u64 {
        self.params.get(name).copied().unwrap_or(0)
    }
}

/// Why a load cannot run on a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

/// What one worker gets.
pub struct Work<'a> {
    /// The subject.
    pub setting: &'a Setting,
    /// The resolved load.
    pub plan: &'a Plan,
    /// Number of this worker, from 0.
    pub worker: usize,
    /// Where it counts.
    pub board: &'a Board,
}

/// Why a worker gave up: what it did, and what the system answered.
#[derive(Debug)]
pub struct WorkError(String);

impl WorkError {
    /// An error of the system in a step such as `write smallwrite.dat`.
    #[must_use]
    pub fn new(step: &str, error: &io::Error) -> Self {
        Self(format!("{step}: {error}"))
    }
}

impl std::fmt::Display for WorkError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What the workers counted over a span of time.
pub struct Progress<'a> {
    /// The subject.
    pub setting: &'a Setting,
    /// The resolved load.
    pub plan: &'a Plan,
    /// Totals by slot, summed over the workers: what was counted during the span.
    pub totals: &'a [u64],
    /// The same since the load was started.
    pub since_start: &'a [u64],
    /// Length of the span in ns.
    pub elapsed_ns: u64,
}

impl Progress<'_> {
    /// The total of a slot over the span.
    pub(crate) fn total(&self, slot: usize) -> u64 {
        self.totals.get(slot).copied().unwrap_or(0)
    }

    /// The total of a slot since the load was started.
    pub(crate) fn total_since_start(&self, slot: usize) -> u64 {
        self.since_start.get(slot).copied().unwrap_or(0)
    }
}

/// An amount of load, in the load's dose unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dose {
    /// What was intended.
    pub intended: u64,
    /// What was delivered.
    pub delivered: u64,
}

/// `prepare` of a load that shares nothing.
pub(crate) fn nothing_to_prepare(_: &Setting, _: &Plan) -> Result<(), WorkError> {
    Ok(())
}

/// `finish` of a load that leaves nothing but files in its work directory.
pub(crate) fn nothing_to_finish(_: &Setting) {}

/// `value × factor`, as a whole number.
pub(crate) fn scaled(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).round() as u64
}
