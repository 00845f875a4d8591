//! Properties: what `report` prints, `store` reads back; any text is read or refused.

use formats::resp1::{check_ratios, parse};
use model::resp1::{NOLOAD, Resp1Format, Resp1Row, Resp1Table};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A value as printed with three decimals.
fn milli(value: u64) -> f64 {
    value as f64 / 1000.0
}

/// A row whose median and average lie within low and high; all in thousandths of ms.
fn row() -> impl Strategy<Value = Resp1Row> {
    (0u64..50_000_000, 0u64..50_000_000, 0.0f64..=1.0, 0.0f64..=1.0, 0u64..9_000_000).prop_map(
        |(low, spread, median, average, last)| {
            let within = |share: f64| milli(low + (spread as f64 * share) as u64);
            Resp1Row {
                test: String::new(),
                low_ms: milli(low),
                high_ms: milli(low + spread),
                median_ms: within(median),
                average_ms: within(average),
                sd_s: Some(milli(last)),
                ratio_raw: 1.0,
                ratio_sd: Some(milli(last)),
            }
        },
    )
}

/// A table with true ratios; `first` chooses its format.
fn table() -> impl Strategy<Value = Resp1Table> {
    let facts = (
        option::of(any::<u32>()),
        option::of(any::<u64>()),
        option::of(any::<u32>()),
        option::of((0u64..9_000_000).prop_map(milli)),
    );
    let extras = vec("[a-z]{3,9}: [a-zA-Z0-9é/=]{1,9}( [0-9]{1,5})?", 0..3);
    (facts, any::<bool>(), vec(row(), 1..9), extras, any::<bool>()).prop_map(
        |((cpus, memory_mb, minimum_points, interval_s), first, mut rows, extras, last_known)| {
            rows[0].average_ms = rows[0].high_ms.max(0.001);
            rows[0].high_ms = rows[0].average_ms;
            let noload_ms = rows[0].average_ms;
            for (index, row) in rows.iter_mut().enumerate() {
                row.test = format!("load-{index}");
                row.ratio_raw = (row.average_ms / noload_ms * 1000.0).round() / 1000.0;
                row.sd_s = row.sd_s.filter(|_| first && last_known);
                row.ratio_sd = row.ratio_sd.filter(|_| !first && last_known);
            }
            rows[0].test = NOLOAD.to_owned();
            let format = if first { Resp1Format::First } else { Resp1Format::Second };
            Resp1Table { cpus, memory_mb, minimum_points, interval_s, format, rows, extras }
        },
    )
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(table in table()) {
        let text = formats::resp1::printed(&table);
        let read = parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&read, &table);
        prop_assert!(check_ratios(&read).iter().all(|check| check.agrees));
    }

    #[test]
    fn the_base_output_alone_is_read_back(table in table()) {
        let text = formats::resp1::printed(&table);
        let base: Vec<&str> = text.lines().filter(|line| line.starts_with(' ')).collect();
        prop_assert_eq!(base.len(), 2 + table.rows.len());
        prop_assert_eq!(parse(&base.join("\n")).expect("it reads").rows, table.rows);
    }

    #[test]
    fn any_lines_are_read_or_refused(
        lines in vec("( ?noload|[a-z]{1,5})?( ([0-9]{1,3}(\\.[0-9]{3})?|-|nan|\\PC{0,3})){0,8}\r?", 0..9)
    ) {
        let _ = parse(&lines.join("\n"));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\x00-\\x{2fff}]{0,80}") {
        let _ = parse(&text);
    }
}
