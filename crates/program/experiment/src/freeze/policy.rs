//! Policies: settings that are tried against a freeze.

use std::path::Path;

use serde::Deserialize;

use super::daemon::Daemon;
use super::groups::Groups;
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
    /// The policy whose machine differs only in what is under test, if that is not the reference.
    pub control: Option<String>,
    /// What runs next to the scenario, and kills before the kernel does.
    daemon: Option<Daemon>,
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
    control: Option<String>,
    daemon: Option<Daemon>,
    groups: Option<Groups>,
}

impl Policy {
    /// The policies of this program, the reference first.
    pub fn built_in() -> Result<Vec<Self>> {
        Self::parse(BUILT_IN, Path::new(""))
    }

    /// The policies of these names or files, after the reference and each after its control; the usual
    /// ones without a name. Fails for an unknown name, or a file that has no policies.
    pub fn choose(names: &[String]) -> Result<Vec<Self>> {
        let all = Self::built_in()?;
        let usual = || USUAL.iter().map(|name| (*name).to_owned()).collect();
        let names = if names.is_empty() { usual() } else { names.to_vec() };
        let mut chosen: Vec<Self> = all.first().cloned().into_iter().collect();
        for name in names {
            let path = Path::new(&name);
            let folder = path.parent().unwrap_or(Path::new(""));
            let more = match path.extension().is_some_and(|it| it == "toml") {
                true => read_as(path, |text| Self::parse(text, folder))?,
                false => vec![named(&all, &name, "policy", |policy| &policy.name)?.clone()],
            };
            let known = [&more[..], &all].concat();
            for policy in &more {
                for policy in policy.control_in(&known)?.into_iter().chain([policy]) {
                    if !chosen.iter().any(|known| known.name == policy.name) {
                        chosen.push(policy.clone());
                    }
                }
            }
        }
        Ok(chosen)
    }

    fn parse(text: &str, folder: &Path) -> Result<Vec<Self>> {
        let file: PolicyFile =
            toml::from_str(text).map_err(|error| ExperimentError::WrongUse(error.to_string()))?;
        file.policy.into_iter().map(|table| Self::of_table(table, folder)).collect()
    }

    fn of_table(table: PolicyTable, folder: &Path) -> Result<Self> {
        let wrong = |why| wrong(&table.name, why);
        let mut settings = settings(&table.set).map_err(wrong)?;
        if table.name.is_empty() {
            return Err(wrong("it needs a name".to_owned()));
        }
        if table.memory_high.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return Err(wrong("memory_high: a share above 0, at most 1".to_owned()));
        }
        if let Some(why) = table.daemon.as_ref().and_then(|daemon| daemon.problem(&settings)) {
            return Err(wrong(why));
        }
        let PolicyTable { name, about, memory_high, control, daemon, groups, .. } = table;
        let daemon = match groups {
            None => daemon,
            Some(groups) => Some(daemon.unwrap_or_else(Daemon::idle).with_groups(groups)),
        };
        let daemon = daemon.map(|daemon| daemon.in_folder(folder));
        settings.extend(daemon.iter().flat_map(Daemon::settings));
        Ok(Self { name, about, settings, memory_high, control, daemon })
    }

    /// Its control, if it has one. Fails when that is none of the policies that are known.
    fn control_in<'a>(&self, known: &'a [Self]) -> Result<Option<&'a Self>> {
        let Some(control) = &self.control else { return Ok(None) };
        let found = named(known, control, "policy", |policy| &policy.name);
        found.map(Some).map_err(|why| wrong(&self.name, format!("control: {why}")))
    }

    /// Whether a daemon runs next to the scenario.
    pub(super) fn has_daemon(&self) -> bool {
        self.daemon.is_some()
    }

    /// The control groups of their own into which it puts the processes of a run, if it does; those of a
    /// scenario with a limit have one already.
    pub(super) fn groups(&self) -> Option<&Groups> {
        self.daemon.as_ref()?.groups()
    }

    /// Writes the files that its machines need. Fails with the policy's name.
    pub(super) fn prepare(&self) -> Result<()> {
        let Self { name, daemon: Some(daemon), .. } = self else { return Ok(()) };
        daemon.write().map_err(|error| {
            ExperimentError::NotMeasured(format!("policy {name}: write its start script: {error}"))
        })
    }

    /// Its settings in words, each as `NAME=VALUE`.
    pub fn in_words(&self) -> Vec<String> {
        let high = self.memory_high.map(|share| format!("memory.high = {share} x limit"));
        let of_daemon = self.daemon.as_ref().map(Daemon::settings).unwrap_or_default();
        let own = self.settings.iter().filter(|setting| !of_daemon.contains(setting));
        let daemon = self.daemon.iter().flat_map(Daemon::in_words);
        own.map(|(name, value)| format!("{name}={value}")).chain(high).chain(daemon).collect()
    }
}

fn wrong(name: &str, why: String) -> ExperimentError {
    ExperimentError::WrongUse(format!("policy {name:?}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Policy::parse(text, Path::new("")).unwrap_err().to_string()
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
        assert_eq!(named(&["earlyoom", "nohang"]), ["kernel", "idle-daemon", "earlyoom", "nohang"]);
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
        let daemon = "[[policy]]\nname = \"a\"\ndaemon = { command = \"\" }";
        assert!(refused(daemon).contains("policy \"a\": daemon: it needs a command"));
    }

    #[test]
    fn a_control_is_a_policy_that_exists() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        let choose = |control: &str| {
            let text = format!("[[policy]]\nname = \"mine\"\ncontrol = \"{control}\"\n");
            std::fs::write(&path, text).unwrap();
            Policy::choose(&[path.display().to_string()])
        };
        let names: Vec<String> = choose("zram").unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["kernel", "zram", "mine"]);
        let error = choose("zrm").unwrap_err().to_string();
        assert!(error.starts_with("policy \"mine\": control: no policy is named"), "{error}");
    }
}
