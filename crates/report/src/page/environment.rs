//! The systems on which results were made, and how they differ.

use std::collections::{BTreeMap, BTreeSet};

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
const MOST_VALUES: usize = 4;

/// The facts of all inputs: first those that differ between them, then what an expert asks for
/// first, then the others by name. `None` if nothing was recorded.
pub(super) fn table(inputs: &[Input<'_>]) -> Option<(Table, Vec<String>)> {
    let of_each = inputs.iter().map(|input| (input.name.as_str(), input.environment()));
    let of_each: Vec<_> = of_each.filter(|(_, facts)| !facts.is_empty()).collect();
    let all: BTreeSet<&str> = of_each.iter().flat_map(|(_, facts)| facts.keys().copied()).collect();
    let first = FIRST.into_iter().filter(|fact| all.contains(fact));
    let others = all.iter().copied().filter(|fact| !FIRST.contains(fact));
    let mut facts: Vec<(&str, bool)> = first
        .chain(others)
        .filter(|fact| !NAMES_ONLY.contains(fact))
        .map(|fact| {
            let differs =
                |(_, facts): &(_, BTreeMap<_, _>)| facts.get(fact) != of_each[0].1.get(fact);
            (fact, of_each.iter().any(differs))
        })
        .collect();
    if facts.is_empty() {
        return None;
    }
    facts.sort_by_key(|(_, differs)| !differs);
    let names = of_each.iter().map(|(name, _)| *name);
    let rows = facts.iter().map(|(fact, differs)| {
        let (mark, tone) =
            if *differs { (" (differs)", Tone::Doubtful) } else { ("", Tone::Plain) };
        let cells = of_each.iter().map(move |(_, facts)| {
            let values = facts.get(fact).map(|values| told(fact, values));
            Cell::from(values.unwrap_or_else(|| "not recorded".to_owned())).toned(tone)
        });
        [Cell::from(format!("{fact}{mark}"))].into_iter().chain(cells)
    });
    let caption = "The systems, as their runs recorded them";
    let table = Table::of(caption, ["fact"].into_iter().chain(names), rows);
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
