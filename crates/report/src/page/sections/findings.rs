//! What the doctor says of the runs.

use std::collections::BTreeSet;

use super::charts_of;
use crate::charts::{Data, found};
use render::{Block, Section};

/// Most conditions that are told whole.
const MOST: usize = 8;

/// The findings by time lost, and what was ruled out everywhere.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let diagnoses = || data.material.inputs.iter().flat_map(|input| &input.diagnoses);
    diagnoses().next()?;
    let all = found(data);
    let mut blocks = charts_of(data, "findings");
    if all.is_empty() {
        let text = "Nothing was found that costs 1 % of anybody's time.";
        blocks.push(Block::Sentence(text.to_owned()));
    }
    let mut rules: Vec<&str> = Vec::new();
    for one in &all {
        if !rules.contains(&one.finding.rule) {
            rules.push(one.finding.rule);
        }
    }
    let told = rules.iter().take(MOST).filter_map(|rule| {
        let mut of_rule = all.iter().filter(|one| one.finding.rule == *rule);
        let worst = of_rule.next()?;
        let also: Vec<&str> = of_rule.map(|one| one.load.as_str()).collect();
        let also = match also.is_empty() {
            true => String::new(),
            false => format!(" (also under {})", also.join(", ")),
        };
        let finding = worst.finding;
        let what_if = finding.counterfactual.as_ref();
        let what_if = what_if.map_or_else(String::new, |text| format!(" What if: {text}."));
        Some(format!(
            "{rule} under {}{also}: {}.{what_if} Remedy: {}. Confirm: {}",
            worst.load, finding.condition, finding.remedy, finding.confirm
        ))
    });
    let told: Vec<String> = told.collect();
    if !told.is_empty() {
        blocks.push(Block::List(told));
    }
    let present: BTreeSet<&str> = all.iter().map(|one| one.finding.rule).collect();
    let out: BTreeSet<&str> = diagnoses()
        .flat_map(|one| one.diagnosis.ruled_out.iter().map(|(rule, _)| *rule))
        .filter(|rule| !present.contains(rule))
        .collect();
    let out: Vec<&str> = out.into_iter().collect();
    if !out.is_empty() {
        blocks.push(Block::Sentence(format!("Ruled out: {}.", out.join(", "))));
    }
    super::section("findings", "What the time was lost to", blocks)
}
