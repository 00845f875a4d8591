//! The policies of a suite, from the one under which the machine freezes shortest.

use model::Observation;
use serde::{Deserialize, Serialize};
use stats::{bounded_median, median};

use super::measure::FreezeRun;

/// All runs of a suite on one or several kernels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreezeSuiteRuns {
    /// The kernels by name.
    pub kernels: Vec<String>,
    /// What fills memory.
    pub scenarios: Vec<FreezeScenario>,
    /// The settings under test; the first is the reference.
    pub policies: Vec<FreezePolicy>,
    /// The runs of each combination; a policy that has no setting for a scenario has no cell there.
    pub cells: Vec<FreezeCell>,
}

/// What fills memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreezeScenario {
    /// Its name.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Address of the complaint that it reproduces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Whether it fits into memory, so that every process that is killed is a wrong victim.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub healthy: bool,
}

/// Settings under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreezePolicy {
    /// Its name.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Its settings, each as `NAME=VALUE`.
    pub settings: Vec<String>,
    /// The policy whose machine differs only in what is under test; `None` = the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
}

/// The runs of one combination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreezeCell {
    /// The kernel's name.
    pub kernel: String,
    /// The scenario's name.
    pub scenario: String,
    /// The policy's name.
    pub policy: String,
    /// One per seed.
    pub runs: Vec<FreezeRun>,
    /// Why it could not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl FreezeCell {
    /// The median of the frozen seconds over the seeds; `None` if no run has them.
    pub fn frozen_s(&self) -> Option<Observation> {
        bounded_median(&self.values(|run| run.frozen_s))
    }

    /// The medians over the seeds of the least and the most frozen seconds within the planned time.
    fn frozen_in_plan_s(&self) -> Option<[f64; 2]> {
        let ends = || self.runs.iter().filter_map(|run| run.frozen_in_plan_s);
        let of = |end: usize| median(&ends().map(|it| it[end]).collect::<Vec<_>>());
        Some([of(0)?, of(1)?])
    }

    /// The median of the longest freeze over the seeds.
    pub fn longest_s(&self) -> Option<Observation> {
        bounded_median(&self.values(|run| run.longest_s))
    }

    /// The least and the most frozen seconds; `None` with fewer than two seeds. Where any run is a lower
    /// bound, so is the most.
    pub fn range_s(&self) -> Option<(Observation, Observation)> {
        let mut all = self.values(|run| run.frozen_s);
        all.sort_by(|one, other| one.value.total_cmp(&other.value));
        let is_lower_bound = all.iter().any(|it| it.is_lower_bound);
        match all[..] {
            [least, .., most] => Some((least, Observation { is_lower_bound, ..most })),
            _ => None,
        }
    }

    /// Processes per run that were killed and had not filled memory; `None` without runs.
    pub fn wrong_victims(&self) -> Option<f64> {
        let wrong: u64 = self.runs.iter().map(|run| run.victims.wrong()).sum();
        (!self.runs.is_empty()).then(|| wrong as f64 / self.runs.len() as f64)
    }

    /// The median share of the bystander's work that was not done; `None` if no run has it.
    pub fn work_lost(&self) -> Option<f64> {
        median(&self.runs.iter().filter_map(|run| run.work_lost).collect::<Vec<_>>())
    }

    /// How many machines died.
    pub fn deaths(&self) -> usize {
        self.runs.iter().filter(|run| run.death.is_some()).count()
    }

    fn values(&self, of: fn(&FreezeRun) -> Option<Observation>) -> Vec<Observation> {
        self.runs.iter().filter_map(of).collect()
    }
}

impl FreezeSuiteRuns {
    /// The cell of a combination. A policy without a setting for a scenario leaves it as the first
    /// policy has it.
    pub fn cell(&self, kernel: &str, scenario: &str, policy: &str) -> Option<&FreezeCell> {
        let find = |policy: &str| {
            let is_it = |it: &&FreezeCell| {
                it.kernel == kernel && it.scenario == scenario && it.policy == policy
            };
            self.cells.iter().find(is_it)
        };
        find(policy).or_else(|| find(&self.policies.first()?.name))
    }

    /// Adds the policies of other results that are missing here, with their runs of these kernels and
    /// scenarios. What was not measured is a cell without runs, not one as the first policy has it.
    pub fn with_policies_of(mut self, other: &Self) -> Self {
        let is_new = |it: &&FreezePolicy| !self.policies.iter().any(|known| known.name == it.name);
        let new: Vec<FreezePolicy> = other.policies.iter().filter(is_new).cloned().collect();
        for policy in &new {
            for kernel in &self.kernels {
                let cells = self.scenarios.iter().map(|scenario| {
                    let names = [kernel, &scenario.name, &policy.name];
                    let is_it = |it: &&FreezeCell| [&it.kernel, &it.scenario, &it.policy] == names;
                    let [kernel, scenario, policy] = names.map(String::clone);
                    let unmeasured =
                        || FreezeCell { kernel, scenario, policy, ..FreezeCell::default() };
                    other.cells.iter().find(is_it).cloned().unwrap_or_else(unmeasured)
                });
                self.cells.extend(cells);
            }
        }
        self.policies.extend(new);
        self
    }

    /// The ranking of the policies on a kernel.
    pub fn ranking(&self, kernel: &str) -> FreezeRanking {
        let mut policies: Vec<PolicyScore> =
            (0..self.policies.len()).map(|index| self.score(kernel, index)).collect();
        policies.sort_by(|one, other| one.order(other));
        let best = |score: &PolicyScore| {
            score.is_complete && policies.iter().all(|other| score.is_as_good_as(other))
        };
        let dominating = policies.iter().filter(|score| best(score)).map(|score| score.policy);
        let dominating = dominating.collect();
        let is_front = |score: &PolicyScore| {
            score.is_complete && !policies.iter().any(|other| other.is_better_in_sum(score))
        };
        let front = policies.iter().filter(|it| is_front(it)).map(|score| score.policy).collect();
        FreezeRanking { policies, dominating, front }
    }

    fn score(&self, kernel: &str, policy: usize) -> PolicyScore {
        let name = &self.policies[policy].name;
        let cells = self.scenarios.iter().map(|it| self.cell(kernel, &it.name, name));
        let cells: Vec<Option<&FreezeCell>> = cells.collect();
        let of = |cell: &Option<&FreezeCell>| {
            let cell = (*cell)?;
            Some(InScenario {
                frozen_s: cell.frozen_s()?,
                in_plan_s: cell.frozen_in_plan_s()?,
                wrong_victims: cell.wrong_victims()?,
            })
        };
        let scenarios: Vec<Option<InScenario>> = cells.iter().map(of).collect();
        let known = || scenarios.iter().flatten();
        let in_plan_s = [0, 1].map(|end: usize| known().map(|it| it.in_plan_s[end]).sum());
        PolicyScore {
            policy,
            is_complete: scenarios.iter().all(Option::is_some),
            frozen_s: Observation {
                value: known().map(|it| it.frozen_s.value).sum(),
                is_lower_bound: known().any(|it| it.frozen_s.is_lower_bound),
            },
            in_plan_s,
            wrong_victims: known().map(|it| it.wrong_victims).sum(),
            deaths: cells.iter().flatten().map(|cell| cell.deaths()).sum(),
            scenarios,
        }
    }
}

/// The policies of a suite on one kernel, the best first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FreezeRanking {
    /// All policies; those that could not run in some scenario come last.
    pub policies: Vec<PolicyScore>,
    /// Policies that no other one surpasses in any scenario, neither in frozen seconds nor in wrong
    /// victims, by index. Several have equal results.
    pub dominating: Vec<usize>,
    /// Policies that no other one surpasses in the sums of both, by index.
    pub front: Vec<usize>,
}

/// A policy over all scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyScore {
    /// Index of the policy.
    pub policy: usize,
    /// Whether it has a result in every scenario.
    pub is_complete: bool,
    /// The sum over the scenarios of the median frozen seconds.
    pub frozen_s: Observation,
    /// The least and the most of it within the planned time of the runs.
    pub in_plan_s: [f64; 2],
    /// The sum over the scenarios of the wrong victims per run.
    pub wrong_victims: f64,
    /// Runs in which the machine died.
    pub deaths: usize,
    /// Its results in each scenario; absent where it has none.
    #[serde(skip)]
    scenarios: Vec<Option<InScenario>>,
}

/// A policy in one scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
struct InScenario {
    frozen_s: Observation,
    in_plan_s: [f64; 2],
    wrong_victims: f64,
}

impl PolicyScore {
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let [one, two] = [self, other].map(|it| {
            let Observation { value, is_lower_bound } = it.frozen_s;
            (!it.is_complete, it.deaths, value, is_lower_bound, it.wrong_victims)
        });
        one.0
            .cmp(&two.0)
            .then(one.1.cmp(&two.1))
            .then(one.2.total_cmp(&two.2))
            .then(one.3.cmp(&two.3))
            .then(one.4.total_cmp(&two.4))
    }

    /// Whether another policy is better in no scenario and in neither measure.
    fn is_as_good_as(&self, other: &Self) -> bool {
        let both = self.scenarios.iter().zip(&other.scenarios);
        self.deaths <= other.deaths
            && both.into_iter().all(|(one, two)| match (one, two) {
                (Some(one), Some(two)) => {
                    is_at_most(one.in_plan_s, two.in_plan_s)
                        && one.wrong_victims <= two.wrong_victims
                }
                (Some(_), None) => true,
                (None, _) => false,
            })
    }

    /// Whether it is better in one sum and as good in the other.
    fn is_better_in_sum(&self, other: &Self) -> bool {
        let is_as_good = self.deaths <= other.deaths
            && is_at_most(self.in_plan_s, other.in_plan_s)
            && self.wrong_victims <= other.wrong_victims;
        let is_equal = self.in_plan_s == other.in_plan_s
            && self.wrong_victims == other.wrong_victims
            && self.deaths == other.deaths;
        self.is_complete && is_as_good && !is_equal
    }
}

/// Whether a time between two ends is certainly at most another one, or has the same ends.
fn is_at_most(one: [f64; 2], other: [f64; 2]) -> bool {
    one[1] <= other[0] || one == other
}
