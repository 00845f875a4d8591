//! What the doctor says of the runs.

use super::charts_of;
use crate::charts::{Data, found};
use analysis::distinct;
use render::{Block, Section};

const MOST: usize = 8;

/// The findings by time lost, and what was ruled out everywhere.
pub(super) fn section(data: &Data<'_>) -> Option<Section> {
    let diagnoses = || data.material.inputs.iter().flat_map(|input| &input.diagnoses);
    diagnoses().next()?;
    let all = found(data);
    let mut blocks = charts_of(data, "findings");
    if all.is_empty() {
        blocks.push("Nothing was found that costs 1 % of anybody's time.".into());
    }
    let rules = distinct(all.iter().map(|one| one.finding.rule));
    let told = rules.iter().take(MOST).filter_map(|rule| {
        let mut of_rule = all.iter().filter(|one| one.finding.rule == *rule);
        let worst = of_rule.next()?;
        let also = match of_rule.map(|one| one.load.as_str()).collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => none,
            loads => format!(" (also under {loads})"),
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
    let out = diagnoses().flat_map(|one| &one.diagnosis.ruled_out).map(|(rule, _)| *rule);
    let mut out = distinct(out.filter(|rule| !rules.contains(rule)));
    out.sort_unstable();
    if !out.is_empty() {
        blocks.push(format!("Ruled out: {}.", out.join(", ")).into());
    }
    super::section("findings", "What the time was lost to", blocks)
}
