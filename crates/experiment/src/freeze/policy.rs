//! Policies: settings that are tried against a freeze.

use std::path::Path;

use serde::Deserialize;

use super::names::named;
use crate::error::{ExperimentError, Result};
use crate::plan::settings;
use crate::results_folder::read_as;
use crate::typed::Setting;

/// The policies of this program.
const BUILT_IN: &str = include_str!("../../scenarios/policies.toml");
/// Policies that are tried unless others are named, the reference first.
const USUAL: [&str; 6] =
    ["kernel", "no-swap", "large-swap", "zram", "swappiness-180", "early-reclaim"];

/// Settings that are tried against a freeze.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Parameters of plans.
    pub settings: Vec<Setting>,
    /// `memory.high` as a share of the scenario's limit.
    pub memory_high: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    policy: Vec<PolicyTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyTable {
    name: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    set: toml::Table,
    memory_high: Option<f64>,
}

impl Policy {
    /// The policies of this program, the reference first.
    pub fn built_in() -> Result<Vec<Self>> {
        Self::parse(BUILT_IN)
    }

    /// The policies of these names or files, after the reference; the usual ones without a name.
    /// Fails for an unknown name, or a file that has no policies.
    pub fn choose(names: &[String]) -> Result<Vec<Self>> {
        let all = Self::built_in()?;
        let usual = || USUAL.iter().map(|name| (*name).to_owned()).collect();
        let names = if names.is_empty() { usual() } else { names.to_vec() };
        let mut chosen: Vec<Self> = all.first().cloned().into_iter().collect();
        for name in names {
            let more = match Path::new(&name).extension().is_some_and(|it| it == "toml") {
                true => read_as(Path::new(&name), Self::parse)?,
                false => vec![named(&all, &name, "policy", |policy| &policy.name)?.clone()],
            };
            for policy in more {
                if !chosen.iter().any(|known| known.name == policy.name) {
                    chosen.push(policy);
                }
            }
        }
        Ok(chosen)
    }

    fn parse(text: &str) -> Result<Vec<Self>> {
        let file: PolicyFile =
            toml::from_str(text).map_err(|error| ExperimentError::WrongUse(error.to_string()))?;
        file.policy.into_iter().map(Self::of_table).collect()
    }

    fn of_table(table: PolicyTable) -> Result<Self> {
        let wrong =
            |why: String| ExperimentError::WrongUse(format!("policy {:?}: {why}", table.name));
        let settings = settings(&table.set).map_err(wrong)?;
        if table.name.is_empty() {
            return Err(wrong("it needs a name".to_owned()));
        }
        if table.memory_high.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return Err(wrong("memory_high: a share above 0, at most 1".to_owned()));
        }
        Ok(Self { name: table.name, about: table.about, settings, memory_high: table.memory_high })
    }

    /// Its settings in words, each as `NAME=VALUE`.
    pub fn in_words(&self) -> Vec<String> {
        let high = self.memory_high.map(|share| format!("memory.high = {share} x limit"));
        self.settings.iter().map(|(name, value)| format!("{name}={value}")).chain(high).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Policy::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn the_usual_policies_exist_and_the_reference_is_first() {
        let usual = Policy::choose(&[]).unwrap();
        let names: Vec<&str> = usual.iter().map(|policy| policy.name.as_str()).collect();
        assert_eq!(names, USUAL);
        assert!(usual[0].settings.is_empty() && usual[0].memory_high.is_none());
    }

    #[test]
    fn the_reference_is_always_measured_once() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let chosen = Policy::choose(&names).unwrap();
            chosen.into_iter().map(|policy| policy.name).collect::<Vec<_>>()
        };
        assert_eq!(named(&["zram", "zram"]), ["kernel", "zram"]);
        assert_eq!(named(&["kernel"]), ["kernel"]);
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        let error = Policy::choose(&["swapiness-10".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("the nearest is swappiness-10"), "{error}");
        let error = Policy::choose(&["qqq".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("choose from kernel, no-swap"), "{error}");
        let error = Policy::choose(&["none.toml".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("none.toml: read it"), "{error}");
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        assert!(refused("[[policy]]\nname = \"\"").contains("needs a name"));
        assert!(refused("[[policy]]\nname = \"a\"\nmemory_high = 1.5").contains("at most 1"));
        assert!(refused("[[policy]]\nname = \"a\"\nspoon = 1").contains("spoon"));
        assert!(refused("").contains("policy"));
    }
}
