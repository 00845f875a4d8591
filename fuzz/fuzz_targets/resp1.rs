//! Any text is a resp1 table or refused; a table that was read prints, and keeps its rows if the
//! print is read again. Points that are recovered are in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use formats::resp1::{check_ratios, parse, recover_points};

fuzz_target!(|text: &str| {
    let Ok(table) = parse(text) else {
        return;
    };
    assert!(table.noload().is_some(), "a table has its noload row");
    assert_eq!(check_ratios(&table).len(), table.rows.len());
    for row in &table.rows {
        assert!(row.low_ms <= row.median_ms && row.median_ms <= row.high_ms);
        assert!(row.ratio_raw.is_finite() && row.ratio_raw >= 0.0);
    }
    for (row, points) in table.rows.iter().zip(recover_points(&table)) {
        if let Some(samples) = points.samples_ms(row) {
            assert!(samples.len() == 5 && samples.is_sorted(), "{samples:?}");
        }
    }
    // Rounding to three decimals may make a table unreadable (a noload average of 0.000).
    if let Ok(again) = parse(&formats::resp1::printed(&table)) {
        assert_eq!(again.format, table.format);
        let tests = |table: &model::resp1::Resp1Table| -> Vec<String> {
            table.rows.iter().map(|row| row.test.clone()).collect()
        };
        assert_eq!(tests(&again), tests(&table));
    }
});
