//! What a page asks.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Request {
    /// What can be chosen.
    Choices,
    /// The cost of Irlam's program over its size, on each of these machines.
    Sweep(SweepRequest),
    /// The curve of a file, whose bytes follow.
    File(FileRequest),
}

/// A sweep of simulated machines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SweepRequest {
    /// The machines, each with its name in the chart.
    pub(crate) machines: Vec<MachineRequest>,
    /// The first size, as on the command line: `2M`.
    pub(crate) first: String,
    /// The last size.
    pub(crate) last: String,
    /// How often each size is simulated, each time with another seed.
    pub(crate) passes: u32,
}

/// A machine to simulate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineRequest {
    /// Its name in the chart.
    pub(crate) label: String,
    /// Settings as after `mmu:`; an empty value is the machine's own.
    pub(crate) settings: BTreeMap<String, String>,
}

impl MachineRequest {
    /// The settings that are not the machine's own.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = (&String, &String)> {
        self.settings.iter().filter(|(_, value)| !value.is_empty())
    }
}

/// A file to look at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileRequest {
    /// Its name.
    pub(crate) name: String,
    /// The column of a table that is the level, if chosen.
    #[serde(default)]
    pub(crate) level: Option<String>,
    /// The column that is the cost, if chosen.
    #[serde(default)]
    pub(crate) cost: Option<String>,
}
