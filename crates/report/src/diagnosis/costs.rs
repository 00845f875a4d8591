//! The rules of the doctor, and what operations cost, as tables.

use doctor::{Operation, Provocation, Rule, UnitCosts};
use render::{Block, Cell, Document, Table};

/// What each operation costs on this machine, and why some are not known.
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

/// The rules with what they look for, how each is provoked, and what it costs.
pub fn rules_document(rules: &[Rule]) -> Document<'static> {
    let found = rules.iter().map(|rule| {
        let load = match rule.provocation {
            Provocation::Load(name) => Cell::from(name),
            Provocation::None(_) => Cell::absent(),
        };
        [Cell::from(rule.name), load, Cell::from(rule.about)]
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
}
