//! The counts of a mix of users or a trace on a simulated machine.

use std::collections::BTreeMap;

use analysis::seeds_text;
use render::{Cell, Document, Table};

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
    ("pmgalloc", "pmegs allocated"),
    ("steals", "pmegs stolen"),
    ("loads", "pmegs loaded as a whole"),
    ("software_steals", "lost by the software too"),
    ("swap_ins", "swap-ins"),
];

/// Median, least and largest counts over the seeds; times end in `_ns`.
pub fn whole_run_document(
    place: String,
    name: &str,
    seeds: &[u64],
    counts: &[BTreeMap<&'static str, u64>],
) -> Document<'static> {
    let row = |title: &str, values: Option<Vec<f64>>, cell: fn(f64) -> Cell| {
        let values = values?;
        let [least, most] = [f64::min, f64::max].map(|end| values.iter().copied().reduce(end));
        let figures = [stats::median(&values), least, most].map(|value| value.map(cell).into());
        Some([Cell::from(title)].into_iter().chain(figures))
    };
    let rows = ROWS.iter().filter_map(|(name, title)| {
        let values = counts.iter().map(|counts| Some(*counts.get(name)? as f64)).collect();
        match name.ends_with("_ns") {
            true => row(title, values, Cell::duration),
            false => row(title, values, |count| Cell::decimals(count, 0)),
        }
    });
    let of_steals = counts.iter().map(|counts| {
        let steals = counts.get("steals").filter(|steals| **steals > 0)?;
        Some(*counts.get("translation_faults")? as f64 / *steals as f64)
    });
    let of_steals =
        row("faults for each pmeg stolen", of_steals.collect(), |value| Cell::decimals(value, 1));
    let rows = rows.chain(of_steals);
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
        let document = text(&[first, counts(100, 0), last]);
        assert!(!document.contains("for each pmeg"), "one seed had none stolen");
    }
}
