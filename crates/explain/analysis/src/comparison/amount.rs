//! A ratio and its interval in words that keep to the interval.

use stats::{CellResult, says_nothing};

/// From this ratio on an increase is a number of times, not of percent.
const TIMES_FROM: f64 = 3.0;
/// From this upper end on, an interval that begins below [`TIMES_FROM`] is a number of times, too.
const WIDE_FROM: f64 = 10.0;
/// Most decimals of a ratio.
const MOST_DECIMALS: f64 = 5.0;

/// Decimals with which the ends of an interval differ: two at least.
fn decimals(low: f64, high: f64) -> usize {
    let width = high - low;
    let needed = if width > 0.0 { (1.0 - width.log10()).floor() } else { 2.0 };
    needed.clamp(2.0, MOST_DECIMALS) as usize
}

/// A ratio with its interval, `×1.05 [1.01, 1.15]`; without an interval that is too wide to be useful.
pub(crate) fn ratio_words(found: &CellResult) -> String {
    let (low, high) = (found.adjusted_low, found.adjusted_high);
    let decimals = decimals(low, high);
    let mark = found.allowed.map_or("", stats::AllowedRatio::mark);
    let ratio = format!("{mark}×{:.decimals$}", found.ratio);
    let words = match says_nothing(low, high) {
        true => ratio,
        false => format!("{ratio} [{low:.decimals$}, {high:.decimals$}]"),
    };
    words.replace("inf", "∞")
}

/// How much more or less the interval allows: `1 to 15 % more`, `4.1 to 5.0 times as much`.
pub(crate) fn amount(found: &CellResult) -> String {
    let (low, high) = (found.adjusted_low, found.adjusted_high);
    let range = |from: f64, to: f64| {
        let decimals = usize::from(to - from < 2.0 || from < 1.0);
        format!("{from:.decimals$} to {to:.decimals$} %")
    };
    match () {
        () if high.is_infinite() => format!("at least {low:.2} times as much"),
        () if low >= TIMES_FROM => format!("{low:.1} to {high:.1} times as much"),
        () if high >= WIDE_FROM => format!("{low:.2} to {high:.0} times as much"),
        () if high <= 1.0 => {
            format!("{} less", range(100.0 * (1.0 - high), 100.0 * (1.0 - low)))
        }
        () if low >= 1.0 => format!("{} more", range(100.0 * (low - 1.0), 100.0 * (high - 1.0))),
        () => {
            let (less, more) = (100.0 * (1.0 - low), 100.0 * (high - 1.0));
            format!("between {less:.1} % less and {more:.1} % more")
        }
    }
}

#[cfg(test)]
mod tests {
    use stats::{Arms, Pairing, Settings};

    use super::*;

    fn found(low: f64, high: f64) -> CellResult {
        let arms = Arms::exact(&[1.0, 1.1, 0.9], &[1.0, 1.1, 0.9], Pairing::Unpaired);
        let judged = stats::compare(&[arms], &[], &Settings::default());
        let cell = judged.cells.into_iter().next().unwrap().unwrap();
        CellResult { ratio: (low * high).sqrt(), adjusted_low: low, adjusted_high: high, ..cell }
    }

    #[test]
    fn words_keep_to_the_interval_and_its_digits() {
        for (low, high, ratio, words) in [
            (1.01, 1.15, "×1.08 [1.01, 1.15]", "1 to 15 % more"),
            (0.74, 0.81, "×0.77 [0.74, 0.81]", "19 to 26 % less"),
            (0.031, 0.034, "×0.032 [0.031, 0.034]", "96.6 to 96.9 % less"),
            (1.001, 1.004, "×1.002 [1.001, 1.004]", "0.1 to 0.4 % more"),
            (0.97, 1.2, "×1.08 [0.97, 1.20]", "between 3.0 % less and 20.0 % more"),
            (0.2, 11.0, "×1.48 [0.20, 11.00]", "0.20 to 11 times as much"),
            (1.5, f64::INFINITY, "×∞ [1.50, ∞]", "at least 1.50 times as much"),
            (6.0, 9.5, "×7.55 [6.00, 9.50]", "6.0 to 9.5 times as much"),
        ] {
            let found = found(low, high);
            assert_eq!((ratio_words(&found).as_str(), amount(&found).as_str()), (ratio, words));
        }
    }
}
