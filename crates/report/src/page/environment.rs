//! The systems on which results were made, and how they differ.

use std::collections::BTreeSet;

use model::units::format_size;

use super::Input;
use render::{Cell, Table, Tone};

/// Facts that an expert asks for first.
const FIRST: [&str; 11] = [
    "kernel",
    "cpu_model",
    "cpus_online",
    "memory_bytes",
    "swap_bytes",
    "governor",
    "thp",
    "lru_gen",
    "swappiness",
    "hypervisor",
    "cmdline",
];
/// Facts that differ from boot to boot and say nothing.
const NAMES_ONLY: [&str; 1] = ["boot_id"];
/// Most values of one fact that are told.
const MOST_VALUES: usize = 4;

/// The facts of all inputs: first those that differ between them, then what an expert asks for
/// first, then the others by name. `None` if nothing was recorded.
pub(super) fn table(inputs: &[Input<'_>]) -> Option<(Table, Vec<String>)> {
    let of_each: Vec<_> = inputs.iter().map(Input::environment).collect();
    let recorded: Vec<usize> =
        (0..inputs.len()).filter(|index| !of_each[*index].is_empty()).collect();
    let all: BTreeSet<&str> = of_each.iter().flat_map(|facts| facts.keys().copied()).collect();
    let first = FIRST.into_iter().filter(|fact| all.contains(fact));
    let others = all.iter().copied().filter(|fact| !FIRST.contains(fact));
    let mut facts: Vec<(&str, bool)> = first
        .chain(others)
        .filter(|fact| !NAMES_ONLY.contains(fact))
        .map(|fact| {
            let values = |index: &usize| of_each[*index].get(fact);
            (fact, recorded.iter().any(|index| values(index) != values(&recorded[0])))
        })
        .collect();
    if facts.is_empty() {
        return None;
    }
    facts.sort_by_key(|(_, differs)| !differs);
    let mut table = Table::new("The systems, as their runs recorded them", ["fact"]);
    table.head.extend(recorded.iter().map(|index| inputs[*index].name.clone()));
    for (fact, differs) in &facts {
        let cell = |index: &usize| {
            let values = of_each[*index].get(fact).map(|values| told(fact, values));
            let text = values.unwrap_or_else(|| "not recorded".to_owned());
            Cell::from(text).toned(if *differs { Tone::Doubtful } else { Tone::Plain })
        };
        let name = if *differs { format!("{fact} (differs)") } else { (*fact).to_owned() };
        let row = std::iter::once(Cell::from(name)).chain(recorded.iter().map(cell));
        table.rows.push(row.collect());
    }
    let differing = facts.into_iter().filter(|(_, differs)| *differs);
    Some((table, differing.map(|(fact, _)| fact.to_owned()).collect()))
}

fn told(fact: &str, values: &BTreeSet<&str>) -> String {
    let text = |value: &&str| match value.parse::<u64>() {
        Ok(size_bytes) if fact.ends_with("_bytes") => format_size(size_bytes),
        _ => (*value).to_owned(),
    };
    let mut texts: Vec<String> = values.iter().take(MOST_VALUES).map(text).collect();
    if values.len() > MOST_VALUES {
        texts.push(format!("and {} more", values.len() - MOST_VALUES));
    }
    texts.join(" | ")
}
