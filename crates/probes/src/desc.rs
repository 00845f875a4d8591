//! What a probe is: the row of the table, and what its functions get.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Most parts that a probe may time by itself.
pub const MAX_PARTS: usize = 8;

/// One probe: a row of [`crate::ALL`].
pub struct Desc {
    /// Name on the command line and in run files.
    pub name: &'static str,
    /// Version of its meaning.
    pub version: u32,
    /// One line for `--help`.
    pub about: &'static str,
    /// How often it interacts.
    pub rhythm: Rhythm,
    /// Names of the parts that it times by itself, with their units.
    pub parts: &'static [&'static str],
    /// Its parameters for a subject, and where the subject forced another choice.
    pub plan: fn(&Setting) -> Plan,
    /// Makes the probe ready, in its own process: from now on it waits for its schedule.
    pub make: fn(&Setting, &Plan) -> Made,
}

/// A probe resolved for a subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Resolved parameters, units last in their names.
    pub params: BTreeMap<String, u64>,
    /// Space that its files take in the work directory, in bytes; loads leave it free.
    pub disk_bytes: u64,
    /// Where the subject forced another choice than the usual one, and why.
    pub notes: Vec<String>,
}

impl Plan {
    /// A plan of these parameters.
    pub(crate) fn of<const N: usize>(params: [(&str, u64); N]) -> Self {
        let params = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { params, disk_bytes: 0, notes: Vec::new() }
    }

    /// A parameter of this plan; 0 if it has none of that name.
    #[must_use]
    pub fn param(&self, name: &str) -> u64 {
        self.params.get(name).copied().unwrap_or(0)
    }
}

/// A probe that is ready, or why it cannot be.
pub type Made = Result<Box<dyn Interaction>, ProbeError>;

/// How often a probe interacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// Once in each interval of the run; every interaction is a sample of its own.
    Interval,
    /// Every `period_ns` (a parameter); the delays are kept in histograms.
    Periodic,
}

/// The subject as a probe sees it.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The subject's memory in bytes.
    pub memory_bytes: u64,
    /// Swap space that the subject may use, in bytes; 0 without swap.
    pub swap_bytes: u64,
    /// Time between two interactions in ns.
    pub interval_ns: u64,
    /// Directory for the probe's files, removed afterwards by whoever made it.
    pub work_dir: PathBuf,
    /// Seed of everything random.
    pub seed: u64,
}

/// Durations of parts of one interaction, in ns, in the order of [`Desc::parts`].
pub type Parts = [u64; MAX_PARTS];

/// One small interaction.
pub trait Interaction {
    /// Does the interaction; this call is the timed region.
    ///
    /// # Errors
    /// When the interaction itself fails; the sample is kept as failed, with the reason.
    fn interact(&mut self, parts: &mut Parts) -> Result<(), ProbeError>;

    /// Tidies up after an interaction, outside the timed region.
    fn settle(&mut self) {}
}

/// Why a probe cannot be made or an interaction failed: the step, and what the system answered.
#[derive(Debug)]
pub struct ProbeError {
    step: &'static str,
    source: io::Error,
}

impl ProbeError {
    /// An error of the system in a step such as `map the fresh array`; allocates nothing.
    pub(crate) fn new(step: &'static str, source: io::Error) -> Self {
        Self { step, source }
    }
}

impl std::fmt::Display for ProbeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.step, self.source)
    }
}

/// A closure for `map_err` that names the step.
pub(crate) fn at(step: &'static str) -> impl Fn(io::Error) -> ProbeError {
    move |source| ProbeError::new(step, source)
}
