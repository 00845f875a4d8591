//! What must be known of a step before it is called one: whether the states that the work depends
//! on differ, and what differs in the kernels' configurations.

use serde::Serialize;
use stats::median;

use super::data::{HistoryCell, HistoryKernel};

/// An amount differs if no run of one kernel has as much as any of the other, and the medians are apart
/// by this part of the larger one, and by this many bytes.
const DIFFERS_FROM: f64 = 0.25;
const DIFFERS_FROM_BYTES: f64 = 1024.0 * 1024.0;

/// A setting that one kernel does not have, or that stays as the machine has it.
const UNSET: &str = "unset";

/// What no run file records, although work depends on it.
pub const NOT_RECORDED: &str = "the sizes and ages of the LRU's generations (lru_gen in debugfs)";

/// Something that differs between two kernels before the measured part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateChange {
    /// What it is: a setting in force, or memory of one kind.
    pub name: String,
    /// Its value with the first kernel.
    pub first: StateValue,
    /// Its value with the second kernel.
    pub second: StateValue,
}

/// A setting's text, or the median of an amount of memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StateValue {
    /// A setting, as the kernel prints it.
    Setting(String),
    /// An amount in bytes.
    Bytes(f64),
}

/// A fact of two configurations that differs, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigChange {
    /// The fact.
    pub name: String,
    /// Its value in the first configuration.
    pub first: String,
    /// Its value in the second configuration.
    pub second: String,
}

/// The states of two cells that differ: settings in force first.
pub(super) fn states(first: &HistoryCell, second: &HistoryCell) -> Vec<StateChange> {
    let mut found = Vec::new();
    let names = first.facts.keys().chain(second.facts.keys());
    for name in crate::distinct(names) {
        let value = |cell: &HistoryCell| {
            StateValue::Setting(cell.facts.get(name).map_or(UNSET, String::as_str).to_owned())
        };
        let (first, second) = (value(first), value(second));
        if first != second {
            found.push(StateChange { name: name.clone(), first, second });
        }
    }
    let names = first.runs.iter().flat_map(|run| run.state.keys());
    for name in crate::distinct(names) {
        let medians = median(&first.states(name)).zip(median(&second.states(name)));
        let Some((one, other)) = medians else { continue };
        let difference = (one - other).abs();
        let is_apart = crate::are_apart(&first.states(name), &second.states(name));
        let is_large = difference >= DIFFERS_FROM_BYTES.max(DIFFERS_FROM * one.max(other));
        if is_apart && is_large {
            let (first, second) = (StateValue::Bytes(one), StateValue::Bytes(other));
            found.push(StateChange { name: name.clone(), first, second });
        }
    }
    found
}

/// The facts of two configurations that differ and are known.
pub(super) fn configurations(first: &HistoryKernel, second: &HistoryKernel) -> Vec<ConfigChange> {
    let is_known = |word: &String| word != "?";
    let changed = first.facts.iter().filter_map(|(name, one)| {
        let other = second.facts.get(name)?;
        (one != other && is_known(one) && is_known(other)).then(|| ConfigChange {
            name: name.clone(),
            first: one.clone(),
            second: other.clone(),
        })
    });
    changed.collect()
}
