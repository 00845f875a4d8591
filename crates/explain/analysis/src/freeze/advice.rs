//! What the results of a suite support for a machine: which policies are better than what it has, and in
//! what they are worse.
//!
//! A policy is better in a scenario if all its seeds are frozen for at most two thirds of the shortest time
//! of the reference, within the planned time of the runs: less is nothing that a user feels. What is
//! closer or overlaps counts as alike, so a small suite supports little, and what it supports is not
//! chance alone: with three seeds of each, equal policies are in this order in at most one of twenty cases,
//! by the number of orders of six runs.

use model::Observation;
use serde::Serialize;

use super::ranking::{FreezeCell, FreezeSuiteRuns};

/// Another time is longer only from so many times on.
const LONGER: f64 = 1.5;

/// A policy that the results support, in place of a reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Index of the policy.
    #[serde(skip)]
    pub policy: usize,
    /// Scenarios in which the machine is frozen for a shorter time.
    pub better: Vec<Effect>,
    /// Scenarios in which it is frozen for a longer time, or more processes are killed wrongly.
    pub worse: Vec<Effect>,
    /// Scenarios in which both are alike.
    pub alike: usize,
}

/// What a policy changes in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The scenario's name.
    pub scenario: String,
    /// Frozen seconds with the reference and with the policy: medians over the seeds.
    pub frozen_s: [Observation; 2],
    /// Wrong victims per run with the reference and with the policy.
    pub wrong_victims: [f64; 2],
}

/// How a policy compares in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Better,
    Worse,
    Alike,
}

impl FreezeSuiteRuns {
    /// The policies that are better than a reference in more of these scenarios than they are worse in, on
    /// a kernel: those with the largest difference of both first, and of equal ones those that save the
    /// most seconds.
    pub fn advice(&self, kernel: &str, scenarios: &[String], reference: &str) -> Vec<Advice> {
        let others = self.policies.iter().enumerate().filter(|(_, it)| it.name != reference);
        let mut all: Vec<Advice> = others
            .map(|(index, policy)| {
                self.against(kernel, scenarios, [reference, &policy.name], index)
            })
            .filter(|advice| advice.better.len() > advice.worse.len())
            .collect();
        let saved = |advice: &Advice| -> f64 {
            advice.better.iter().map(|it| it.frozen_s[0].value - it.frozen_s[1].value).sum()
        };
        let net = |advice: &Advice| advice.better.len() - advice.worse.len();
        all.sort_by(|one, other| {
            net(other).cmp(&net(one)).then(saved(other).total_cmp(&saved(one)))
        });
        all
    }

    fn against(
        &self,
        kernel: &str,
        scenarios: &[String],
        [reference, policy]: [&str; 2],
        index: usize,
    ) -> Advice {
        let mut advice = Advice { policy: index, better: Vec::new(), worse: Vec::new(), alike: 0 };
        for scenario in scenarios {
            let cells = [reference, policy].map(|it| self.cell(kernel, scenario, it));
            let [Some(before), Some(after)] = cells else { continue };
            let (Some(verdict), Some(effect)) =
                (verdict(before, after), effect(scenario, [before, after]))
            else {
                continue;
            };
            match self.checked(kernel, verdict, after) {
                Verdict::Better => advice.better.push(effect),
                Verdict::Worse => advice.worse.push(effect),
                Verdict::Alike => advice.alike += 1,
            }
        }
        advice
    }

    /// A verdict, which is better only if the policy is better than its control, too.
    fn checked(&self, kernel: &str, found: Verdict, after: &FreezeCell) -> Verdict {
        let policy = self.policies.iter().find(|it| it.name == after.policy);
        let control = policy.and_then(|it| it.control.as_deref());
        let Some(control) = control.filter(|_| found == Verdict::Better) else { return found };
        // Without its runs, the cell would be that of the first policy.
        let is_known = self.policies.iter().any(|it| it.name == control);
        let control = self.cell(kernel, &after.scenario, control).filter(|_| is_known);
        match control.and_then(|control| verdict(control, after)) {
            Some(Verdict::Better) => Verdict::Better,
            _ => Verdict::Alike,
        }
    }
}

/// How the second cell compares with the first one; `None` without results of both.
fn verdict(before: &FreezeCell, after: &FreezeCell) -> Option<Verdict> {
    let ends = |cell: &FreezeCell| {
        let all = || cell.runs.iter().filter_map(|run| run.frozen_in_plan_s);
        let least_s = all().map(|it| it[0]).reduce(f64::min)?;
        Some([least_s, all().map(|it| it[1]).reduce(f64::max)?])
    };
    let ([before_least, before_most], [after_least, after_most]) = (ends(before)?, ends(after)?);
    let wrong = |cell: &FreezeCell| {
        let each =
            || cell.runs.iter().map(|run| run.victims.wrong() + u64::from(run.death.is_some()));
        Some([each().min()?, each().max()?])
    };
    let kills_more = wrong(after)?[0] > wrong(before)?[1];
    let is_shorter = after_most * LONGER < before_least;
    let is_longer = after_least > before_most * LONGER;
    Some(match (is_shorter, is_longer || kills_more) {
        (_, true) => Verdict::Worse,
        (true, false) => Verdict::Better,
        (false, false) => Verdict::Alike,
    })
}

fn effect(scenario: &str, cells: [&FreezeCell; 2]) -> Option<Effect> {
    let [before, after] = cells;
    Some(Effect {
        scenario: scenario.to_owned(),
        frozen_s: [before.frozen_s()?, after.frozen_s()?],
        wrong_victims: [before.wrong_victims()?, after.wrong_victims()?],
    })
}

#[cfg(test)]
mod tests {
    use super::super::{FreezePolicy, FreezeRun, FreezeScenario, Victims};
    use super::*;

    fn cell(policy: &str, scenario: &str, frozen_s: [f64; 2], wrong: u64) -> FreezeCell {
        let run = |frozen_s: f64| FreezeRun {
            frozen_s: Some(Observation::exact(frozen_s)),
            frozen_in_plan_s: Some([frozen_s; 2]),
            victims: Victims { bystanders: wrong, ..Victims::default() },
            ..FreezeRun::default()
        };
        FreezeCell {
            kernel: "k".into(),
            scenario: scenario.into(),
            policy: policy.into(),
            runs: frozen_s.map(run).into(),
            problem: None,
        }
    }

    #[test]
    fn a_policy_that_is_no_better_than_its_control_is_no_advice() {
        let policy = |name: &str, control: Option<&str>| FreezePolicy {
            name: name.into(),
            control: control.map(str::to_owned),
            ..FreezePolicy::default()
        };
        let of_control = |name: &str| policy(name, Some("idle"));
        let policies = vec![policy("none", None), policy("idle", Some("unmeasured"))];
        let daemons = FreezeSuiteRuns {
            policies: vec![of_control("slow"), of_control("quick"), of_control("idle")],
            cells: vec![
                cell("slow", "a", [1.0, 2.0], 0),
                cell("quick", "a", [0.1, 0.2], 0),
                cell("slow", "other", [0.0, 0.0], 0),
            ],
            ..FreezeSuiteRuns::default()
        };
        let scenario =
            |name: &str| FreezeScenario { name: name.into(), ..FreezeScenario::default() };
        let suite = FreezeSuiteRuns {
            kernels: vec!["k".into()],
            scenarios: ["a", "b"].map(scenario).into(),
            policies,
            cells: vec![
                cell("none", "a", [9.0, 12.0], 0),
                cell("none", "b", [9.0, 12.0], 0),
                cell("idle", "a", [2.0, 3.0], 0),
                cell("idle", "b", [2.0, 3.0], 0),
            ],
        };
        let runs = suite.with_policies_of(&daemons);
        let names: Vec<&str> = runs.policies.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["none", "idle", "slow", "quick"]);
        let advice = runs.advice("k", &["a".to_owned(), "b".to_owned()], "none");
        let [quick] = &advice[..] else { panic!("{advice:#?}") };
        assert_eq!((quick.policy, quick.better.len(), quick.alike), (3, 1, 0), "b has no runs");
    }

    #[test]
    fn what_is_felt_counts_and_what_kills_more_is_worse() {
        let policy = |name: &str| FreezePolicy { name: name.into(), ..FreezePolicy::default() };
        let scenario =
            |name: &str| FreezeScenario { name: name.into(), ..FreezeScenario::default() };
        let runs = FreezeSuiteRuns {
            kernels: vec!["k".into()],
            scenarios: ["a", "b"].map(scenario).into(),
            policies: ["none", "zram", "less", "kills"].map(policy).into(),
            cells: vec![
                cell("none", "a", [9.0, 12.0], 0),
                cell("none", "b", [2.0, 3.0], 0),
                cell("zram", "a", [1.0, 5.0], 0),
                cell("zram", "b", [2.5, 3.5], 0),
                // Shorter by less than a third.
                cell("less", "a", [7.0, 8.0], 0),
                cell("kills", "a", [1.0, 1.0], 1),
                cell("kills", "b", [0.5, 0.5], 0),
            ],
        };
        let advice = runs.advice("k", &["a".to_owned(), "b".to_owned()], "none");
        assert_eq!(advice.len(), 1, "{advice:#?}");
        let zram = &advice[0];
        assert_eq!((zram.policy, zram.better.len(), zram.worse.len(), zram.alike), (1, 1, 0, 1));
        assert_eq!(zram.better[0].frozen_s.map(|it| it.value), [10.5, 3.0]);
        let only_b = runs.advice("k", &["b".to_owned()], "none");
        assert_eq!(only_b.iter().map(|it| it.policy).collect::<Vec<_>>(), [3]);
    }
}
