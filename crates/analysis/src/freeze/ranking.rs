//! The policies of a suite, from the one under which the machine freezes shortest.

use model::Observation;
use serde::Serialize;
use stats::bounded_median;

use super::measure::FreezeRun;

/// All runs of a suite on one or several kernels.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FreezeScenario {
    /// Its name.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Address of the complaint that it reproduces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// Settings under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FreezePolicy {
    /// Its name.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// Its settings, each as `NAME=VALUE`.
    pub settings: Vec<String>,
}

/// The runs of one combination.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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

    /// The median of the longest freeze over the seeds.
    pub fn longest_s(&self) -> Option<Observation> {
        bounded_median(&self.values(|run| run.longest_s))
    }

    /// The least and the most frozen seconds; `None` with fewer than two seeds.
    pub fn range_s(&self) -> Option<(Observation, Observation)> {
        let mut all = self.values(|run| run.frozen_s);
        all.sort_by(|one, other| one.value.total_cmp(&other.value));
        match all[..] {
            [least, .., most] => Some((least, most)),
            _ => None,
        }
    }

    /// Processes per run that were killed and had not filled memory; `None` without runs.
    pub fn wrong_victims(&self) -> Option<f64> {
        let wrong: u64 = self.runs.iter().map(|run| run.victims.wrong()).sum();
        (!self.runs.is_empty()).then(|| wrong as f64 / self.runs.len() as f64)
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
        let of = |cell: &Option<&FreezeCell>| -> Option<(Observation, f64)> {
            let cell = (*cell)?;
            Some((cell.frozen_s()?, cell.wrong_victims()?))
        };
        let scenarios: Vec<Option<(Observation, f64)>> = cells.iter().map(of).collect();
        let known = || scenarios.iter().flatten();
        PolicyScore {
            policy,
            is_complete: scenarios.iter().all(Option::is_some),
            frozen_s: Observation {
                value: known().map(|(frozen, _)| frozen.value).sum(),
                is_lower_bound: known().any(|(frozen, _)| frozen.is_lower_bound),
            },
            wrong_victims: known().map(|(_, wrong)| wrong).sum(),
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
    /// The sum over the scenarios of the wrong victims per run.
    pub wrong_victims: f64,
    /// Runs in which the machine died.
    pub deaths: usize,
    /// Frozen seconds and wrong victims in each scenario; absent where it has no result.
    #[serde(skip)]
    scenarios: Vec<Option<(Observation, f64)>>,
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
                (Some(one), Some(two)) => is_at_most(one.0, two.0) && one.1 <= two.1,
                (Some(_), None) => true,
                (None, _) => false,
            })
    }

    /// Whether it is better in one sum and as good in the other.
    fn is_better_in_sum(&self, other: &Self) -> bool {
        let is_as_good = self.deaths <= other.deaths
            && is_at_most(self.frozen_s, other.frozen_s)
            && self.wrong_victims <= other.wrong_victims;
        let is_equal = self.frozen_s == other.frozen_s
            && self.wrong_victims == other.wrong_victims
            && self.deaths == other.deaths;
        self.is_complete && is_as_good && !is_equal
    }
}

/// Whether a time is certainly at most another one. A lower bound is at most nothing but an equal
/// bound.
fn is_at_most(one: Observation, other: Observation) -> bool {
    match one.is_lower_bound {
        true => other.is_lower_bound && one.value == other.value,
        false => one.value <= other.value,
    }
}
