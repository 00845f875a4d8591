//! The rules of the doctor, and what operations cost, as tables.

use doctor::{Operation, Provocation, Rule, UnitCosts};

use crate::columns::aligned;

/// What each operation costs on this machine, and why some are not known. Ends in a newline.
#[must_use]
pub fn unit_costs_text(costs: &UnitCosts) -> String {
    let mut rows = vec![["operation", "median ns", "least ns", "times"].map(String::from).to_vec()];
    rows.extend(costs.costs.iter().map(|(operation, cost)| {
        vec![
            operation_text(*operation).to_owned(),
            format!("{:.1}", cost.ns),
            format!("{:.1}", cost.least_ns),
            cost.repetitions.to_string(),
        ]
    }));
    let mut text = aligned(&rows);
    for (operation, reason) in &costs.missed {
        text += &format!("{} is not known: {reason}\n", operation_text(*operation));
    }
    text
}

/// An operation in words.
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

/// The rules with what they look for, and how each is provoked. Ends in a newline.
#[must_use]
pub fn rules_text(rules: &[Rule]) -> String {
    let mut rows = vec![["rule", "provoked by", "what it finds"].map(String::from).to_vec()];
    let mut reasons = String::new();
    for rule in rules {
        let load = match rule.provocation {
            Provocation::Load(name) => name,
            Provocation::None(reason) => {
                reasons += &format!("{} is not provoked: {reason}\n", rule.name);
                "-"
            }
        };
        rows.push([rule.name, load, rule.about].map(String::from).to_vec());
    }
    let costs = rules.iter().map(|rule| [rule.name, rule.cost].map(String::from).to_vec());
    let heading = vec!["rule".to_owned(), "time lost".to_owned()];
    let costs: Vec<Vec<String>> = std::iter::once(heading).chain(costs).collect();
    format!("{}{reasons}\n{}", aligned(&rows), aligned(&costs))
}

#[cfg(test)]
mod tests {
    use doctor::{ALL, UnitCost};

    use super::*;

    #[test]
    fn costs_are_told_and_so_is_what_is_not_known() {
        let cost = UnitCost { ns: 1840.25, least_ns: 1700.0, repetitions: 100 };
        let costs = UnitCosts {
            costs: [(Operation::FirstTouch, cost)].into(),
            missed: [(Operation::SwapIn, "there is no swap".to_owned())].into(),
        };
        let text = unit_costs_text(&costs);
        assert!(
            text.contains("first touch of an anonymous page     1840.2    1700.0    100"),
            "{text}"
        );
        assert!(text.ends_with("major fault on a swapped page is not known: there is no swap\n"));
    }

    #[test]
    fn every_rule_stands_in_both_tables() {
        let text = rules_text(ALL);
        for rule in ALL {
            assert!(text.matches(rule.name).count() >= 2, "{}: {text}", rule.name);
        }
    }
}
