//! The policies by frozen seconds and wrong victims, with those that no other one surpasses in both.

use analysis::freeze::{FreezeRanking, FreezeSuiteRuns, PolicyScore};
use render::charts::{chart, rounded};
use render::{Cell, Chart, Table};
use serde_json::{Value, json};

use super::table::{per_run, seconds};
use crate::charts::numbered;

const TEMPLATE: &str = include_str!("../../charts/front.vl.json");

/// The chart of a ranking; `None` with fewer than two policies that have all results.
pub(super) fn front_chart(
    runs: &FreezeSuiteRuns,
    ranking: &FreezeRanking,
    index: usize,
) -> Option<Chart> {
    let complete: Vec<&PolicyScore> = ranking.policies.iter().filter(|it| it.is_complete).collect();
    if complete.len() < 2 {
        return None;
    }
    let mut table = Table::new("", ["policy", "frozen", "wrong", "surpassed"]);
    let mut values: Vec<Value> = Vec::new();
    for score in complete {
        let name = &runs.policies[score.policy].name;
        let is_front = ranking.front.contains(&score.policy);
        let [least, most] = score.in_plan_s.map(rounded);
        let (frozen, wrong) = (seconds(&score.frozen_s), per_run(score.wrong_victims));
        let kind = if is_front { "not surpassed" } else { "surpassed" };
        values.push(json!({
            "least": least, "most": most, "wrong": rounded(score.wrong_victims),
            "front": is_front, "kind": kind, "text": name,
            "tip": format!("{name}: frozen for {frozen}, {wrong} wrong victims, {kind}"),
        }));
        table.row([
            Cell::from(name),
            Cell::Figure(frozen),
            Cell::Figure(wrong),
            Cell::from(if is_front { "no" } else { "yes" }),
        ]);
    }
    let (name, title) = (numbered("front", index), "Frozen seconds and wrong victims");
    Some(chart(&name, title, TEMPLATE, (&json!({ "values": values }), table)))
}
