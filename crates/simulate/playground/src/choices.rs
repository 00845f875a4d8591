//! What a page offers: machines, systems and policies.

use std::collections::BTreeMap;

use serde::Serialize;
use simulated::{mmu_spec, shipped_text};
use sun4::{ContextPolicy, MACHINES, Reload, Swapping, System, Victim};

/// What can be chosen.
#[derive(Debug, Serialize)]
pub(crate) struct Choices {
    /// The values of each setting that has names.
    names: BTreeMap<&'static str, Vec<&'static str>>,
    /// The settings of each machine with each system, resolved.
    presets: Vec<Preset>,
}

/// A machine with a system, unchanged.
#[derive(Debug, Serialize)]
struct Preset {
    machine: &'static str,
    hat: &'static str,
    settings: BTreeMap<String, String>,
}

/// All machines, systems and policies. Fails if a shipped description is wrong.
pub(crate) fn choices() -> Result<Choices, String> {
    let names = [
        ("machine", MACHINES.iter().map(|(name, _)| *name).collect()),
        ("hat", System::names().collect()),
        ("victim", Victim::ALL.iter().map(|it| it.name()).collect()),
        ("reload", Reload::ALL.iter().map(|it| it.name()).collect()),
        ("context_policy", ContextPolicy::ALL.iter().map(|it| it.name()).collect()),
        ("swapping", Swapping::ALL.iter().map(|it| it.name()).collect()),
        ("sharing", vec!["on", "off"]),
    ];
    let names: BTreeMap<&'static str, Vec<&'static str>> = names.into();
    let mut presets = Vec::new();
    for machine in &names["machine"] {
        for hat in &names["hat"] {
            let chosen = [("machine", *machine), ("hat", *hat)];
            let chosen = chosen.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let settings = mmu_spec(&chosen, text_of)?.settings;
            presets.push(Preset { machine, hat, settings });
        }
    }
    Ok(Choices { names, presets })
}

/// The description of a machine; there are no files.
pub(crate) fn text_of(name: &str) -> Result<String, String> {
    shipped_text(name).map(str::to_owned).ok_or_else(|| format!("no machine is named {name:?}"))
}
