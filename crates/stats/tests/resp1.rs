//! Which definition of the standard deviation the tables that resp1 printed in 2003 allow.
//!
//! Only low, median, high and average were printed. With five points, two are unknown and their
//! sum is not, so one number is free: each test walks it over everything it can be.

use stats::{one_sd_mean, standard_deviation};

const STEPS: u32 = 4_000;

/// A printed row, delays in ms.
struct Row {
    test: &'static str,
    low: f64,
    high: f64,
    median: f64,
    average: f64,
    /// S.D. in seconds (first format) or S.D. ratio (second format), as printed.
    printed: f64,
}

const fn row(test: &'static str, delays: [f64; 4], printed: f64) -> Row {
    let [low, high, median, average] = delays;
    Row { test, low, high, median, average, printed }
}

/// The manual's first table.
const FIRST_FORMAT: [Row; 7] = [
    row("noload", [178.743, 233.056, 184.435, 192.526], 0.023),
    row("smallwrite", [189.085, 322.913, 232.981, 237.789], 0.044),
    row("largewrite", [187.308, 1997.804, 243.612, 576.542], 0.688),
    row("cpuload", [178.544, 259.127, 179.017, 196.635], 0.035),
    row("spawnload", [178.450, 258.380, 178.761, 194.615], 0.036),
    row("8ctx-mem", [178.899, 1571.854, 182.922, 463.700], 0.620),
    row("2ctx-mem", [178.917, 5611.114, 185.104, 1540.410], 2.351),
];

/// The table 2.6.0-test11-mm1; the first row is the baseline of the others.
const MM1: [Row; 7] = [
    row("noload", [248.326, 407.161, 253.513, 287.390], 1.000),
    row("smallwrite", [325.208, 10172.099, 3572.895, 4920.817], 14.015),
    row("largewrite", [241.369, 4797.435, 2816.604, 2229.296], 10.942),
    row("cpuload", [265.870, 423.674, 274.597, 308.643], 1.087),
    row("spawnload", [265.519, 471.692, 278.004, 315.864], 1.076),
    row("8ctx-mem", [4934.075, 7982.318, 6947.914, 6705.179], 27.765),
    row("2ctx-mem", [4532.178, 18488.828, 6557.832, 8481.727], 23.228),
];

impl Row {
    /// Every sample of five points that the row allows, on a grid; `slack` is the rounding error
    /// of their sum, in ms.
    fn samples(&self, slack: f64) -> impl Iterator<Item = [f64; 5]> {
        let both = 5.0 * self.average - self.low - self.median - self.high + slack;
        let least = self.low.max(both - self.high);
        let most = self.median.min(both - self.median);
        let (low, high, median) = (self.low, self.high, self.median);
        (0..=STEPS).map(move |step| {
            let x = least + (most - least) * f64::from(step) / f64::from(STEPS);
            [low, x, median, both - x, high]
        })
    }

    /// Whether `figure` of some sample that the row allows, whatever the rounding of the average,
    /// lies in `range`. Neighbours on the grid count together when `figure` is continuous.
    fn spans(&self, figure: impl Fn(&[f64]) -> f64, least: f64, most: f64) -> bool {
        let figures = || [-0.002, 0.0, 0.002].into_iter().flat_map(|slack| self.samples(slack));
        let lowest = figures().map(|sample| figure(&sample)).fold(f64::INFINITY, f64::min);
        let highest = figures().map(|sample| figure(&sample)).fold(f64::NEG_INFINITY, f64::max);
        lowest <= most && highest >= least
    }
}

/// The S.D. with divisor n instead of n - 1.
fn population_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    standard_deviation(values).expect("five points") * ((n - 1.0) / n).sqrt()
}

/// resp1's 1sdavg with the divisor n.
fn one_population_sd_mean(values: &[f64]) -> f64 {
    let spread = population_deviation(values);
    let median = stats::median(values).expect("five points");
    let kept: Vec<f64> = values.iter().copied().filter(|v| (v - median).abs() <= spread).collect();
    stats::mean(&kept).expect("the median is kept")
}

fn rows_with_feasible_deviation(figure: impl Fn(&[f64]) -> f64) -> Vec<&'static str> {
    let printed_in_seconds = |row: &&Row| {
        let milliseconds = row.printed * 1e3;
        row.spans(&figure, milliseconds - 0.5, milliseconds + 0.5)
    };
    FIRST_FORMAT.iter().filter(printed_in_seconds).map(|row| row.test).collect()
}

#[test]
fn the_first_format_has_the_divisor_n_minus_1_in_every_row_that_five_points_can_explain() {
    let feasible = rows_with_feasible_deviation(|sample| standard_deviation(sample).unwrap());
    assert_eq!(feasible, ["noload", "cpuload", "spawnload", "8ctx-mem", "2ctx-mem"]);
}

#[test]
fn the_first_format_excludes_the_divisor_n_for_five_points() {
    assert!(rows_with_feasible_deviation(population_deviation).is_empty());
}

#[test]
fn the_two_rows_beyond_five_points_are_met_by_seven_with_the_divisor_n_minus_1() {
    // One witness each: a sample whose printed row would be the published one.
    let smallwrite = &FIRST_FORMAT[1];
    let largewrite = &FIRST_FORMAT[2];
    for (row, witness) in [(smallwrite, SMALLWRITE_WITNESS), (largewrite, LARGEWRITE_WITNESS)] {
        let mut sample = witness.to_vec();
        sample.sort_unstable_by(f64::total_cmp);
        assert_eq!((sample[0], sample[6]), (row.low, row.high));
        assert_eq!(stats::median(&sample), Some(row.median));
        assert!((stats::mean(&sample).unwrap() - row.average).abs() <= 0.0005);
        assert!((standard_deviation(&sample).unwrap() - row.printed * 1e3).abs() <= 0.5);
    }
}

/// Seven delays in ms, found by search; one of many.
const SMALLWRITE_WITNESS: [f64; 7] =
    [189.085, 200.216, 227.649, 232.981, 232.981, 258.698, 322.913];
/// Seven delays in ms, found by search; one of many.
const LARGEWRITE_WITNESS: [f64; 7] =
    [187.308, 187.426, 202.747, 243.612, 244.741, 972.156, 1997.804];

/// Rows of the mm1 table whose ratio some five points give, against one common baseline.
fn rows_reproduced(figure: fn(&[f64]) -> f64) -> Vec<&'static str> {
    let baselines: Vec<f64> = MM1[0].samples(0.0).map(|sample| figure(&sample)).collect();
    let figures_of = |row: &Row| -> Vec<f64> {
        let mut figures: Vec<f64> = [-0.002, 0.0, 0.002]
            .into_iter()
            .flat_map(|slack| row.samples(slack))
            .map(|sample| figure(&sample))
            .collect();
        figures.sort_unstable_by(f64::total_cmp);
        figures
    };
    let figures: Vec<(&Row, Vec<f64>)> =
        MM1[1..].iter().map(|row| (row, figures_of(row))).collect();
    let reproduced = |baseline: f64| -> Vec<&'static str> {
        let fits = |(row, figures): &&(&Row, Vec<f64>)| {
            let from = figures.partition_point(|f| *f < baseline * (row.printed - 0.0005));
            figures.get(from).is_some_and(|f| *f <= baseline * (row.printed + 0.0005))
        };
        figures.iter().filter(fits).map(|(row, _)| row.test).collect()
    };
    let every = baselines.into_iter().map(reproduced);
    every.max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn five_points_and_the_divisor_n_minus_1_reproduce_the_whole_mm1_table() {
    let rows = rows_reproduced(|sample| one_sd_mean(sample).unwrap());
    assert_eq!(rows, ["smallwrite", "largewrite", "cpuload", "spawnload", "8ctx-mem", "2ctx-mem"]);
}

#[test]
fn the_divisor_n_misses_smallwrite_of_the_mm1_table() {
    let rows = rows_reproduced(one_population_sd_mean);
    assert_eq!(rows, ["largewrite", "cpuload", "spawnload", "8ctx-mem", "2ctx-mem"]);
}
