//! The driver of freezes: scenarios under policies on kernels, with some seeds of each.
//!
//! A policy is set up for its own scenarios and left again, so a setting that a kernel refuses is a
//! row of the result, and twenty policies take the memory of one. What the folder has is not run
//! again.

mod daemon;
mod groups;
mod names;
mod policy;
mod scenario;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use analysis::freeze::{
    Circumstances, FreezeCell, FreezePolicy, FreezeScenario, FreezeSuiteRuns, freeze_run,
};

use model::EndStatus;

use crate::carry_out::manifest;
use crate::driver::Driver;
use crate::error::{ExperimentError, Result};
use crate::laboratory::Laboratory;
use crate::plan::{Design, Order, Plan, PlanError, PlanFactor, PlanLevel, plan_text};
use crate::results_folder::{named_or, read_as, write_manifest};
use crate::run_result::run_of;
use crate::typed::Setting;

use groups::Groups;
pub use policy::Policy;
pub use scenario::Scenario;

/// The factors of the plan that a suite becomes.
const KERNEL: &str = "kernel";
const POLICY: &str = "policy";
const SCENARIO: &str = "scenario";
/// The name of the kernel that a machine has by itself.
pub const DEFAULT_KERNEL: &str = "default";
/// Length of the hash that distinguishes suites.
const HASH_LETTERS: usize = 8;

/// The results that a file has, as `--json` of `freeze` writes them. Fails with the file's name.
pub fn freeze_results(path: &Path) -> Result<FreezeSuiteRuns> {
    read_as(path, results)
}

/// The results of this program's suite, with its daemons and control groups: `docs/freeze/`.
pub fn known_freezes() -> Result<FreezeSuiteRuns> {
    let suite = results(include_str!("../../../../../docs/freeze/suite.json"))?;
    let more = [
        include_str!("../../../../../docs/freeze/daemons.json"),
        include_str!("../../../../../docs/freeze/groups.json"),
    ];
    more.into_iter().try_fold(suite, |all, text| Ok(all.with_policies_of(&results(text)?)))
}

fn results(text: &str) -> Result<FreezeSuiteRuns> {
    serde_json::from_str(text).map_err(|error| {
        let next = "it is a file that `thrashlab freeze --json` wrote";
        ExperimentError::WrongUse(format!("not the results of freezes: {error}; {next}"))
    })
}

/// Scenarios under policies on kernels.
#[derive(Clone, Debug)]
pub struct FreezeSuite {
    /// What fills memory.
    pub scenarios: Vec<Scenario>,
    /// The settings under test, the reference first.
    pub policies: Vec<Policy>,
    /// Kernels as typed; none is the one that a machine has by itself.
    pub kernels: Vec<String>,
    /// Seeds of each combination.
    pub seeds: u32,
}

/// What a suite measured.
#[derive(Clone, Debug, Default)]
pub struct FreezeOutcome {
    /// The runs so far.
    pub runs: FreezeSuiteRuns,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

impl FreezeSuite {
    /// The folder that was named, or the one of this suite in the user's data directory.
    pub fn folder(&self, named: Option<&Path>) -> PathBuf {
        let scenarios: Vec<&str> = self.scenarios.iter().map(|it| it.name.as_str()).collect();
        let request = format!("{:?}\n{:?}\n{:?}", self.scenarios, self.policies, self.kernels);
        let hash = blake3::hash(request.as_bytes()).to_hex();
        let name = match scenarios[..] {
            [one] => one,
            _ => "suite",
        };
        named_or(named, &format!("freeze-{name}-{}", &hash[..HASH_LETTERS]))
    }

    /// How many runs there are. Fails when a scenario's limit is not a size.
    pub fn count(&self) -> Result<usize> {
        let mut cells = 0;
        for policy in &self.policies {
            cells += self.applicable(policy)?.len();
        }
        Ok(cells * self.kernel_names().len() * self.seeds as usize)
    }

    /// Runs what the folder lacks and measures all. A combination that cannot run is a cell with its
    /// reason. Fails when none can.
    pub fn run(&self, folder: &Path, driver: &mut Driver<'_>) -> Result<FreezeOutcome> {
        let mut outcome = FreezeOutcome { runs: self.described()?, interrupted: false };
        let mut made = BTreeSet::new();
        for kernel in self.kernel_names() {
            for policy in &self.policies {
                policy.prepare()?;
                let plan = self.plan(&[kernel], std::slice::from_ref(policy))?;
                if plan.factors.iter().any(|factor| factor.levels.is_empty()) {
                    continue;
                }
                outcome.interrupted =
                    self.rounds(&plan, folder, driver, &mut outcome.runs.cells)?;
                made.extend(plan.runs().into_iter().map(|(_, run)| run.run_id));
                self.write(&made, folder)?;
                if outcome.interrupted {
                    return Ok(outcome);
                }
            }
        }
        let is_empty = outcome.runs.cells.iter().all(|cell| cell.runs.is_empty());
        let problem = || outcome.runs.cells.iter().find_map(|cell| cell.problem.clone());
        match is_empty {
            true => Err(ExperimentError::NotMeasured(format!(
                "no machine could run: {}",
                problem().unwrap_or_else(|| "no run has a result".to_owned())
            ))),
            false => Ok(outcome),
        }
    }

    /// Runs the scenarios of one kernel and policy, where one of them cannot be set up each by itself;
    /// returns whether the user stopped it.
    fn rounds(
        &self,
        plan: &Plan,
        folder: &Path,
        driver: &mut Driver<'_>,
        cells: &mut Vec<FreezeCell>,
    ) -> Result<bool> {
        match self.round(plan, folder, driver) {
            Ok((measured, interrupted)) => {
                measured.into_iter().for_each(|cell| put(cells, cell));
                Ok(interrupted)
            }
            Err(ExperimentError::Plan(PlanError::Problems(problems))) => {
                let scenarios = &plan.factors[0].levels;
                if scenarios.len() > 1 {
                    for level in scenarios {
                        let mut one = plan.clone();
                        one.factors[0].levels = vec![level.clone()];
                        if self.rounds(&one, folder, driver, cells)? {
                            return Ok(true);
                        }
                    }
                    return Ok(false);
                }
                let only = |name: &str| {
                    let factor = plan.factors.iter().find(|factor| factor.name == name);
                    factor.map_or("", |factor| &factor.levels[0].name)
                };
                cell_of(cells, [KERNEL, SCENARIO, POLICY].map(only)).problem =
                    problems.first().cloned();
                problems.first().into_iter().for_each(|why| driver.note(why));
                Ok(false)
            }
            Err(error) if error.is_stop() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Runs the scenarios of one kernel and policy; returns them, and whether the user stopped it.
    fn round(
        &self,
        plan: &Plan,
        folder: &Path,
        driver: &mut Driver<'_>,
    ) -> Result<(Vec<FreezeCell>, bool)> {
        let mut lab = Laboratory::set_up(plan, &self.scenario_folder(), driver)?;
        let carried = lab.carry_out(folder, driver)?;
        let mut cells: Vec<FreezeCell> = Vec::new();
        for order in lab.orders() {
            let level = |factor: &str| {
                let named = lab.cells[order.cell].named.iter();
                named.clone().find(|(name, _)| name == factor).map_or("", |(_, level)| level)
            };
            let names = [KERNEL, SCENARIO, POLICY].map(level);
            let cell = cell_of(&mut cells, names);
            if let Some(why) = carried.refused.get(&order.run_id) {
                cell.problem = Some(why.clone());
            }
            let run = run_of(folder, &order.run_id)?.map(|(_, run)| run);
            let whole = run.filter(|run| run.status() != EndStatus::Interrupted);
            let policy = self.policies.iter().find(|policy| policy.name == names[2]);
            let scenario = self.scenarios.iter().find(|scenario| scenario.name == names[1]);
            let circumstances = Circumstances {
                has_daemon: policy.is_some_and(Policy::has_daemon),
                die_together: policy.and_then(Policy::groups).is_some_and(Groups::die_together),
                is_healthy: scenario.is_some_and(|scenario| scenario.healthy),
            };
            cell.runs.extend(whole.as_ref().and_then(|run| freeze_run(run, circumstances)));
        }
        cells.retain(|cell| !cell.runs.is_empty() || cell.problem.is_some());
        Ok((cells, carried.interrupted))
    }

    /// The scenarios for which a policy has a setting, with its settings.
    fn applicable(&self, policy: &Policy) -> Result<Vec<(&Scenario, Vec<Setting>)>> {
        let mut all = Vec::new();
        for scenario in &self.scenarios {
            all.extend(scenario.with(policy)?.map(|settings| (scenario, settings)));
        }
        Ok(all)
    }

    fn kernel_names(&self) -> Vec<&str> {
        match self.kernels.is_empty() {
            true => vec![DEFAULT_KERNEL],
            false => self.kernels.iter().map(String::as_str).collect(),
        }
    }

    /// The folder in which paths of scenarios begin: that of the first one from a file.
    fn scenario_folder(&self) -> PathBuf {
        let mut folders = self.scenarios.iter().map(|scenario| &scenario.folder);
        folders.find(|folder| !folder.as_os_str().is_empty()).cloned().unwrap_or_default()
    }

    /// The plan of some kernels and policies. A policy comes after its scenario, so that it decides.
    fn plan(&self, kernels: &[&str], policies: &[Policy]) -> Result<Plan> {
        let kernel = |name: &&str| {
            let named = (KERNEL.to_owned(), (*name).to_owned());
            let settings = if *name == DEFAULT_KERNEL { Vec::new() } else { vec![named] };
            PlanLevel { name: (*name).to_owned(), settings, build: None }
        };
        let mut scenarios: Vec<PlanLevel> = Vec::new();
        for policy in policies {
            for (scenario, settings) in self.applicable(policy)? {
                if scenarios.iter().any(|level| level.name == scenario.name) {
                    continue;
                }
                let mut level = level_of(scenario);
                // One policy may have another value for each scenario, such as a share of its limit.
                if policies.len() == 1 {
                    level.settings.extend(settings);
                }
                scenarios.push(level);
            }
        }
        let level = |policy: &Policy| PlanLevel {
            name: policy.name.clone(),
            settings: policy.settings.clone(),
            build: None,
        };
        Ok(Plan {
            name: "freeze".to_owned(),
            design: Design::Full,
            seeds: (1..=u64::from(self.seeds)).collect(),
            order: Order::UpAndDown { first_block: 0 },
            responses: Vec::new(),
            base: Vec::new(),
            factors: vec![
                PlanFactor { name: SCENARIO.to_owned(), levels: scenarios },
                PlanFactor {
                    name: KERNEL.to_owned(),
                    levels: kernels.iter().map(kernel).collect(),
                },
                PlanFactor {
                    name: POLICY.to_owned(),
                    levels: policies.iter().map(level).collect(),
                },
            ],
            first_cell: 1,
        })
    }

    /// The scenarios and policies, without kernels and cells.
    pub fn listed(&self) -> FreezeSuiteRuns {
        let scenario = |it: &Scenario| FreezeScenario {
            name: it.name.clone(),
            about: it.about.clone(),
            link: it.link.clone(),
            healthy: it.healthy,
        };
        let policy = |it: &Policy| FreezePolicy {
            name: it.name.clone(),
            about: it.about.clone(),
            settings: it.in_words(),
            control: it.control.clone(),
        };
        FreezeSuiteRuns {
            scenarios: self.scenarios.iter().map(scenario).collect(),
            policies: self.policies.iter().map(policy).collect(),
            ..FreezeSuiteRuns::default()
        }
    }

    /// The names of everything, and the cells without runs.
    fn described(&self) -> Result<FreezeSuiteRuns> {
        let mut cells = Vec::new();
        for kernel in self.kernel_names() {
            for policy in &self.policies {
                for (scenario, _) in self.applicable(policy)? {
                    cell_of(&mut cells, [kernel, &scenario.name, &policy.name]);
                }
            }
        }
        let kernels = self.kernel_names().into_iter().map(str::to_owned).collect();
        Ok(FreezeSuiteRuns { kernels, cells, ..self.listed() })
    }

    /// Writes the manifest of the runs so far, for `compare`, `attribute` and `report`.
    fn write(&self, made: &BTreeSet<String>, folder: &Path) -> Result<()> {
        let plan = self.plan(&self.kernel_names(), &self.policies)?;
        let mut manifest = manifest(&plan, &plan_text(&plan));
        manifest.runs.retain(|run| made.contains(&run.run_id));
        write_manifest(&manifest, folder)
    }
}

fn level_of(scenario: &Scenario) -> PlanLevel {
    PlanLevel { name: scenario.name.clone(), settings: scenario.settings.clone(), build: None }
}

/// The cell of a kernel, a scenario and a policy, a new one if there is none.
fn cell_of<'a>(cells: &'a mut Vec<FreezeCell>, names: [&str; 3]) -> &'a mut FreezeCell {
    let is_it = |it: &FreezeCell| [&it.kernel, &it.scenario, &it.policy] == names;
    let position = cells.iter().position(is_it).unwrap_or_else(|| {
        let [kernel, scenario, policy] = names.map(str::to_owned);
        cells.push(FreezeCell { kernel, scenario, policy, ..FreezeCell::default() });
        cells.len() - 1
    });
    &mut cells[position]
}

/// Puts a measured cell in the place of the one without runs.
fn put(cells: &mut Vec<FreezeCell>, cell: FreezeCell) {
    let place = cell_of(cells, [&cell.kernel, &cell.scenario, &cell.policy]);
    *place = cell;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(scenarios: &[&str], policies: &[&str]) -> FreezeSuite {
        let names = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        FreezeSuite {
            scenarios: Scenario::choose(&names(scenarios)).unwrap(),
            policies: Policy::choose(&names(policies)).unwrap(),
            kernels: Vec::new(),
            seeds: 2,
        }
    }

    #[test]
    fn every_scenario_under_every_policy_is_a_cell_of_a_deterministic_machine() {
        let all = FreezeSuite {
            scenarios: Scenario::built_in().unwrap(),
            policies: Policy::built_in().unwrap(),
            kernels: Vec::new(),
            seeds: 1,
        };
        let mut cells = 0;
        for policy in &all.policies {
            let plan = all.plan(&[DEFAULT_KERNEL], std::slice::from_ref(policy)).unwrap();
            let resolved = plan.cells(Path::new("")).unwrap();
            assert!(resolved.iter().all(crate::CellPlan::is_deterministic), "{}", policy.name);
            cells += resolved.len();
        }
        assert_eq!(cells, all.count().unwrap());
        assert!(cells > 8 * 12, "{cells}");
    }

    #[test]
    fn a_policy_decides_over_its_scenario() {
        let plan = suite(&["leak"], &["no-swap"]).plan(&[DEFAULT_KERNEL], &[]).unwrap();
        assert!(plan.factors[0].levels.is_empty());
        let suite = suite(&["leak"], &["no-swap"]);
        let plan = suite.plan(&[DEFAULT_KERNEL], &suite.policies[1..]).unwrap();
        let cell = plan.cells(Path::new("")).unwrap().remove(0);
        let crate::SubjectArg::Vm(request) = cell.subject.unwrap() else { panic!("no guest") };
        assert_eq!(request.machine.swap_bytes, 0);
    }

    #[test]
    fn runs_are_named_by_their_levels_alone() {
        let ids = |suite: &FreezeSuite, policies: &[Policy]| -> BTreeSet<String> {
            let plan = suite.plan(&[DEFAULT_KERNEL], policies).unwrap();
            plan.runs().into_iter().map(|(_, run)| run.run_id).collect()
        };
        let one = suite(&["leak"], &["zram"]);
        let two = suite(&["tail", "leak"], &["no-swap", "zram"]);
        assert!(ids(&one, &one.policies[1..]).is_subset(&ids(&two, &two.policies)));
        assert_eq!((one.count().unwrap(), two.count().unwrap()), (4, 12));
    }

    #[test]
    fn what_was_not_measured_yet_is_not_as_the_reference() {
        let suite = suite(&["leak", "container"], &["zram", "high-80"]);
        let mut runs = suite.described().unwrap();
        let run = analysis::freeze::FreezeRun::default();
        put(
            &mut runs.cells,
            FreezeCell {
                kernel: DEFAULT_KERNEL.to_owned(),
                scenario: "leak".to_owned(),
                policy: "kernel".to_owned(),
                runs: vec![run],
                problem: None,
            },
        );
        let measured = |scenario: &str, policy: &str| {
            runs.cell(DEFAULT_KERNEL, scenario, policy).map(|cell| cell.runs.len())
        };
        assert_eq!(measured("leak", "zram"), Some(0));
        assert_eq!(
            (measured("leak", "high-80"), measured("container", "high-80")),
            (Some(1), Some(0))
        );
    }

    #[test]
    fn other_suites_have_other_folders() {
        let folders = [suite(&["leak"], &["zram"]), suite(&["leak"], &["no-swap"])];
        let folders = folders.map(|suite| suite.folder(None));
        assert_ne!(folders[0], folders[1]);
        let name = folders[0].file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("freeze-leak-"), "{name}");
    }
}
