//! What a mix of users or a trace counted on a simulated machine.

use std::collections::BTreeMap;

use analysis::seeds_text;
use render::{Cell, Document, Table};

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

/// What was run at a place in words, and what each seed came to: median, least and most. Counts are
/// by name, in the order of the seeds; times end in `_ns`.
pub fn whole_run_document(
    place: String,
    name: &str,
    seeds: &[u64],
    counts: &[BTreeMap<&'static str, u64>],
) -> Document<'static> {
    let row =
        |told: &str, value: &dyn Fn(&BTreeMap<&str, u64>) -> Option<f64>, cell: fn(f64) -> Cell| {
            let values: Vec<f64> = counts.iter().map(value).collect::<Option<_>>()?;
            let ends = [f64::min, f64::max].map(|end| values.iter().copied().reduce(end));
            let figures = [stats::median(&values), ends[0], ends[1]];
            let figures = figures.map(|value| value.map(cell).into());
            Some([Cell::from(told)].into_iter().chain(figures))
        };
    let mut rows: Vec<_> = ROWS
        .iter()
        .filter_map(|(name, told)| {
            let cell = match name.ends_with("_ns") {
                true => Cell::duration,
                false => |count| Cell::decimals(count, 0),
            };
            row(told, &|counts| counts.get(name).map(|value| *value as f64), cell)
        })
        .collect();
    let of_steals = |counts: &BTreeMap<&str, u64>| {
        let steals = counts.get("steals").filter(|steals| **steals > 0)?;
        Some(*counts.get("translation_faults")? as f64 / *steals as f64)
    };
    let decimal = |value| Cell::decimals(value, 1);
    rows.extend(row("faults for each pmeg stolen", &of_steals, decimal));
    Document::of(vec![Table::of("", ["", "median", "min", "max"], rows).into()])
        .with_facts([("machine", place), ("workload", format!("{name}, {}", seeds_text(seeds)))])
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
        let text = |counts: &[BTreeMap<&'static str, u64>]| {
            let place = "simulated sparcstation1, hat old".to_owned();
            plain_text(&whole_run_document(place, "xterms", &[1, 2, 3], counts))
        };
        let [first, last] = [counts(300, 10), counts(400, 16)];
        insta::assert_snapshot!(text(&[first.clone(), counts(100, 5), last.clone()]));
        let told = text(&[first, counts(100, 0), last]);
        assert!(!told.contains("for each pmeg"), "one seed had none stolen");
    }
}
