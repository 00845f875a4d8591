//! The subject as a workload sees it, the plan derived for it, and errors.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use model::units::format_size;

/// The subject as a workload sees it.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The subject's memory in bytes (the sandbox's limit).
    pub memory_bytes: u64,
    /// CPU bandwidth that the subject may use, in thousandths of a CPU.
    pub cpus_milli: u64,
    /// Swap space that the subject may use, in bytes; 0 without swap.
    pub swap_bytes: u64,
    /// Directory for the workload's files; its creator removes it.
    pub work_dir: PathBuf,
    /// Free space in `work_dir` that may be used, in bytes.
    pub free_disk_bytes: u64,
    /// Unused key for a SysV message queue, recorded for removal.
    pub queue_key: i32,
    /// Time between two interactions in ns.
    pub interval_ns: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Load intensity: 1.0 is the load as documented.
    pub intensity: f64,
    /// Whether the subject is a guest or a sandbox, so that other programs keep their memory.
    pub is_confined: bool,
}

impl Setting {
    /// The number of CPUs, rounded up.
    pub(crate) fn cpus(&self) -> u64 {
        self.cpus_milli.div_ceil(1000).max(1)
    }

    /// The whole pages of a share of the memory.
    pub(crate) fn pages_of_memory(&self, share: f64) -> u64 {
        scaled(self.memory_bytes, share) / page_bytes() as u64
    }

    pub(crate) fn needs_memory(&self, size_bytes: u64) -> Result<(), String> {
        let needed = || format!("it needs memory of {}", format_size(size_bytes));
        if size_bytes > self.memory_bytes { Err(needed()) } else { Ok(()) }
    }

    /// Refuses a file that would fill the disk.
    pub(crate) fn needs_disk(&self, file_bytes: u64) -> Result<(), String> {
        if file_bytes <= self.free_disk_bytes / 10 * 9 {
            return Ok(());
        }
        let (size, [dir, free]) = (format_size(file_bytes), self.disk());
        Err(format!("the file of {size} does not fit into {dir}, which has {free} free"))
    }

    /// The work directory and its free space, for a message.
    pub(crate) fn disk(&self) -> [String; 2] {
        [self.work_dir.display().to_string(), format_size(self.free_disk_bytes)]
    }
}

/// A workload resolved for a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Number of worker processes of a load.
    pub workers: usize,
    /// Resolved parameters, units last in their names.
    pub params: BTreeMap<String, u64>,
    /// Disk space of a probe's files in the work directory, in bytes; loads leave it free.
    pub disk_bytes: u64,
    /// Where the subject forced less than documented, and why.
    pub notes: Vec<String>,
}

impl Plan {
    pub(crate) fn new<const N: usize>(workers: u64, params: [(&str, u64); N]) -> Self {
        let params = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { workers: workers as usize, params, ..Self::default() }
    }

    /// A parameter of this plan, or 0.
    pub(crate) fn param(&self, name: &str) -> u64 {
        debug_assert!(self.params.contains_key(name), "no parameter {name:?}");
        self.params.get(name).copied().unwrap_or(0)
    }
}

/// Why a workload cannot continue: the step that failed and the system's error.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {source}")]
pub struct WorkloadError {
    step: Cow<'static, str>,
    source: io::Error,
}

/// A worker never returns, unless it cannot continue.
pub(crate) type Endless = Result<Infallible, WorkloadError>;

/// Adds the step to an error; a constant one allocates nothing.
pub(crate) fn at(step: impl Into<Cow<'static, str>>) -> impl FnOnce(io::Error) -> WorkloadError {
    move |source| WorkloadError { step: step.into(), source }
}

/// Creates or truncates a file for reading and writing.
pub(crate) fn emptied(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(true).open(path)
}

pub(crate) fn scaled(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).round() as u64
}

pub(crate) fn page_bytes() -> usize {
    rustix::param::page_size()
}
