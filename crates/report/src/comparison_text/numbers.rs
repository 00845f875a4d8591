//! Numbers as a comparison prints them.

use model::Observation;
use model::units::format_duration;

use crate::ratio_text::ratio_text;

/// A measured value, with a mark where it is a lower bound; `-` where there is none.
pub(super) fn observed(observed: Option<&Observation>, unit: &str) -> String {
    let text = |it: &Observation| format!("{}{}", it.mark(), value(it.value, unit));
    observed.map_or_else(|| "-".to_owned(), text)
}

/// A number of a measurement: durations with their unit, others with up to four significant digits.
pub(super) fn value(value: f64, unit: &str) -> String {
    if unit == "ns" && value >= 0.0 {
        return format_duration(value.round() as u64);
    }
    let digits = match value.abs() {
        large if large >= 1000.0 => 0,
        small if small > 0.0 => (3.0 - small.log10().floor()).clamp(0.0, 12.0) as usize,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// An interval of ratios; `–` if it is so wide that it says nothing.
pub(super) fn interval(low: f64, high: f64) -> String {
    interval_of(low, high, |low, high| format!("[{}, {}]", ratio_text(low), ratio_text(high)))
}

/// The ends of an interval of ratios as they are printed; `–` if they say nothing.
pub(crate) fn interval_of(low: f64, high: f64, text: impl Fn(f64, f64) -> String) -> String {
    if stats::says_nothing(low, high) { "–".to_owned() } else { text(low, high) }
}

/// A p-value as printed in papers: `.0571`.
pub(super) fn p(p: f64) -> String {
    match p {
        tiny if tiny < 0.00005 => "below .0001".to_owned(),
        one if one >= 0.99995 => "1".to_owned(),
        other => format!("{other:.4}").trim_matches('0').to_owned(),
    }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{}", (1000.0 * share).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let values = [0.0, 134.0, 14_790.4, 0.011_227, 5.0, -2.5].map(|number| value(number, "s"));
        assert_eq!(values, ["0", "134", "14790", "0.01123", "5", "-2.5"]);
        assert_eq!(value(7_420_000.0, "ns"), "7.42ms");
        assert_eq!(interval(0.9, 1.2), "[0.90, 1.20]");
        assert_eq!([interval(0.0, f64::MAX), interval(0.01, 69.7)], ["–", "–"]);
        assert_eq!([2.0 / 35.0, 0.05, 1e-6, 1.0].map(p), [".0571", ".05", "below .0001", "1"]);
        assert_eq!(percent(0.0125), "1.3");
    }
}
