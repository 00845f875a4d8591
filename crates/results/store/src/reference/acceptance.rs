//! Conditions under which a simulation reproduces a published table.

use analysis::published::{Condition, ConditionKind};

use super::rows;

const TABLE: &str = "sun4/acceptance";
/// A megabyte of the tables, in bytes.
const MB: f64 = 1_048_576.0;

/// The conditions for a published table, with levels in bytes and figures in ns; may be none.
pub fn acceptance(name: &str) -> Vec<Condition> {
    let stem = name.split_once('/').map(|(_, stem)| stem);
    let rows = rows(TABLE).into_iter().filter(|row| row.first().copied() == stem);
    // A test checks that all rows parse.
    rows.filter_map(|row| condition(&row)).collect()
}

fn condition(row: &[&str]) -> Option<Condition> {
    let [_, kind, figure, from, to, least, most, below, above] = row else { return None };
    let number = |text: &str| text.parse::<f64>().ok();
    let (figure, scale) = match figure.strip_suffix("_s") {
        Some(stem) => (format!("{stem}_ns"), 1e9),
        None => ((*figure).to_owned(), 1.0),
    };
    Some(Condition {
        kind: ConditionKind::named(kind).ok()?,
        figure,
        from: number(from)? * MB,
        to: number(to)? * MB,
        least: number(least),
        most: number(most),
        printed_below: number(below).unwrap_or(0.0) * scale,
        printed_above: number(above).unwrap_or(0.0) * scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_is_read_and_of_a_table_that_is_there() {
        for row in rows(TABLE) {
            assert!(condition(&row).is_some(), "{row:?}");
            crate::reference::find(&format!("sun4/{}", row[0])).unwrap();
        }
        let old = acceptance("sun4/vmtest-sparcstation1-old-hat");
        assert_eq!(old.len(), 7);
        assert_eq!((old[0].from, old[0].to), (2.0 * MB, 14.0 * MB));
        assert_eq!((old[0].least, old[0].most), (Some(0.95), Some(1.05)));
        let plus = acceptance("sun4/vmtest-sparcstation1plus-new-hat");
        assert_eq!((plus[0].figure.as_str(), plus[0].printed_above), ("elapsed_ns", 1e9));
        assert!(acceptance("sun4/models").is_empty() && acceptance("resp1/2.4.20").is_empty());
    }
}
