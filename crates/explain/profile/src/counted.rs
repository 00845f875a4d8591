//! What the counts of compared profiles are.

use serde::Serialize;

use crate::Part;

/// What the counts of two profiles are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Instructions of guests.
    #[default]
    Instructions,
    /// Time on a CPU in ns.
    OnCpuNs,
    /// Time of waiting in ns.
    WaitsNs,
}

impl Counted {
    /// The times of commands that are compared, with the part of a profile that each is.
    pub(crate) const TIMES: [(Self, Part); 2] =
        [(Self::OnCpuNs, Part::OnCpu), (Self::WaitsNs, Part::Waits)];

    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
