//! Formats measured numbers; amounts that can be typed are in [`model::units`].

use itertools::Itertools;
use model::Observation;
use model::units::{exact_duration, exact_size, format_duration, format_size};
pub use model::units::{format_percent as percent, measured_duration as duration};

const LONGEST_LEVEL: usize = 7;

/// A duration in ns, marked if it is a lower bound: `≥ 7.42ms`.
pub fn observed(duration_ns: &Observation) -> String {
    format!("{}{}", duration_ns.mark(), duration(duration_ns.value))
}

/// A difference with its sign: `+120ms`.
pub fn signed(figure: String) -> String {
    if figure.starts_with('-') { figure } else { format!("+{figure}") }
}

/// Most decimals of a factor.
const MOST_DECIMALS: usize = 4;

/// A ratio or an end of its interval as [`factor`]; `∞` from a million on.
pub fn ratio(ratio: f64) -> String {
    if ratio >= 1e6 { "∞".to_owned() } else { factor(ratio) }
}

/// A measured factor with three significant digits or more, and two below a tenth: `1.49`, `14.9`,
/// `149`, `1600000`, `0.034`.
pub fn factor(factor: f64) -> String {
    let decimals = decimals(factor);
    format!("{factor:.decimals$}")
}

/// Decimals of a factor.
fn decimals(factor: f64) -> usize {
    match factor.abs() {
        large if large >= 99.95 => 0,
        middle if middle >= 9.995 => 1,
        usual if usual >= 0.0995 => 2,
        small if small >= 0.009_95 => 3,
        small if small >= 0.000_05 => MOST_DECIMALS,
        _ => 2,
    }
}

/// A ratio with a multiplication sign: `×1.49`.
pub fn times(value: f64) -> String {
    format!("×{}", ratio(value))
}

/// An interval in a table: `[2.8, 8.9]`.
pub fn interval(low: f64, high: f64, figure: impl Fn(f64) -> String) -> String {
    format!("[{}, {}]", figure(low), figure(high))
}

/// An interval of ratios in a table: `[0.90, 1.20]`; with more decimals where it is so narrow that
/// the ends would read alike: `[1.031, 1.032]`; `–` if it is too wide to be useful.
pub fn ratio_interval(ends: Option<(f64, f64)>) -> String {
    let Some((low, high)) = ends else { return "–".to_owned() };
    let usual = interval(low, high, ratio);
    if low == high || ratio(low) != ratio(high) {
        return usual;
    }
    let with = |decimals: usize| [low, high].map(|end| format!("{end:.decimals$}"));
    let apart = (decimals(low)..=MOST_DECIMALS).map(with).find(|[low, high]| low != high);
    apart.map_or(usual, |[low, high]| format!("[{low}, {high}]"))
}

/// A measured share, with one decimal below 10 %: `3.2 %`, `83 %`.
pub fn share(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = usize::from(percent.abs() < 9.95 && percent != 0.0);
    format!("{percent:.decimals$} %")
}

/// A number with at most four significant digits, or a whole number: `0.01123`, `14790`.
pub fn number(number: f64) -> String {
    if number == 0.0 || !number.is_finite() || number.fract() == 0.0 && number.abs() < 1e15 {
        return number.to_string();
    }
    let digits = 3 - number.abs().log10().floor() as i32;
    let text = format!("{number:.*}", digits.clamp(0, 12) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A level with its unit, exact if that is short, else with four digits: `1028K`, `48.68M`, `16 MB`.
pub fn level(level: f64, unit: &str) -> String {
    let whole = level.max(0.0).round() as u64;
    let (exact, short) = match unit {
        "bytes" => (exact_size(whole), size(level)),
        "ns" => (exact_duration(whole), format_duration(whole)),
        unit => return quantity(level, unit),
    };
    if exact.len() <= LONGEST_LEVEL { exact } else { short }
}

fn size(size_bytes: f64) -> String {
    let units = ["B", "K", "M", "G", "T"].into_iter().zip([0, 10, 20, 30, 40]);
    let sizes = units.map(|(unit, power)| (size_bytes / f64::from(power).exp2(), unit));
    let (size, unit) =
        sizes.take_while(|(size, _)| *size >= 1.0).last().unwrap_or((size_bytes, "B"));
    format!("{}{unit}", number(size))
}

/// A measured value with its unit: `7.42ms`, `16M`, `3 faults`.
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ns" => duration(value),
        "us" => duration(value * 1e3),
        "ms" => duration(value * 1e6),
        "s" => duration(value * 1e9),
        "bytes" => format_size(value.max(0.0).round() as u64),
        "" => number(value),
        unit => format!("{} {unit}", number(value)),
    }
}

/// A p-value: `0.0571`, `below 0.0001`.
pub fn p_value(p: f64) -> String {
    match p {
        tiny if tiny < 0.00005 => "below 0.0001".to_owned(),
        one if one >= 0.99995 => "1".to_owned(),
        other => format!("{other:.4}").trim_end_matches('0').to_owned(),
    }
}

/// A whole number with grouped thousands: `4,814`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).join(",")
}

/// A count with its noun: `1 trial`, `5 trials`, `5 processes`, `5 policies`.
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        several if let Some(stem) = what.strip_suffix("cy") => format!("{several} {stem}cies"),
        several if what.ends_with('s') => format!("{several} {what}es"),
        several => format!("{several} {what}s"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn and<S: Into<String>>(items: impl IntoIterator<Item = S>) -> String {
    match &items.into_iter().map(Into::into).collect::<Vec<String>>()[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The letter of the `index`th compared item: `A`, `B`, …, `Z`, `A1`.
pub fn letter(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_their_sign() {
        let durations = [0.0, 7.0, 0.53, 99.96, 7_420_000.0, -2e7].map(duration);
        assert_eq!(durations, ["0ns", "7ns", "0.53ns", "100ns", "7.42ms", "-20.0ms"]);
        assert_eq!(observed(&Observation::at_least(2e9)), "≥ 2.00s");
        assert_eq!(signed(duration(1.2e8)), "+120ms");
    }

    #[test]
    fn ratios_are_short_and_have_an_end() {
        let ratios = [0.0, 1.492_4, 14.92, 149.2, f64::MAX, f64::INFINITY];
        assert_eq!(ratios.map(ratio), ["0.00", "1.49", "14.9", "149", "∞", "∞"]);
        assert_eq!(factor(1.6e6), "1600000");
        assert_eq!(ratio_interval(Some((0.9, 1.2))), "[0.90, 1.20]");
        assert_eq!(ratio_interval(None), "–");
        assert_eq!([0.034, 0.0042, 0.099_6].map(ratio), ["0.034", "0.0042", "0.10"]);
        let narrow = [(1.0312, 1.0318), (0.031, 0.034), (1.0, 1.0), (1.0, 1.000_000_1)];
        let text = narrow.map(|ends| ratio_interval(Some(ends)));
        assert_eq!(text, ["[1.031, 1.032]", "[0.031, 0.034]", "[1.00, 1.00]", "[1.00, 1.00]"]);
    }

    #[test]
    fn shares_are_percentages() {
        assert_eq!([0.05, 0.125, -0.000_01].map(percent), ["5 %", "12.5 %", "0 %"]);
        assert_eq!([0.0, 0.032, 0.0999, 0.83].map(share), ["0 %", "3.2 %", "10 %", "83 %"]);
    }

    #[test]
    fn numbers_have_four_digits_that_count() {
        let numbers = [0.0, 134.0, 14_790.4, 0.011_227, 5.0, -2.5, 0.353_553_391].map(number);
        assert_eq!(numbers, ["0", "134", "14790", "0.01123", "5", "-2.5", "0.3536"]);
        assert_eq!([quantity(1.6187, "s"), quantity(3.0, "faults")], ["1.62s", "3 faults"]);
        let p_values = [2.0 / 35.0, 0.05, 1e-6, 1.0].map(p_value);
        assert_eq!(p_values, ["0.0571", "0.05", "below 0.0001", "1"]);
        assert_eq!([1, 999, 4814, 1_234_567].map(grouped), ["1", "999", "4,814", "1,234,567"]);
    }

    #[test]
    fn several_things_are_named() {
        assert_eq!([counted(1, "trial"), counted(2, "trial")], ["1 trial", "2 trials"]);
        assert_eq!(counted(3, "policy"), "3 policies");
        assert_eq!(and(["a", "b", "c"].map(str::to_owned)), "a, b and c");
        assert_eq!([0, 25, 26].map(letter), ["A", "Z", "A1"]);
    }
}
