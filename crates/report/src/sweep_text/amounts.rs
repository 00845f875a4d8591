//! Levels and costs in words.

use analysis::sweep::Curve;
use model::units::{exact_duration, exact_size, format_duration};

use crate::experiment_text::figure;

/// Longest exact text of a level.
const LONGEST: usize = 7;
/// Digits of a number that count.
const DIGITS: i32 = 4;

/// The units of a curve.
#[derive(Clone, Debug)]
pub(crate) struct Amounts<'a> {
    level_unit: &'a str,
    cost_unit: &'a str,
    /// What was varied.
    pub(super) parameter: &'a str,
}

impl<'a> Amounts<'a> {
    pub(crate) fn of(curve: &'a Curve) -> Self {
        Self {
            level_unit: &curve.level_unit,
            cost_unit: &curve.cost_unit,
            parameter: &curve.parameter,
        }
    }

    pub(super) fn of_units(level_unit: &'a str, cost_unit: &'a str, parameter: &'a str) -> Self {
        Self { level_unit, cost_unit, parameter }
    }

    /// A level with its unit, as it is typed if that is short.
    pub(crate) fn level(&self, level: f64) -> String {
        match self.level_unit {
            "bytes" => short(exact_size(level.max(0.0).round() as u64), || size(level)),
            "ns" => {
                let ns = level.max(0.0).round() as u64;
                short(exact_duration(ns), || format_duration(ns))
            }
            "" => plain(level),
            unit => format!("{} {unit}", plain(level)),
        }
    }

    /// A level without a unit that its heading has.
    pub(super) fn bare_level(&self, level: f64) -> String {
        match self.level_unit {
            "bytes" | "ns" => self.level(level),
            _ => plain(level),
        }
    }

    /// What stands above levels.
    pub(super) fn level_heading(&self) -> String {
        match self.level_unit {
            "bytes" | "ns" | "" => "level".to_owned(),
            unit => unit.to_owned(),
        }
    }

    /// A cost with its unit.
    pub(crate) fn cost(&self, cost: f64) -> String {
        match self.cost_unit {
            "ns" => time(cost),
            "us" => time(cost * 1e3),
            "ms" => time(cost * 1e6),
            "s" => time(cost * 1e9),
            "" => figure(cost),
            unit => format!("{} {unit}", figure(cost)),
        }
    }
}

fn short(exact: String, other: impl FnOnce() -> String) -> String {
    if exact.len() <= LONGEST { exact } else { other() }
}

/// A size with four digits.
fn size(size_bytes: f64) -> String {
    const UNITS: [(&str, f64); 4] =
        [("T", 1_099_511_627_776.0), ("G", 1_073_741_824.0), ("M", 1_048_576.0), ("K", 1024.0)];
    match UNITS.iter().find(|(_, factor)| size_bytes >= *factor) {
        Some((unit, factor)) => format!("{}{unit}", plain(size_bytes / factor)),
        None => format!("{}B", plain(size_bytes)),
    }
}

/// A time in ns, also one below 1, with three digits.
pub(super) fn time(time_ns: f64) -> String {
    if time_ns.abs() >= 999.5 {
        let sign = if time_ns < 0.0 { "-" } else { "" };
        return format!("{sign}{}", format_duration(time_ns.abs().round() as u64));
    }
    let digits = if time_ns == 0.0 { 0 } else { 2 - time_ns.abs().log10().floor() as i32 };
    format!("{time_ns:.*}ns", digits.clamp(0, 5) as usize)
}

/// A number with at most four digits that count, and none behind the point that are 0; a whole
/// number has all of its digits.
pub(super) fn plain(number: f64) -> String {
    if number == 0.0 || !number.is_finite() || number.fract() == 0.0 && number.abs() < 1e15 {
        return number.to_string();
    }
    let digits = DIGITS - 1 - number.abs().log10().floor() as i32;
    let text = format!("{number:.*}", digits.clamp(0, 9) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A count with four digits that count: `8665839`, `1.250e12`, `0.0125`.
pub(super) fn count(count: f64) -> String {
    match count.abs() {
        large if large >= 1e10 => format!("{count:.3e}"),
        large if large >= 1000.0 => format!("{count:.0}"),
        _ => plain(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_costs_have_units_people_read() {
        let bytes = Amounts::of_units("bytes", "ns", "touch.footprint");
        assert_eq!(bytes.level(25_165_824.0), "24M");
        assert_eq!(bytes.level(1_052_672.0), "1028K");
        assert_eq!(bytes.level(18_141_941_858.0), "16.9G");
        assert_eq!(bytes.cost(0.53), "0.530ns");
        assert_eq!(bytes.cost(273_400.0), "273us");
        let table = Amounts::of_units("MB", "s", "virtual_mb");
        assert_eq!(table.level(16.0), "16 MB");
        assert_eq!(table.cost(1.6187), "1.62s");
        let number = Amounts::of_units("", "", "load.intensity");
        assert_eq!(number.level(0.353_553_391), "0.3536");
        assert_eq!(number.cost(0.004), "0.004000");
        assert_eq!((count(8_665_839.0), count(0.0125)), ("8665839".into(), "0.0125".into()));
    }
}
