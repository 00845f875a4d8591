//! The rules of the doctor, and the costs of operations.

use doctor::{Operation, PmegEstimate, Provocation, Rule, UnitCosts};
use render::format::grouped;
use render::{Block, Cell, Document, Table};
use serde_json::json;

/// The costs of operations on this machine, and the reasons for unknown ones.
pub fn unit_costs_document(costs: &UnitCosts) -> Document<'_> {
    let rows = costs.costs.iter().map(|(operation, cost)| {
        let [median, least] = [cost.ns, cost.least_ns].map(Cell::duration);
        [operation_text(*operation).into(), median, least, cost.repetitions.into()]
    });
    let table = Table::of("", ["operation", "median", "least", "times"], rows);
    let missed = costs.missed.iter().map(|(operation, reason)| {
        format!("{} is not known: {reason}", operation_text(*operation))
    });
    Document::of(vec![table.into(), Block::Notes(missed.collect())]).with_data(costs)
}

fn operation_text(operation: Operation) -> &'static str {
    match operation {
        Operation::FirstTouch => "first touch of an anonymous page",
        Operation::MapPage => "minor fault on a page in the page cache",
        Operation::FileRefault => "major fault on a file page",
        Operation::SwapIn => "major fault on a swapped page",
        Operation::ContextSwitch => "context switch",
        Operation::TlbShootdown => "TLB shootdown",
        Operation::ForkPage => "fork, for each resident page",
        Operation::CopyOnWrite => "copy on write of a page",
        Operation::SmallPageReference => "reference without locality through small pages",
        Operation::HugePageReference => "reference without locality through huge pages",
    }
}

/// The rules: what they find, how they are provoked, and what the condition costs.
pub fn rules_document(rules: &[Rule]) -> Document<'static> {
    let found = rules.iter().map(|rule| {
        let load = match rule.provocation {
            Provocation::Load(name) => Some(name),
            Provocation::None(_) => None,
        };
        [rule.name.into(), Cell::from(load), rule.about.into()]
    });
    let reasons = rules.iter().filter_map(|rule| match rule.provocation {
        Provocation::None(reason) => Some(format!("{} is not provoked: {reason}", rule.name)),
        Provocation::Load(_) => None,
    });
    let costs = rules.iter().map(|rule| [rule.name, rule.cost]);
    Document::of(vec![
        Table::of("", ["rule", "provoked by", "what it finds"], found).into(),
        Block::Notes(reasons.collect()),
        Table::of("", ["rule", "time lost"], costs).into(),
    ])
}

/// Irlam's estimate of the cost of stealing pmegs, if all or half of their pages are used again.
pub fn pmeg_estimate_document(allocations: u64, steals: u64) -> Document<'static> {
    let [whole, half] = [32, 16].map(|faults| PmegEstimate::published(allocations, steals, faults));
    let hours = |ns: u64| ns as f64 / 3.6e12;
    let line = |it: &PmegEstimate| {
        let (steals, faults, us) = (grouped(it.steals), it.faults_per_steal, it.fault_ns / 1000);
        let (lost_s, share) = (grouped(it.lost_ns / 1_000_000_000), 100.0 * it.lost_share);
        let (lost_h, of_h) = (hours(it.lost_ns), hours(it.uptime_ns));
        format!(
            "{steals} steals x {faults} faults x {us} us = {lost_s} s = {lost_h:.2} h of \
             {of_h:.0} h: {share:.1} %"
        )
    };
    let text = format!(
        "pmeg-steal: pmegs are stolen between processes; {:.1} % of {} allocations were steals\n\
         time lost if every page of a stolen pmeg is used again:\n  {}\n\
         if half of them are:\n  {}\n",
        100.0 * whole.steal_share(),
        grouped(allocations),
        line(&whole),
        line(&half),
    );
    Document::of(vec![Block::Verbatim(text)]).with_data(json!({
        "steal_share": whole.steal_share(),
        "all_pages": whole,
        "half_the_pages": half,
    }))
}

#[cfg(test)]
mod tests {
    use doctor::{ALL, UnitCost};
    use render::plain_text;

    use super::*;

    #[test]
    fn costs_are_listed_and_so_is_what_is_not_known() {
        let cost = UnitCost { ns: 1840.0, least_ns: 1700.0, repetitions: 100 };
        let costs = UnitCosts {
            costs: [(Operation::FirstTouch, cost)].into(),
            missed: [(Operation::SwapIn, "there is no swap".to_owned())].into(),
        };
        insta::assert_snapshot!(plain_text(&unit_costs_document(&costs)), @r"
        operation                         median   least  times
        first touch of an anonymous page  1.84us  1.70us    100

        major fault on a swapped page is not known: there is no swap
        ");
    }

    #[test]
    fn every_rule_is_in_both_tables() {
        let text = plain_text(&rules_document(ALL));
        for rule in ALL {
            assert!(text.matches(rule.name).count() >= 2, "{}: {text}", rule.name);
        }
    }

    #[test]
    fn the_published_estimate_is_printed() {
        let document = pmeg_estimate_document(3_173_659, 2_685_512);
        insta::assert_snapshot!(render::plain_text(&document), @r"
        pmeg-steal: pmegs are stolen between processes; 84.6 % of 3,173,659 allocations were steals
        time lost if every page of a stolen pmeg is used again:
          2,685,512 steals x 32 faults x 280 us = 24,062 s = 6.68 h of 48 h: 13.9 %
        if half of them are:
          2,685,512 steals x 16 faults x 280 us = 12,031 s = 3.34 h of 48 h: 7.0 %
        ");
    }
}
