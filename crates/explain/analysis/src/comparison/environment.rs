//! How the systems of the arms differ, and whether they measured the same thing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::arms::{ArmTrials, Arms};
use crate::dataset::LOAD;
use crate::{Refused, Trial};

/// The most important facts, named as in `model::Environment`.
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
/// A fact that differs at every boot and means nothing.
pub const BOOT_ID: &str = "boot_id";

/// A fact that is not the same in all arms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The fact's name.
    pub fact: String,
    /// Its distinct values in each arm; empty = not recorded.
    pub values: Vec<Vec<String>>,
    /// Whether it belongs to the factor that is compared.
    pub compared: bool,
}

/// The facts that differ: the most important first, then the others by name.
pub(super) fn differences(arms: &Arms) -> Vec<Difference> {
    let names = arms.trials().flat_map(|trial| trial.environment.keys()).map(String::as_str);
    // What names a cell is compared level by level.
    let is_level = |fact: &str| {
        !arms.folded.contains(&fact)
            && arms.factor != Some(fact)
            && arms.trials().any(|trial| trial.levels.contains_key(fact))
    };
    let facts: BTreeSet<&str> = names.filter(|fact| *fact != BOOT_ID && !is_level(fact)).collect();
    let wanted = WANTED.iter().map(|(fact, _)| *fact).filter(|fact| facts.contains(fact));
    let others = facts.iter().copied().filter(|fact| WANTED.iter().all(|(name, _)| name != fact));
    let of_environment = wanted.chain(others).map(|fact| {
        let values = values(arms, |trial| trial.environment.get(fact));
        // A prefix is a part of the system.
        let named = ["", "subject_", "vm_", "vm_machine_"].iter().any(|part| {
            let rest = fact.strip_prefix(part).and_then(|fact| fact.strip_prefix(arms.factor?));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        });
        // Within one experiment, facts that follow the levels are caused by them.
        let one_each = values.iter().all(|values| values.len() == 1);
        let compared = named || (arms.factor.is_some() && arms.blocks_match && one_each);
        Difference { fact: fact.to_owned(), values, compared }
    });
    let folded = arms.folded.iter().map(|factor| Difference {
        fact: (*factor).to_owned(),
        values: values(arms, |trial| trial.levels.get(*factor)),
        compared: true,
    });
    // What a factor changes in the work itself, such as the number of users.
    let factor = arms.factor.filter(|factor| *factor != LOAD).into_iter();
    let of_meaning = factor.flat_map(|factor| {
        let facts: BTreeSet<&String> = arms.trials().flat_map(|it| it.meaning.keys()).collect();
        let difference = move |fact: &String| Difference {
            fact: format!("{fact} (by {factor})"),
            values: values(arms, |trial| trial.meaning.get(fact)),
            compared: true,
        };
        facts.into_iter().map(difference)
    });
    let differs = |it: &Difference| it.values.iter().any(|value| *value != it.values[0]);
    folded.chain(of_environment.chain(of_meaning).filter(differs)).collect()
}

fn values(arms: &Arms, read: impl Fn(&Trial) -> Option<&String>) -> Vec<Vec<String>> {
    let of_arm = |arm: &ArmTrials| {
        let found: BTreeSet<_> = arm.trials.iter().filter_map(|trial| read(trial)).collect();
        found.into_iter().cloned().collect()
    };
    arms.all.iter().map(of_arm).collect()
}

/// The most important facts that no arm recorded.
pub(super) fn not_recorded(arms: &Arms) -> Vec<String> {
    let recorded = |fact: &str| arms.trials().any(|trial| trial.environment.contains_key(fact));
    let missing = WANTED.iter().filter(|(fact, _)| !recorded(fact));
    missing.map(|(_, words)| (*words).to_owned()).collect()
}

/// Refuses arms that measured different things under one load, or in one cell of an experiment.
pub(super) fn check_meaning(arms: &Arms) -> Result<(), Refused> {
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
                let (first_arm, first) = *known.entry(key).or_insert((&arm.arm.name, value));
                if first != value {
                    let under = if load.is_empty() { "" } else { " under " };
                    return Err(Refused::new(format!(
                        "{first_arm} and {} cannot be compared: the {fact}{under}{load} is {first} \
                         in one and {value} in the other; a difference would say nothing about the \
                         systems",
                        arm.arm.name
                    )));
                }
            }
        }
    }
    Ok(())
}
