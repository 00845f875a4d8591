//! How the systems of the arms differ, and whether they were asked the same question.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::arms::{ArmTrials, Arms};
use super::request::ComparisonError;

/// Facts that an expert asks for first, as `model::Environment` names them.
const WANTED: [(&str, &str); 9] = [
    ("kernel", "kernel"),
    ("cmdline", "command line"),
    ("cpu_model", "CPU"),
    ("cpus_online", "CPUs"),
    ("governor", "governor"),
    ("memory_bytes", "memory"),
    ("swap_bytes", "swap"),
    ("thp", "THP"),
    ("lru_gen", "multi-generational LRU"),
];
/// Facts that differ from boot to boot and say nothing.
const NAMES_ONLY: [&str; 1] = ["boot_id"];
/// The factor of runs.
const LOAD: &str = "load";

/// A fact that is not the same in all arms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The fact's name.
    pub fact: String,
    /// What it is in each arm, each value once; empty = not recorded.
    pub values: Vec<Vec<String>>,
    /// Whether it belongs to the factor that is compared.
    pub compared: bool,
}

/// The facts that differ: those that an expert asks for first, then the others by name.
pub(super) fn differences(arms: &Arms) -> Vec<Difference> {
    let facts: BTreeSet<&str> = arms
        .all
        .iter()
        .flat_map(|arm| &arm.trials)
        .flat_map(|trial| trial.environment.keys())
        .map(String::as_str)
        .filter(|fact| !NAMES_ONLY.contains(fact))
        .collect();
    let wanted = WANTED.iter().map(|(fact, _)| *fact).filter(|fact| facts.contains(fact));
    let others = facts.iter().copied().filter(|fact| WANTED.iter().all(|(name, _)| name != fact));
    let of_environment = wanted.chain(others).filter_map(|fact| {
        let values: Vec<Vec<String>> = arms.all.iter().map(|arm| values(arm, fact)).collect();
        let named = arms.factor.is_some_and(|factor| belongs(fact, factor));
        // In one experiment, what goes with the levels of the factor comes of them.
        let one_each = values.iter().all(|values| values.len() == 1);
        let compared = named || (arms.factor.is_some() && arms.blocks_match && one_each);
        let differs = values.iter().any(|value| *value != values[0]);
        differs.then(|| Difference { fact: fact.to_owned(), values, compared })
    });
    let folded = arms.folded.iter().map(|factor| Difference {
        fact: (*factor).to_owned(),
        values: arms.all.iter().map(|arm| levels(arm, factor)).collect(),
        compared: true,
    });
    folded.chain(of_environment).chain(of_meaning(arms)).collect()
}

/// What the levels of a factor change of the work itself, such as the number of users.
fn of_meaning(arms: &Arms) -> Vec<Difference> {
    let Some(factor) = arms.factor.filter(|factor| *factor != LOAD) else { return Vec::new() };
    let facts: BTreeSet<&String> = arms
        .all
        .iter()
        .flat_map(|arm| &arm.trials)
        .flat_map(|trial| trial.meaning.keys())
        .collect();
    let difference = |fact: &String| {
        let values = |arm: &ArmTrials| -> Vec<String> {
            let found: BTreeSet<&String> =
                arm.trials.iter().filter_map(|trial| trial.meaning.get(fact)).collect();
            found.into_iter().cloned().collect()
        };
        let values: Vec<Vec<String>> = arms.all.iter().map(values).collect();
        let differs = values.iter().any(|value| *value != values[0]);
        differs.then(|| Difference {
            fact: format!("{fact} (by {factor})"),
            values,
            compared: true,
        })
    };
    facts.into_iter().filter_map(difference).collect()
}

/// Whether a fact belongs to a factor: it has its name, perhaps with more behind it, or with the
/// part of the system before it that it is a fact of.
fn belongs(fact: &str, factor: &str) -> bool {
    ["", "subject_", "vm_", "vm_machine_"].iter().any(|part| {
        let rest = fact.strip_prefix(part).and_then(|fact| fact.strip_prefix(factor));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

/// The values of a fact in an arm, each once.
fn values(arm: &ArmTrials, fact: &str) -> Vec<String> {
    let found: BTreeSet<&String> =
        arm.trials.iter().filter_map(|trial| trial.environment.get(fact)).collect();
    found.into_iter().cloned().collect()
}

/// The levels of a factor in an arm, each once.
fn levels(arm: &ArmTrials, factor: &str) -> Vec<String> {
    let found: BTreeSet<&String> =
        arm.trials.iter().filter_map(|trial| trial.levels.get(factor)).collect();
    found.into_iter().cloned().collect()
}

/// What no arm recorded of the facts that an expert asks for.
pub(super) fn not_recorded(arms: &Arms) -> Vec<String> {
    let recorded = |fact: &str| {
        arms.all
            .iter()
            .flat_map(|arm| &arm.trials)
            .any(|trial| trial.environment.contains_key(fact))
    };
    let missing = WANTED.iter().filter(|(fact, _)| !recorded(fact));
    missing.map(|(_, words)| (*words).to_owned()).collect()
}

/// Refuses arms that measured different things under the same load. Within one experiment its plan
/// says what is varied, and only trials of one cell must have measured the same.
pub(super) fn check_meaning(arms: &Arms) -> Result<(), ComparisonError> {
    let mut known: BTreeMap<(String, &str), (&str, &str)> = BTreeMap::new();
    for arm in &arms.all {
        for trial in &arm.trials {
            let load = trial.levels.get(LOAD).map_or("", String::as_str);
            let cell = match arms.factor {
                None => load.to_owned(),
                Some(_) => format!("{:?}", trial.levels),
            };
            for (fact, value) in &trial.meaning {
                let key = (cell.clone(), fact.as_str());
                let (first_arm, first) = *known.entry(key).or_insert((&arm.name, value));
                if first != value {
                    let under = if load.is_empty() { "" } else { " under " };
                    return Err(ComparisonError::Meaning {
                        what: format!("the {fact}{under}{load}"),
                        first_arm: first_arm.to_owned(),
                        first: first.to_owned(),
                        second_arm: arm.name.clone(),
                        second: value.clone(),
                    });
                }
            }
        }
    }
    Ok(())
}
