//! The ledger of conditions as text.

use analysis::attribution::Ledger;

use super::words::and;
use crate::columns::aligned;

/// In what experiments differ, and what they have in common.
#[must_use]
pub fn ledger_text(ledger: &Ledger) -> String {
    let mut heading = vec!["condition".to_owned()];
    heading.extend(ledger.names.iter().cloned());
    let mut rows = vec![heading];
    for condition in &ledger.differing {
        let mut row = vec![condition.name.replace('_', " ")];
        row.extend(
            condition.values.iter().map(|value| value.clone().unwrap_or_else(|| "-".to_owned())),
        );
        rows.push(row);
    }
    let mut text = "Conditions in which the experiments differ (- = not told)\n".to_owned();
    text.push_str(&aligned(&rows));
    if !ledger.common.is_empty() {
        let common: Vec<String> = ledger
            .common
            .iter()
            .map(|(name, value)| format!("{} {value}", name.replace('_', " ")))
            .collect();
        text.push_str(&format!("\nThe same in all: {}.\n", common.join("; ")));
    }
    text.push('\n');
    for distance in &ledger.distances {
        let (a, b) = (&ledger.names[distance.between.0], &ledger.names[distance.between.1]);
        let named: Vec<String> =
            distance.conditions.iter().map(|name| name.replace('_', " ")).collect();
        text.push_str(&match named.as_slice() {
            [] => format!("- {a} and {b} differ in nothing that is told.\n"),
            [one] => {
                format!("- {a} and {b} differ in {one} alone: what they disagree on is its.\n")
            }
            named => {
                format!("- {a} and {b} differ in {} conditions: {}.\n", named.len(), and(named))
            }
        });
    }
    text
}
