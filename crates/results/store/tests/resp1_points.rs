//! The single delays behind printed summaries: of the tables of 2003, and of random ones.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use formats::resp1::{Points, parse, recover_points};
use model::resp1::{Resp1Format, Resp1Row, Resp1Table};
use proptest::prelude::*;
use stats::{mean, median, one_sd_mean, standard_deviation};
use store::reference::find;

/// The tests of a published table whose points are recovered.
fn recovered(name: &str) -> Vec<String> {
    let table = find(name).unwrap().resp1().unwrap();
    let rows = recover_points(&table).into_iter();
    rows.filter(|row| matches!(row.points, Points::Recovered { .. })).map(|row| row.test).collect()
}

#[test]
fn the_rows_of_2003_that_determine_their_points() {
    for (name, tests) in [
        ("2.4.20", &["noload", "largewrite", "cpuload", "spawnload", "8ctx-mem"][..]),
        ("2.6.0-test11", &["noload", "largewrite", "cpuload"]),
        ("2.6.0-test11-bk12", &["noload", "cpuload", "spawnload"]),
        ("2.6.0-test11-mm1", &["noload", "largewrite", "cpuload", "spawnload"]),
        ("2.6.0-test11-wli-2", &[]),
        ("manual-second-format", &[]),
        ("manual-first-format", &["noload", "cpuload", "spawnload", "8ctx-mem", "2ctx-mem"]),
    ] {
        assert_eq!(recovered(&format!("resp1/{name}")), tests, "{name}");
    }
}

/// Recovered points print the row that they come from.
#[test]
fn recovered_points_have_the_printed_figures() {
    for reference in store::reference::ALL.iter().filter(|each| each.name.starts_with("resp1/")) {
        let Ok(table) = reference.resp1() else { continue };
        let noload = &recover_points(&table)[0].samples_ms(&table.rows[0]);
        for (row, points) in table.rows.iter().zip(recover_points(&table)) {
            let Some(samples) = points.samples_ms(row) else { continue };
            let case = format!("{} {}: {samples:?}", reference.name, row.test);
            assert!(samples.is_sorted(), "{case}");
            assert_eq!((samples[0], samples[4]), (row.low_ms, row.high_ms), "{case}");
            assert_eq!(median(&samples), Some(row.median_ms), "{case}");
            assert!((mean(&samples).unwrap() - row.average_ms).abs() < 0.003, "{case}");
            if let Some(sd_s) = row.sd_s {
                let deviation_s = standard_deviation(&samples).unwrap() / 1e3;
                assert!((deviation_s - sd_s).abs() < 0.000_6, "{case}: {deviation_s}");
            }
            if let (Some(ratio), "resp1/2.6.0-test11-mm1") = (row.ratio_sd, reference.name) {
                let base = one_sd_mean(noload.as_ref().unwrap()).unwrap();
                let found = one_sd_mean(&samples).unwrap() / base;
                assert!((found - ratio).abs() < 0.001, "{case}: {found} and {ratio}");
            }
        }
    }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.3}").parse().unwrap()
}

/// What resp1 would have printed of some delays.
fn row(test: &str, delays: &[f64], noload: &[f64], format: Resp1Format) -> Resp1Row {
    let ratio = |of: fn(&[f64]) -> Option<f64>| rounded(of(delays).unwrap() / of(noload).unwrap());
    let of = |pick: fn(f64, f64) -> f64| rounded(delays.iter().copied().reduce(pick).unwrap());
    let is_first = format == Resp1Format::First;
    Resp1Row {
        test: test.to_owned(),
        low_ms: of(f64::min),
        high_ms: of(f64::max),
        median_ms: rounded(median(delays).unwrap()),
        average_ms: rounded(mean(delays).unwrap()),
        sd_s: is_first.then(|| rounded(standard_deviation(delays).unwrap() / 1e3)),
        ratio_raw: ratio(mean),
        ratio_sd: (!is_first).then(|| ratio(one_sd_mean)),
    }
}

fn table(tests: &[Vec<f64>], format: Resp1Format, minimum_points: u32) -> Resp1Table {
    let named = |(index, delays): (usize, &Vec<f64>)| {
        let test = if index == 0 { "noload".to_owned() } else { format!("load{index}") };
        row(&test, delays, &tests[0], format)
    };
    Resp1Table {
        cpus: Some(1),
        memory_mb: Some(96),
        minimum_points: Some(minimum_points),
        interval_s: Some(20.0),
        format,
        rows: tests.iter().enumerate().map(named).collect(),
        extras: Vec::new(),
    }
}

fn delays() -> impl Strategy<Value = Vec<f64>> {
    let delay = prop_oneof![100.0..110.0, 100.0..5000.0, 200.0..100_000.0];
    proptest::collection::vec(delay, 5)
}

proptest! {
    #[test]
    fn five_points_are_recovered_or_refused_and_never_missed(
        tests in proptest::collection::vec(delays(), 2..6), is_first in any::<bool>(),
    ) {
        let format = if is_first { Resp1Format::First } else { Resp1Format::Second };
        let printed = formats::resp1::printed(&table(&tests, format, 5));
        let table = parse(&printed).unwrap();
        for (mut truth, found) in tests.into_iter().zip(recover_points(&table)) {
            truth.sort_by(f64::total_cmp);
            let (second, fourth) = match found.points {
                Points::Recovered { second_ms, fourth_ms } => {
                    prop_assert!(second_ms.half_width() <= 0.05 * second_ms.middle());
                    (second_ms, fourth_ms)
                }
                Points::Ambiguous { second_ms, fourth_ms } => (second_ms, fourth_ms),
                other => return Err(TestCaseError::fail(format!("{other:?} of {truth:?}"))),
            };
            prop_assert!(second.low <= truth[1] && truth[1] <= second.high, "{:?}", found);
            prop_assert!(fourth.low <= truth[3] && truth[3] <= fourth.high, "{:?}", found);
        }
    }
}

#[test]
fn more_points_are_not_taken_for_five() {
    let delays = vec![189.085, 200.216, 227.649, 232.981, 232.981, 258.698, 322.913];
    let asked = table(std::slice::from_ref(&delays), Resp1Format::First, 7);
    assert_eq!(recover_points(&asked)[0].points, Points::NotFive);
    let unasked = table(&[delays], Resp1Format::First, 5);
    assert_eq!(recover_points(&unasked)[0].points, Points::MoreThanFive);
}

#[test]
fn two_unknowns_far_apart_are_ambiguous() {
    let row = |delays: [f64; 5]| table(&[delays.to_vec()], Resp1Format::Second, 5);
    let wide = recover_points(&row([100.0, 400.0, 1000.0, 1500.0, 2000.0]));
    assert!(matches!(wide[0].points, Points::Ambiguous { .. }), "{wide:?}");
}
