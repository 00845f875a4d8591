//! The measured systems, and how they differ.

use std::collections::BTreeSet;

use model::units::format_size;

use super::Input;
use render::{Cell, Table, Tone};

/// Facts that an expert asks for first.
const FIRST: &str = "kernel cpu_model cpus_online memory_bytes swap_bytes governor thp lru_gen \
                     swappiness hypervisor cmdline";
/// A fact that differs from boot to boot and means nothing.
const NAME_ONLY: &str = "boot_id";
const MOST_VALUES: usize = 4;

/// The facts of all inputs and the names of those that differ: these stand first, then [`FIRST`],
/// then the others by name. `None` if nothing was recorded.
pub(super) fn table(inputs: &[Input<'_>]) -> Option<(Table, Vec<String>)> {
    let of_each = inputs.iter().map(|input| (input.name.as_str(), input.environment()));
    let of_each: Vec<_> = of_each.filter(|(_, facts)| !facts.is_empty()).collect();
    let all: BTreeSet<&str> = of_each.iter().flat_map(|(_, facts)| facts.keys().copied()).collect();
    let differs = |fact: &str| of_each.iter().any(|it| it.1.get(fact) != of_each[0].1.get(fact));
    let place = |fact: &&str| FIRST.split(' ').position(|first| first == *fact);
    let facts = all.into_iter().filter(|fact| *fact != NAME_ONLY);
    let mut facts: Vec<(&str, bool)> = facts.map(|fact| (fact, differs(fact))).collect();
    if facts.is_empty() {
        return None;
    }
    facts.sort_by_key(|(fact, differs)| (!differs, place(fact).unwrap_or(usize::MAX)));
    let names = of_each.iter().map(|(name, _)| *name);
    let rows = facts.iter().map(|(fact, differs)| {
        let (mark, tone) =
            if *differs { (" (differs)", Tone::Doubtful) } else { ("", Tone::Plain) };
        let cells = of_each.iter().map(move |(_, facts)| {
            let values = facts.get(fact).map(|values| value_text(fact, values));
            Cell::Text(values.unwrap_or_else(|| "not recorded".to_owned()), tone)
        });
        [Cell::from(format!("{fact}{mark}"))].into_iter().chain(cells)
    });
    let caption = "The systems, as their runs recorded them";
    let table = Table::of(caption, ["fact"].into_iter().chain(names), rows);
    let differing = facts.into_iter().filter(|(_, differs)| *differs);
    Some((table, differing.map(|(fact, _)| fact.to_owned()).collect()))
}

fn value_text(fact: &str, values: &BTreeSet<&str>) -> String {
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
