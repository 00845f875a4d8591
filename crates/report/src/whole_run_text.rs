//! What a mix of users or a trace counted on a simulated machine.

use std::collections::BTreeMap;

use render::{Cell, Document, Table};

use analysis::seeds_text;

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeRun {
    /// The machine in words.
    pub place: String,
    /// What ran.
    pub name: String,
    /// The seeds, in the order of `counts`.
    pub seeds: Vec<u64>,
    /// Sums and counters of each seed by name; times end in `_ns`.
    pub counts: Vec<BTreeMap<&'static str, u64>>,
}

/// What is told, in this order, if it was counted.
const ROWS: [(&str, &str); 16] = [
    ("elapsed_ns", "elapsed"),
    ("user_ns", "user"),
    ("system_ns", "system"),
    ("idle_ns", "idle"),
    ("interactions", "interactions"),
    ("response_median_ns", "response, median"),
    ("response_95th_ns", "response, 95 of 100 within"),
    ("touches", "touches"),
    ("translation_faults", "translation faults"),
    ("context_switches", "context switches"),
    ("ctxstolen", "contexts stolen"),
    ("pmgalloc", "pmegs given out"),
    ("steals", "pmegs stolen"),
    ("loads", "pmegs loaded as a whole"),
    ("software_steals", "lost by the software too"),
    ("swap_ins", "swap-ins"),
];

/// What each seed came to: median, least and most.
#[must_use]
pub fn whole_run_document(run: &WholeRun) -> Document<'static> {
    let mut table = Table::new("", ["", "median", "min", "max"]);
    let mut row = |told: &str, values: Vec<f64>, cell: fn(f64) -> Cell| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let median = stats::median(&values).unwrap_or(0.0);
        table.row([Cell::from(told), cell(median), cell(least), cell(most)]);
    };
    for (name, told) in ROWS {
        let values: Option<Vec<f64>> =
            run.counts.iter().map(|counts| counts.get(name).map(|value| *value as f64)).collect();
        let Some(values) = values else { continue };
        row(
            told,
            values,
            match name.ends_with("_ns") {
                true => Cell::duration,
                false => |count| Cell::figure(format!("{count:.0}")),
            },
        );
    }
    let of_steals: Option<Vec<f64>> = run.counts.iter().map(faults_per_steal).collect();
    if let Some(values) = of_steals {
        row("faults for each pmeg stolen", values, |value| Cell::figure(format!("{value:.1}")));
    }
    let facts = [
        ("machine", run.place.clone()),
        ("workload", format!("{}, {}", run.name, seeds_text(&run.seeds))),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value)).into();
    Document { facts, blocks: vec![table.into()], ..Document::default() }
}

/// Faults for each pmeg that was stolen; nothing if none was.
fn faults_per_steal(counts: &BTreeMap<&'static str, u64>) -> Option<f64> {
    let steals = *counts.get("steals")?;
    (steals > 0).then_some(*counts.get("translation_faults")? as f64 / steals as f64)
}

#[cfg(test)]
mod tests {
    use render::plain_text;

    use super::*;

    #[test]
    fn what_was_not_counted_has_no_row() {
        let counts = |faults, steals| {
            BTreeMap::from([
                ("elapsed_ns", 2_000_000_000),
                ("translation_faults", faults),
                ("steals", steals),
            ])
        };
        let mut run = WholeRun {
            place: "simulated sparcstation1, hat old".to_owned(),
            name: "xterms".to_owned(),
            seeds: vec![1, 2, 3],
            counts: vec![counts(300, 10), counts(100, 5), counts(400, 16)],
        };
        insta::assert_snapshot!(plain_text(&whole_run_document(&run)));
        run.counts[1] = counts(100, 0);
        assert!(
            !plain_text(&whole_run_document(&run)).contains("for each pmeg"),
            "one seed had none stolen"
        );
    }
}
