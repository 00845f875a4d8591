//! Scenarios: what fills memory, in which machine, and who must answer.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use workloads::{Work, find_load};

use super::names::named;
use super::policy::Policy;
use crate::error::{ExperimentError, Result};
use crate::plan::settings;
use crate::results_folder::read_as;
use crate::typed::Setting;

/// The scenarios of this program.
const BUILT_IN: [&str; 10] = [
    include_str!("../../scenarios/leak.toml"),
    include_str!("../../scenarios/tail.toml"),
    include_str!("../../scenarios/build.toml"),
    include_str!("../../scenarios/forks.toml"),
    include_str!("../../scenarios/database.toml"),
    include_str!("../../scenarios/container.toml"),
    include_str!("../../scenarios/page-cache.toml"),
    include_str!("../../scenarios/tmpfs.toml"),
    include_str!("../../scenarios/healthy.toml"),
    include_str!("../../scenarios/copy.toml"),
];
/// What all scenarios have.
const BASE: &str = include_str!("../../scenarios/base.toml");
/// Scenarios that are measured unless others are named.
const USUAL: [&str; 2] = ["leak", "tail"];
/// Settings that choose the kernel, which is not a scenario's.
const OF_KERNEL: [&str; 3] = ["kernel", "subject.kernel", "machine.kernel"];
/// The setting that limits the memory of load and probe.
const LIMIT: [&str; 2] = ["sandbox.memory", "sandbox.mem"];

/// What fills memory, in which machine, and who must answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Address of the complaint that it reproduces.
    pub link: Option<String>,
    /// Whether it fits into memory, so that nothing has to die.
    pub healthy: bool,
    /// Its own settings and those that all scenarios have, as parameters of plans.
    pub settings: Vec<Setting>,
    /// The folder in which its paths begin.
    pub(super) folder: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    name: String,
    #[serde(default)]
    about: String,
    link: Option<String>,
    #[serde(default)]
    healthy: bool,
    set: toml::Table,
}

impl Scenario {
    /// The scenarios of this program.
    pub fn built_in() -> Result<Vec<Self>> {
        BUILT_IN.iter().map(|text| Self::parse(text, Path::new(""))).collect()
    }

    /// The scenarios of these names or files; the usual ones without a name. Fails for an unknown
    /// name, a file that does not hold a scenario, or two scenarios of one name.
    pub fn choose(names: &[String]) -> Result<Vec<Self>> {
        let all = Self::built_in()?;
        let usual = || USUAL.iter().map(|name| (*name).to_owned()).collect();
        let names = if names.is_empty() { usual() } else { names.to_vec() };
        let mut chosen: Vec<Self> = Vec::new();
        for name in names {
            let scenario = match Path::new(&name).extension().is_some_and(|it| it == "toml") {
                true => Self::read(Path::new(&name))?,
                false => named(&all, &name, "scenario", |scenario| &scenario.name)?.clone(),
            };
            match chosen.iter().find(|known| known.name == scenario.name) {
                Some(known) if *known == scenario => {}
                Some(_) => {
                    return Err(ExperimentError::WrongUse(format!(
                        "two scenarios are named {:?}",
                        scenario.name
                    )));
                }
                None => chosen.push(scenario),
            }
        }
        Ok(chosen)
    }

    fn read(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new(""));
        read_as(path, |text| Self::parse(text, folder))
    }

    fn parse(text: &str, folder: &Path) -> Result<Self> {
        let wrong = ExperimentError::WrongUse;
        let file: ScenarioFile = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let base = toml::from_str(BASE).map_err(|error| wrong(error.to_string()))?;
        let mut all = settings(&base).map_err(wrong)?;
        all.extend(settings(&file.set).map_err(|why| wrong(format!("set: {why}")))?);
        if file.name.is_empty() {
            return Err(wrong("name: a scenario needs one".to_owned()));
        }
        if let Some((name, _)) = all.iter().find(|(name, value)| {
            OF_KERNEL.contains(&name.as_str()) || name == "subject" && value.contains("kernel=")
        }) {
            return Err(wrong(format!("{name}: a scenario names no kernel; --kernels does")));
        }
        let load = all.iter().rev().find(|(name, _)| name == "load").map(|(_, load)| load.as_str());
        let is_exhaustion =
            |load: &str| find_load(load).is_some_and(|it| matches!(it.work, Work::Exhaustion(_)));
        if !load.is_some_and(is_exhaustion) {
            return Err(wrong(
                "load: a scenario needs one that fills memory and counts who dies: exhaust-leak, \
                 exhaust-burst, … (`thrashlab run --help` lists them)"
                    .to_owned(),
            ));
        }
        Ok(Self {
            name: file.name,
            about: file.about,
            link: file.link,
            healthy: file.healthy,
            settings: all,
            folder: folder.to_owned(),
        })
    }

    /// The limit of load and probe, if they have one of their own, as typed.
    fn limit(&self) -> Option<&str> {
        let limits = self.settings.iter().rev();
        limits.filter(|(name, _)| LIMIT.contains(&name.as_str())).map(|(_, it)| it.as_str()).next()
    }

    /// The settings of a policy here; `None` if it has none that this scenario does not have itself.
    /// Fails when the limit is not a size.
    pub(super) fn with(&self, policy: &Policy) -> Result<Option<Vec<Setting>>> {
        if policy.groups().is_some() && self.limit().is_some() {
            return Ok(None);
        }
        let mut all = policy.settings.clone();
        if let (Some(share), Some(limit)) = (policy.memory_high, self.limit()) {
            let bytes = model::units::parse_size_bytes(limit).map_err(|why| {
                ExperimentError::WrongUse(format!("scenario {}: {}: {why}", self.name, LIMIT[0]))
            })?;
            let pages = (bytes as f64 * share / 4096.0) as u64;
            all.push(("sandbox.high".to_owned(), format!("{}B", pages * 4096)));
        }
        let has_effect = |setting: &Setting| {
            let own = self.settings.iter().rev().find(|(name, _)| *name == setting.0);
            own != Some(setting)
        };
        let is_reference = policy.settings.is_empty() && policy.memory_high.is_none();
        Ok((is_reference || all.iter().any(has_effect)).then_some(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Scenario::parse(text, Path::new("")).unwrap_err().to_string()
    }

    fn policy(name: &str) -> Policy {
        Policy::built_in().unwrap().into_iter().find(|policy| policy.name == name).unwrap()
    }

    fn scenario(name: &str) -> Scenario {
        Scenario::choose(&[name.to_owned()]).unwrap().remove(0)
    }

    #[test]
    fn a_share_of_the_limit_applies_only_where_there_is_a_limit() {
        let high = policy("high-80");
        assert_eq!(scenario("leak").with(&high).unwrap(), None);
        let settings = scenario("container").with(&high).unwrap().unwrap();
        assert_eq!(settings, [("sandbox.high".to_owned(), "26841088B".to_owned())]);
    }

    #[test]
    fn a_policy_that_changes_nothing_is_the_reference() {
        let container = scenario("container");
        assert_eq!(container.with(&policy("no-swap")).unwrap(), None);
        assert!(scenario("leak").with(&policy("no-swap")).unwrap().is_some());
        assert_eq!(container.with(&policy("kernel")).unwrap(), Some(Vec::new()));
    }

    #[test]
    fn what_is_no_scenario_is_refused() {
        let error = Scenario::choose(&["leek".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("the nearest is leak"), "{error}");
        assert!(refused("name = \"a\"").contains("set"));
        assert!(refused("name = \"a\"\n[set]\nload = \"cpuload\"").contains("exhaust-leak"));
        let kernel = "name = \"a\"\n[set]\nload = \"exhaust-leak\"\nkernel = \"host\"";
        assert!(refused(kernel).contains("--kernels"));
        assert!(refused("name = \"\"\n[set]\nload = \"exhaust-leak\"").contains("name"));
    }
}
