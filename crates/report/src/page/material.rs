//! Everything that a report is about.

use analysis::comparison::Comparison;
use model::MachineSpec;

use super::Input;

/// Everything that a report is about.
#[derive(Debug, Default)]
pub struct Material<'a> {
    /// The results, in the order in which they were named.
    pub inputs: Vec<Input<'a>>,
    /// What the results differ in, or the levels of an experiment's only factor.
    pub comparison: Option<Comparison>,
    /// What could not be told, and why.
    pub notes: Vec<String>,
    /// Machines that a command can name, as they are without further settings.
    pub machines: Vec<MachineSpec>,
}
