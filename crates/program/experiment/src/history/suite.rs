//! Suites: what is measured of each kernel. A suite is a plan without kernels and seeds.

use std::path::{Path, PathBuf};

use analysis::history::HistoryKernel;
use serde::{Deserialize, Deserializer};
use toml::Value;

use crate::error::{ExperimentError, Result};
use crate::plan::{Design, FactorFile, Order, Plan, PlanFactor, PlanLevel, factor, settings};
use crate::results_folder::read_as;
use crate::typed::Setting;

/// The factors of the plan that a suite becomes.
pub(super) const KERNEL: &str = "kernel";
pub(super) const MEASURE: &str = "measure";
/// Suites that are part of this program, the default one first.
const BUILT_IN: [(&str, &str); 4] = [
    ("default", include_str!("../../suites/default.toml")),
    ("loads", include_str!("../../suites/loads.toml")),
    ("mechanisms", include_str!("../../suites/mechanisms.toml")),
    ("quick", include_str!("../../suites/quick.toml")),
];
/// Settings that choose the kernel, which a history does itself.
const OF_HISTORY: [&str; 3] = ["kernel", "subject.kernel", "machine.kernel"];

/// The measures of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Its text (TOML).
    pub text: String,
    /// The folder in which its paths begin.
    pub(super) folder: PathBuf,
    base: Vec<Setting>,
    pub(super) responses: Vec<String>,
    measures: Vec<PlanLevel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    name: String,
    /// Suites of this program whose settings and measures come first: a name, or a list.
    #[serde(default, deserialize_with = "one_or_more")]
    extends: Vec<String>,
    #[serde(default)]
    responses: Vec<String>,
    #[serde(default)]
    base: toml::Table,
    #[serde(default, rename = "measure")]
    measures: Vec<Value>,
}

fn one_or_more<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "the name of a suite, or a list of names")]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    Ok(match OneOrMore::deserialize(value)? {
        OneOrMore::One(name) => vec![name],
        OneOrMore::More(names) => names,
    })
}

impl Suite {
    /// Whether a suite of this program has this name.
    pub fn is_built_in(name: &str) -> bool {
        BUILT_IN.iter().any(|(known, _)| *known == name)
    }

    /// The suite of this program with this name. Fails for an unknown one.
    pub fn built_in(name: &str) -> Result<Self> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| {
            let names: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
            ExperimentError::WrongUse(format!(
                "no suite is named {name:?}; choose from {}, or name a file",
                names.join(", ")
            ))
        })?;
        Self::parse(text, Path::new(""))
    }

    /// Reads the suite of a file. Fails when it is unreadable, or not a suite.
    pub fn read(path: &Path) -> Result<Self> {
        // It may be continued from another folder.
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folder = whole.parent().unwrap_or(Path::new("/"));
        read_as(path, |text| Self::parse(text, folder))
    }

    /// Reads the text of a suite whose paths begin in a folder. Fails when it is not a suite.
    pub fn parse(text: &str, folder: &Path) -> Result<Self> {
        let wrong = |why: String| ExperimentError::WrongUse(why);
        let file: SuiteFile = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let own = settings(&file.base).map_err(|why| wrong(format!("base: {why}")))?;
        let levels = FactorFile::of_levels(MEASURE, file.measures);
        let own_measures = factor(levels).map_err(|error| wrong(error.to_string()))?.levels;
        let mut suite = Self {
            name: String::new(),
            text: String::new(),
            folder: PathBuf::new(),
            base: Vec::new(),
            responses: Vec::new(),
            measures: Vec::new(),
        };
        for name in &file.extends {
            let extended = Self::built_in(name)?;
            suite.base.extend(extended.base);
            suite.responses.extend(extended.responses);
            suite.measures.extend(extended.measures);
        }
        suite.base.extend(own);
        for measure in own_measures {
            match suite.measures.iter_mut().find(|known| known.name == measure.name) {
                Some(known) if !file.extends.is_empty() => *known = measure,
                Some(_) => return Err(wrong(format!("measure {:?} is there twice", measure.name))),
                None => suite.measures.push(measure),
            }
        }
        if !file.responses.is_empty() {
            suite.responses = file.responses;
        }
        let suite = Self { name: file.name, text: text.to_owned(), folder: folder.into(), ..suite };
        suite.checked().map_err(wrong)
    }

    fn checked(self) -> Result<Self, String> {
        if self.measures.is_empty() {
            return Err("a suite needs something to measure: add a [[measure]]".to_owned());
        }
        if self.name.is_empty() || self.name.contains(['/', '\0']) || self.name.starts_with('.') {
            return Err("name: it must be usable as the name of a folder".to_owned());
        }
        let of_measures = self.measures.iter().flat_map(|measure| &measure.settings);
        let mut all = self.base.iter().chain(of_measures);
        let is_kernel = |(name, value): &&Setting| {
            OF_HISTORY.contains(&name.as_str()) || name == "subject" && value.contains("kernel=")
        };
        match all.find(is_kernel) {
            Some((name, _)) => Err(format!("{name}: a suite names no kernel; a history does")),
            None => Ok(self),
        }
    }

    /// Fails if a path of the suite begins in its folder, as a plan elsewhere has another one.
    pub(super) fn needs_no_folder(&self) -> Result<()> {
        let cells = |folder: &Path| {
            let kernel = HistoryKernel { name: "any".to_owned(), ..HistoryKernel::default() };
            self.plan(&[kernel], 1).cells(folder).map_err(ExperimentError::Plan)
        };
        match cells(&self.folder)? == cells(&self.folder.join("elsewhere"))? {
            true => Ok(()),
            false => Err(ExperimentError::WrongUse(format!(
                "the suite {} has paths that begin in {}: write them in full for a fleet",
                self.name,
                self.folder.display()
            ))),
        }
    }

    /// The names of the measures.
    pub fn measures(&self) -> Vec<String> {
        self.measures.iter().map(|measure| measure.name.clone()).collect()
    }

    /// The suite with these measures only. Fails for an unknown one.
    pub fn with_measures(mut self, names: &[String]) -> Result<Self> {
        if let Some(unknown) = names.iter().find(|name| !self.measures().contains(name)) {
            return Err(ExperimentError::WrongUse(format!(
                "the suite {} has no measure {unknown:?}; choose from {}",
                self.name,
                self.measures().join(", ")
            )));
        }
        self.measures.retain(|measure| names.is_empty() || names.contains(&measure.name));
        Ok(self)
    }

    /// The plan of some kernels with blocks of these seeds. Runs are named by their levels alone, so
    /// that more kernels do not rename them.
    pub(super) fn plan(&self, kernels: &[HistoryKernel], seeds: u32) -> Plan {
        let level = |kernel: &HistoryKernel| {
            let of_variant = kernel.settings.iter().filter_map(|it| it.split_once('='));
            let of_variant =
                of_variant.map(|(name, value)| (format!("subject.{name}"), value.to_owned()));
            let settings =
                [(KERNEL.to_owned(), kernel.typed.clone())].into_iter().chain(of_variant);
            PlanLevel { name: kernel.name.clone(), settings: settings.collect(), build: None }
        };
        let kernels = kernels.iter().map(level).collect();
        Plan {
            name: format!("history-{}", self.name),
            design: Design::Full,
            seeds: (1..=u64::from(seeds)).collect(),
            order: Order::UpAndDown { first_block: 0 },
            responses: self.responses.clone(),
            base: self.base.clone(),
            factors: vec![
                PlanFactor { name: KERNEL.to_owned(), levels: kernels },
                PlanFactor { name: MEASURE.to_owned(), levels: self.measures.clone() },
            ],
            first_cell: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str) -> HistoryKernel {
        let (name, typed) = (name.to_owned(), format!("deb:{name}"));
        HistoryKernel { name, typed, ..HistoryKernel::default() }
    }

    fn names(suite: &Suite) -> String {
        suite.measures().join(" ")
    }

    fn refused(text: &str) -> String {
        Suite::parse(text, Path::new("")).unwrap_err().to_string()
    }

    #[test]
    fn every_built_in_suite_can_be_set_in_deterministic_machines() {
        for (name, _) in BUILT_IN {
            let suite = Suite::built_in(name).unwrap();
            assert_eq!(suite.name, name);
            let cells = suite.plan(&[kernel("a")], 4).cells(Path::new("")).unwrap();
            assert_eq!(cells.len(), suite.measures().len());
            assert!(cells.iter().all(crate::CellPlan::is_deterministic), "{name}");
        }
        assert!(Suite::built_in("none").unwrap_err().to_string().contains("default, loads"));
    }

    #[test]
    fn a_suite_extends_one_of_this_program() {
        let text = "name = \"mine\"\nextends = \"quick\"\n[base]\nmemory = \"64M\"\n\
                    [[measure]]\nname = \"idle\"\nset = { probe = \"wake\" }\n\
                    [[measure]]\nname = \"fork\"\nset = { load = \"spawnload\" }\n";
        let suite = Suite::parse(text, Path::new("")).unwrap();
        assert_eq!(names(&suite), "idle smallwrite largewrite 2ctx-mem touch fork");
        let plan = suite.plan(&[kernel("a")], 2);
        assert_eq!(plan.base.last().unwrap(), &("memory".to_owned(), "64M".to_owned()));
        assert_eq!(plan.factors[1].levels[0].settings, [("probe".to_owned(), "wake".to_owned())]);
        let only = suite.clone().with_measures(&["fork".to_owned()]).unwrap();
        assert_eq!(names(&only), "fork");
        let error = suite.with_measures(&["spoon".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("\"spoon\"; choose from idle, smallwrite"), "{error}");
    }

    #[test]
    fn the_default_suite_has_every_load_and_every_mechanism_of_one_cpu() {
        let suite = Suite::built_in("default").unwrap();
        let measures = suite.measures();
        for name in ["cpuload", "session", "vmtest", "fork", "boot"] {
            assert!(measures.iter().any(|it| it == name), "{name}");
        }
        let lacks = |name: &&str| !measures.iter().any(|it| it == name);
        let mechanisms = mechanisms::MECHANISMS.iter().map(|(name, _)| *name);
        assert_eq!(mechanisms.filter(lacks).collect::<Vec<_>>(), ["shootdown"]);
        assert!(refused("name = \"x\"\nextends = 1").contains("a list of names"));
        assert!(refused("name = \"x\"\nextends = [\"spoon\"]").contains("\"spoon\""));
    }

    #[test]
    fn names_of_runs_do_not_depend_on_other_kernels() {
        let suite = Suite::built_in("quick").unwrap();
        let ids = |kernels: &[HistoryKernel]| -> Vec<String> {
            suite.plan(kernels, 1).runs().into_iter().map(|(_, run)| run.run_id).collect()
        };
        let one = ids(&[kernel("6.1-1")]);
        let two = ids(&[kernel("5.10-1"), kernel("6.1-1")]);
        assert!(one.iter().all(|id| two.contains(id)), "{one:?} {two:?}");
    }

    #[test]
    fn paths_that_begin_in_the_folder_do_not_go_to_a_fleet() {
        let suite = |path: &str| {
            let text = format!(
                "name = \"x\"\n[base]\nsubject = \"vm\"\noverlay = {path:?}\n[[measure]]\n\
                 name = \"a\"\nset = {{ probe = \"wake\" }}\n"
            );
            Suite::parse(&text, Path::new("/suites")).unwrap().needs_no_folder()
        };
        assert!(suite("/programs").is_ok());
        let error = suite("programs").unwrap_err().to_string();
        assert!(error.contains("begin in /suites: write them in full"), "{error}");
        assert!(Suite::built_in("default").unwrap().needs_no_folder().is_ok());
    }

    #[test]
    fn a_variant_has_other_settings_of_the_machine() {
        let settings = vec!["lru_gen=off".to_owned()];
        let variant = HistoryKernel { settings, ..kernel("a") };
        let plan = Suite::built_in("quick").unwrap().plan(&[variant], 1);
        let level = &plan.factors[0].levels[0];
        assert!(level.settings.contains(&("subject.lru_gen".to_owned(), "off".to_owned())));
        let crate::SubjectArg::Vm(request) =
            plan.cells(Path::new("")).unwrap().remove(0).subject.unwrap()
        else {
            panic!("no guest")
        };
        assert_eq!(request.machine.lru_gen, Some(false));
    }

    #[test]
    fn what_is_no_suite_is_refused() {
        assert!(refused("name = \"x\"").contains("[[measure]]"));
        assert!(refused("name = \"a/b\"\n[[measure]]\nname = \"a\"").contains("folder"));
        let twice = "name = \"x\"\n[[measure]]\nname = \"a\"\n[[measure]]\nname = \"a\"";
        assert!(refused(twice).contains("\"a\" is there twice"));
        let kernel = "name = \"x\"\n[base]\nkernel = \"host\"\n[[measure]]\nname = \"a\"";
        assert!(refused(kernel).contains("kernel: a suite names no kernel"));
        assert!(refused("name = 1").contains("string"));
    }
}
