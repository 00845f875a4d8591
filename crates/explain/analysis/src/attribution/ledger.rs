//! The conditions in which experiments differ.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use serde::Serialize;

use super::{FAULT_COST_FACT, USERS_FACT};
use crate::{Dataset, distinct};

/// Facts that are not conditions.
const NO_CONDITIONS: [&str; 2] = ["measured", "trials"];

/// Conditions of several experiments side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// The experiments.
    pub names: Vec<String>,
    /// Conditions that are not the same everywhere.
    pub differing: Vec<Condition>,
    /// Conditions that are the same everywhere.
    pub common: BTreeMap<String, String>,
    /// The differences of every two experiments.
    pub distances: Vec<Distance>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// Its value in each experiment; `None` = not recorded.
    pub values: Vec<Option<String>>,
}

/// How two experiments differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distance {
    /// Indices of the experiments.
    pub between: (usize, usize),
    /// The conditions in which they differ.
    pub conditions: Vec<String>,
}

/// What was varied and measured, the parts, and all facts of systems and scripts.
pub fn ledger(datasets: &[Dataset]) -> Ledger {
    let recorded: Vec<BTreeMap<String, String>> = datasets.iter().map(conditions).collect();
    let names: BTreeSet<&String> = recorded.iter().flat_map(BTreeMap::keys).collect();
    let (mut differing, mut common) = (Vec::new(), BTreeMap::new());
    for name in names {
        let values: Vec<_> = recorded.iter().map(|known| known.get(name).cloned()).collect();
        match &values[0] {
            Some(value) if values.iter().all(|other| *other == values[0]) => {
                common.insert(name.clone(), value.clone());
            }
            _ => differing.push(Condition { name: name.clone(), values }),
        }
    }
    let distance = |between: (usize, usize)| {
        let differs = |condition: &&Condition| {
            let Condition { name, values } = condition;
            // A condition that only one of them recorded is not a known difference.
            let known = values[between.0].as_ref().zip(values[between.1].as_ref());
            known.is_some_and(|(one, other)| one != other) && !NO_CONDITIONS.contains(&&**name)
        };
        let conditions = differing.iter().filter(differs).map(|it| it.name.clone()).collect();
        Distance { between, conditions }
    };
    let distances = (0..datasets.len()).tuple_combinations().map(distance).collect();
    let names = datasets.iter().map(|dataset| dataset.name.clone()).collect();
    Ledger { names, differing, common, distances }
}

fn conditions(dataset: &Dataset) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for trial in &dataset.trials {
        for (name, value) in trial.environment.iter().chain(&trial.meaning) {
            // Prices of counters are not conditions.
            if ![FAULT_COST_FACT, USERS_FACT].contains(&name.as_str()) {
                facts.entry(name).or_default().insert(value);
            }
        }
    }
    let values = dataset.trials.iter().flat_map(|trial| &trial.values);
    let parts = distinct(values.filter_map(|values| values.part.as_deref()));
    let texts = facts.iter().map(|(name, values)| ((*name).to_owned(), values.iter().join(", ")));
    // A factor replaces the fact of the same name.
    let varied = dataset.factors.iter().map(|it| (it.name.clone(), it.levels.join(", ")));
    let own = [
        ("parts", parts.join(", ")),
        ("measured", dataset.responses.keys().join(", ")),
        ("trials", dataset.trials.len().to_string()),
    ];
    let own = own.map(|(name, text)| (name.to_owned(), text)).into_iter();
    texts.chain(varied).chain(own.skip(usize::from(parts.is_empty()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Factor, Trial};

    fn dataset(name: &str, facts: &[(&str, &str)]) -> Dataset {
        let environment =
            facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Dataset {
            name: name.to_owned(),
            factors: vec![Factor {
                name: "system".to_owned(),
                levels: vec!["old".to_owned(), "new".to_owned()],
            }],
            trials: vec![Trial { environment, ..Trial::default() }],
            ..Dataset::default()
        }
    }

    #[test]
    fn only_what_differs_is_set_side_by_side() {
        let found = ledger(&[
            dataset("one", &[("users", "6"), ("drum", "yes")]),
            dataset("two", &[("users", "1"), ("drum", "yes"), ("order", "later")]),
        ]);
        let names: Vec<&str> = found.differing.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["order", "users"]);
        assert_eq!(found.differing[0].values, [None, Some("later".to_owned())]);
        assert_eq!(found.common["drum"], "yes");
        assert_eq!(found.common["system"], "old, new");
        assert_eq!(found.distances[0].conditions, ["users"], "what one does not state is unknown");
    }
}
