//! Sizes, durations and counts as typed.

const SIZE_HINT: &str = "write a number and B, K, M, G or T (powers of 1024), such as 512M";
const DURATION_HINT: &str = "write a number and ns, us, ms, s or m, such as 20s";
/// Largest value read; rounded to 1T it is still readable.
const LARGEST: u64 = (1 << 63) - (1 << 40);

const SIZES: [(&str, u64); 4] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];
const DURATIONS: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];

/// Reads a size such as `512M`, `1.5G`, `4096`. Fails for other texts, and above 63 bits.
pub fn parse_size_bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let unit = unit.to_ascii_uppercase();
    let unit = unit.strip_suffix("IB").or_else(|| unit.strip_suffix('B')).unwrap_or(&unit);
    let factor = if unit.is_empty() { Some(1) } else { factor(&SIZES, unit) };
    let value = factor.and_then(|factor| scale(number, factor));
    value.ok_or_else(|| format!("{text:?} is not a size: {SIZE_HINT}"))
}

/// Reads a duration such as `20s`, `300ms`, `2m`, or in bare seconds. Fails for other texts.
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "ns" => Some(1),
        "µs" => Some(1_000),
        "" => Some(1_000_000_000),
        "m" | "min" => Some(60_000_000_000),
        unit => factor(&DURATIONS, unit),
    };
    let value = factor.and_then(|factor| scale(number, factor));
    value.ok_or_else(|| format!("{text:?} is not a duration: {DURATION_HINT}"))
}

fn factor(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// Units of time as suffixes of names, in ns.
pub const TIME_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Splits `delay_us` into `delay`, `us` and 1000 (ns). `None` for other names, such as `per_s`.
pub fn split_time_name(name: &str) -> Option<(&str, &'static str, f64)> {
    TIME_UNITS.into_iter().find_map(|(unit, ns)| {
        let stem = name.strip_suffix(unit)?.strip_suffix('_')?;
        (!stem.ends_with("per")).then_some((stem, unit, ns))
    })
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// `number × factor` as a whole number below 2^63.
fn scale(number: &str, factor: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).filter(|value| *value <= LARGEST);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (0.0..=LARGEST as f64).contains(&value).then_some(value.round() as u64)
}

/// Formats a size with the largest unit that keeps at least one whole digit: `512M`, `1.5G`.
pub fn format_size(size_bytes: u64) -> String {
    match SIZES.iter().find(|(_, factor)| size_bytes >= *factor) {
        Some((unit, factor)) => format!("{}{unit}", trimmed(size_bytes as f64 / *factor as f64)),
        None => format!("{size_bytes}B"),
    }
}

/// Formats a size so that [`parse_size_bytes`] reads the same: `24M`, `1536K`, `4097B`.
pub fn exact_size(size_bytes: u64) -> String {
    exactly(size_bytes, &SIZES, "B")
}

/// Formats a duration exactly, like [`exact_size`]: `2s`, `1500ms`, `7ns`.
pub fn exact_duration(duration_ns: u64) -> String {
    exactly(duration_ns, &DURATIONS, "ns")
}

fn exactly(value: u64, units: &[(&str, u64)], smallest: &str) -> String {
    match units.iter().find(|(_, factor)| value > 0 && value.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{unit}", value / factor),
        None => format!("{value}{smallest}"),
    }
}

/// A share that was set, with at most one decimal: `5 %`, `12.5 %`.
pub fn format_percent(share: f64) -> String {
    // Adding 0 turns -0 into 0.
    format!("{} %", (1000.0 * share).round() / 10.0 + 0.0)
}

/// Formats a duration with three significant digits: `7.42ms`, `12.0s`, `250ns`.
pub fn format_duration(duration_ns: u64) -> String {
    let Some((unit, factor)) = DURATIONS.iter().find(|(_, factor)| duration_ns >= *factor) else {
        return format!("{duration_ns}ns");
    };
    let value = duration_ns as f64 / *factor as f64;
    let digits = if value >= 99.95 { 0 } else { 1 + usize::from(value < 9.995) };
    format!("{value:.digits$}{unit}")
}

/// Formats a time in ns with about three digits, fractions too: a touch may take less than 1 ns.
pub fn format_duration_ns(time_ns: f64) -> String {
    match time_ns {
        tiny if 0.0 < tiny && tiny < 0.0995 => {
            let digits = 2 - tiny.log10().floor() as i32;
            format!("{tiny:.*}ns", digits.clamp(0, 12) as usize)
        }
        few if few < 9.995 => format!("{few:.2}ns"),
        some if some < 99.95 => format!("{some:.1}ns"),
        many => format_duration(many.round() as u64),
    }
}

/// Formats a measured duration in ns with three digits: `7.42ms`, `-250ns`, below 100 ns `0.53ns`.
pub fn measured_duration(duration_ns: f64) -> String {
    let (sign, size_ns) = if duration_ns < 0.0 { ("-", -duration_ns) } else { ("", duration_ns) };
    let text = match size_ns {
        few if few < 99.95 && few.fract() != 0.0 => format_duration_ns(few),
        many => format_duration(many.round() as u64),
    };
    format!("{sign}{text}")
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_is_printed_as_one_that_can_be_read() {
        for value in [LARGEST, LARGEST - 1, LARGEST - (1 << 39)] {
            assert!(parse_size_bytes(&format_size(value)).is_ok(), "{value}");
            assert!(parse_duration_ns(&format_duration(value)).is_ok(), "{value}");
        }
        assert!(parse_size_bytes(&(LARGEST + 1).to_string()).is_err());
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_size_bytes("512M"), Ok(512 << 20));
        assert_eq!(parse_size_bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_size_bytes("4096"), Ok(4096));
        for bad in ["", "M", "-1M", "12Q", "1e3", "99999999T", "1..5M"] {
            assert!(parse_size_bytes(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration_ns("20s"), Ok(20_000_000_000));
        assert_eq!(parse_duration_ns("300ms"), Ok(300_000_000));
        assert_eq!(parse_duration_ns("0.5"), Ok(500_000_000));
        assert!(parse_duration_ns("5 days").is_err());
    }

    #[test]
    fn formats_keep_three_digits() {
        assert_eq!(format_size(512 << 20), "512M");
        assert_eq!(format_size(3 << 29), "1.5G");
        assert_eq!(format_duration(7_420_000), "7.42ms");
        assert_eq!(format_duration(12_000_000_000), "12.0s");
        assert_eq!(format_duration(250), "250ns");
    }

    #[test]
    fn exact_texts_have_no_more_digits_than_needed() {
        for (size_bytes, text) in [(0, "0B"), (24 << 20, "24M"), (1536 << 10, "1536K"), (1, "1B")] {
            assert_eq!(exact_size(size_bytes), text);
        }
        assert_eq!(exact_duration(1_500_000_000), "1500ms");
    }

    proptest::proptest! {
        #[test]
        fn exact_texts_are_read_back(value in 0u64..1 << 62) {
            assert_eq!(parse_size_bytes(&exact_size(value)), Ok(value));
            assert_eq!(parse_duration_ns(&exact_duration(value)), Ok(value));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,20}") {
            let _ = parse_size_bytes(&text);
            let _ = parse_duration_ns(&text);
        }
    }
}
