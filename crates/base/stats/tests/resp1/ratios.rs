//! The S.D. ratio of the six later tables: 1sdavg under a load by 1sdavg without.

use stats::{mean, median, one_sd_mean};

use crate::five_points::{
    Row, SLACKS_MS, STEPS, Spread, around_median_n, around_median_n_minus_1, divisor_n,
    divisor_n_minus_1, row,
};

/// The six tables; the first row of each is the baseline of its others.
const TABLES: [(&str, [Row; 7]); 6] = [
    (
        "2.4.20",
        [
            row("noload", [229.901, 282.459, 233.232, 243.299], 1.000),
            row("smallwrite", [404.531, 5640.602, 458.907, 1935.987], 1.871),
            row("largewrite", [363.251, 14025.380, 397.479, 4361.725], 1.652),
            row("cpuload", [559.621, 698.061, 597.186, 615.075], 2.545),
            row("spawnload", [719.436, 880.521, 782.215, 783.246], 3.250),
            row("8ctx-mem", [583.971, 8523.321, 726.046, 3272.639], 2.827),
            row("2ctx-mem", [653.283, 7927.200, 1012.727, 2675.856], 5.837),
        ],
    ),
    (
        "2.6.0-test11",
        [
            row("noload", [247.634, 287.550, 249.879, 257.679], 1.000),
            row("smallwrite", [1316.429, 5721.928, 2389.766, 3220.307], 8.452),
            row("largewrite", [2113.308, 8078.336, 4381.649, 4257.728], 13.199),
            row("cpuload", [274.599, 482.308, 279.741, 332.361], 1.178),
            row("spawnload", [272.836, 402.664, 279.448, 312.193], 1.104),
            row("8ctx-mem", [5308.450, 18760.567, 11352.899, 11576.995], 45.659),
            row("2ctx-mem", [8290.388, 17804.397, 16221.722, 14460.405], 63.957),
        ],
    ),
    (
        "2.6.0-test11-bk12",
        [
            row("noload", [246.138, 295.824, 250.364, 261.131], 1.000),
            row("smallwrite", [283.588, 7725.815, 2287.066, 3286.297], 5.110),
            row("largewrite", [1026.081, 5734.609, 3395.009, 3436.063], 13.721),
            row("cpuload", [271.338, 589.871, 286.339, 342.194], 1.110),
            row("spawnload", [271.747, 388.543, 287.548, 304.779], 1.124),
            row("8ctx-mem", [4082.105, 15076.516, 11357.832, 10469.028], 51.557),
            row("2ctx-mem", [10019.499, 15834.343, 12848.258, 12858.138], 50.796),
        ],
    ),
    (
        "2.6.0-test11-wli-2",
        [
            row("noload", [241.308, 507.529, 251.228, 314.148], 1.000),
            row("smallwrite", [819.019, 4922.349, 1273.123, 2052.233], 5.389),
            row("largewrite", [1781.760, 9437.622, 3838.493, 4939.853], 13.092),
            row("cpuload", [269.542, 562.006, 277.177, 352.739], 1.213),
            row("spawnload", [265.993, 462.221, 274.887, 309.579], 1.096),
            row("8ctx-mem", [7499.271, 24126.753, 16028.938, 15420.571], 68.186),
            row("2ctx-mem", [12701.278, 39539.505, 26427.740, 25699.607], 102.920),
        ],
    ),
    (
        "2.6.0-test11-mm1",
        [
            row("noload", [248.326, 407.161, 253.513, 287.390], 1.000),
            row("smallwrite", [325.208, 10172.099, 3572.895, 4920.817], 14.015),
            row("largewrite", [241.369, 4797.435, 2816.604, 2229.296], 10.942),
            row("cpuload", [265.870, 423.674, 274.597, 308.643], 1.087),
            row("spawnload", [265.519, 471.692, 278.004, 315.864], 1.076),
            row("8ctx-mem", [4934.075, 7982.318, 6947.914, 6705.179], 27.765),
            row("2ctx-mem", [4532.178, 18488.828, 6557.832, 8481.727], 23.228),
        ],
    ),
    (
        "manual-second-format",
        [
            row("noload", [242.375, 252.947, 245.237, 246.150], 1.000),
            row("smallwrite", [331.007, 1840.243, 344.869, 746.631], 1.933),
            row("largewrite", [313.113, 8067.703, 922.303, 2504.440], 4.549),
            row("cpuload", [362.457, 467.524, 369.683, 387.730], 1.502),
            row("spawnload", [312.127, 420.631, 322.017, 337.934], 1.296),
            row("8ctx-mem", [4918.723, 16471.092, 12337.373, 11201.385], 57.219),
            row("2ctx-mem", [11951.979, 19299.983, 15779.539, 15656.751], 64.023),
        ],
    ),
];

/// Numbers from the first to the second, both included.
type Interval = (f64, f64);

/// The points within one `spread` of the median, and their mean.
fn trimmed(sample: &[f64; 5], spread: Spread) -> ([bool; 5], f64) {
    let within = spread(sample);
    let kept = sample.map(|value| (value - sample[2]).abs() <= within);
    let values: Vec<f64> =
        sample.iter().zip(kept).filter_map(|(v, kept)| kept.then_some(*v)).collect();
    (kept, mean(&values).expect("the median is kept"))
}

/// Everything the 1sdavg of a row can be with five points. While the same points are kept it is
/// linear in the free number, so what lies between two steps is possible too.
fn possible(row: &Row, spread: Spread) -> Vec<Interval> {
    let corners = |step: u32| SLACKS_MS.map(|slack| trimmed(&row.sample(step, slack), spread));
    let mut intervals = vec![];
    for step in 0..STEPS {
        let around = [corners(step), corners(step + 1)].concat();
        let means = || around.iter().map(|(_, mean)| *mean);
        if around.iter().all(|(kept, _)| *kept == around[0].0) {
            let low = means().fold(f64::INFINITY, f64::min);
            intervals.push((low, means().fold(low, f64::max)));
        } else {
            intervals.extend(means().map(|mean| (mean, mean)));
        }
    }
    merged(intervals)
}

fn merged(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut merged: Vec<Interval> = vec![];
    for (low, high) in intervals {
        match merged.last_mut() {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

/// The loads whose printed ratio is possible against one common baseline: the most of them.
fn reproduced(loads: &[Row], baseline: &[Interval], spread: Spread) -> Vec<&'static str> {
    let from_load = |row: &Row| -> Vec<Interval> {
        let (least, most) = (row.printed - 0.0005, row.printed + 0.0005);
        possible(row, spread).into_iter().map(|(low, high)| (low / most, high / least)).collect()
    };
    let wanted: Vec<Vec<Interval>> = loads.iter().map(from_load).collect();
    let within = |intervals: &[Interval], at: f64| intervals.iter().any(|i| i.0 <= at && at <= i.1);
    let met = |at: f64| -> Vec<&'static str> {
        let pairs = loads.iter().zip(&wanted);
        pairs.filter(|(_, wanted)| within(wanted, at)).map(|(row, _)| row.test).collect()
    };
    // The most intervals overlap at a point where one of them begins.
    let starts = wanted.iter().flatten().chain(baseline).map(|interval| interval.0);
    let possible = starts.filter(|start| within(baseline, *start));
    possible.map(met).max_by_key(Vec::len).unwrap_or_default()
}

fn table(name: &str) -> &'static [Row; 7] {
    let found = TABLES.iter().find(|(table, _)| *table == name);
    found.map(|(_, rows)| rows).expect("a published table")
}

/// The loads reproduced when every row, the baseline among them, has five points.
fn reproduced_by_five_points(rows: &[Row; 7], spread: Spread) -> Vec<&'static str> {
    reproduced(&rows[1..], &possible(&rows[0], spread), spread)
}

#[test]
fn the_trimmed_mean_of_these_tests_is_the_public_one() {
    for row in TABLES.iter().flat_map(|(_, rows)| rows) {
        for step in [0, STEPS / 3, STEPS] {
            let sample = row.sample(step, 0.0);
            assert_eq!(one_sd_mean(&sample), Some(trimmed(&sample, divisor_n_minus_1).1));
        }
    }
}

#[test]
fn five_points_and_the_divisor_n_minus_1_reproduce_the_whole_mm1_table() {
    let mm1 = table("2.6.0-test11-mm1");
    let all = ["smallwrite", "largewrite", "cpuload", "spawnload", "8ctx-mem", "2ctx-mem"];
    assert_eq!(reproduced_by_five_points(mm1, divisor_n_minus_1), all);
    assert_eq!(reproduced_by_five_points(mm1, divisor_n), all[1..]);
}

#[test]
fn all_tables_together_do_not_choose_between_the_divisors() {
    let count = |spread: Spread| -> usize {
        TABLES.iter().map(|(_, rows)| reproduced_by_five_points(rows, spread).len()).sum()
    };
    assert_eq!(count(divisor_n_minus_1), 16);
    assert_eq!(count(divisor_n), 16);
    assert_eq!(count(around_median_n_minus_1), 14);
    assert_eq!(count(around_median_n), 14);
}

#[test]
fn one_more_point_without_load_explains_most_of_the_manuals_second_table() {
    let rows = table("manual-second-format");
    assert!(reproduced_by_five_points(rows, divisor_n_minus_1).is_empty());
    // Six delays in ms that print the noload row; what is kept, all but the highest, has the same
    // mean however the two free numbers are chosen.
    let noload = [242.375, 244.0, 245.237, 245.237, 247.104, 252.947];
    assert_eq!(median(&noload), Some(rows[0].median));
    assert!((mean(&noload).unwrap() - rows[0].average).abs() <= 0.0005);
    let baseline = one_sd_mean(&noload).unwrap();
    assert_eq!(
        reproduced(&rows[1..], &[(baseline, baseline)], divisor_n_minus_1),
        ["smallwrite", "largewrite", "cpuload", "spawnload"]
    );
}
