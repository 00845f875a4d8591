//! How quantities, ratios and their intervals are written.

use analysis::attribution::{Attribution, Figure};
use model::units::format_duration;

use crate::comparison::usable;

/// A response in words: what it is called and how its quantities are written.
pub(super) struct Words {
    /// `page faults`, `CPU time`.
    pub(super) noun: String,
    unit: String,
    /// Whether more of it is a loss.
    more_is_worse: bool,
}

impl Words {
    pub(super) fn of(attribution: &Attribution) -> Words {
        let unit = attribution.measured.unit.as_str();
        Words {
            noun: noun(&attribution.response, unit),
            unit: unit.to_owned(),
            more_is_worse: !attribution.measured.more_is_better,
        }
    }

    /// `4,814 page faults`, `65.8 s`, `12.0ms`.
    pub(super) fn quantity(&self, value: f64) -> String {
        let amount = self.amount(value);
        match self.unit.as_str() {
            "ns" => amount,
            "faults" | "" => format!("{amount} {}", self.noun),
            unit => format!("{amount} {unit}"),
        }
    }

    /// As `quantity`, without the unit where a table or sentence has it already.
    pub(super) fn amount(&self, value: f64) -> String {
        self.amount_like(value, value)
    }

    /// As `amount`, with the decimals of another amount.
    fn amount_like(&self, value: f64, model: f64) -> String {
        match self.unit.as_str() {
            "ns" if value <= -0.5 => format!("-{}", format_duration(-value as u64)),
            "ns" => format_duration(value as u64),
            _ => number_like(value, model),
        }
    }

    /// What one count of something costs, in the unit of time that suits it.
    pub(super) fn price(&self, value: f64) -> String {
        let ns = match self.unit.as_str() {
            "s" => value * 1e9,
            "ms" => value * 1e6,
            "us" => value * 1e3,
            _ => value,
        };
        let (size, unit) = match ns.abs() {
            size if size >= 1e9 => (ns / 1e9, "s"),
            size if size >= 1e6 => (ns / 1e6, "ms"),
            size if size >= 1e3 => (ns / 1e3, "us"),
            _ => (ns, "ns"),
        };
        let text = number(size);
        let short = match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.'),
            false => &text,
        };
        format!("{short} {unit}")
    }

    /// With its sign, as a difference.
    pub(super) fn difference(&self, value: f64) -> String {
        signed(self.amount(value))
    }

    /// What a level does with the response: it costs time, but gives a rate.
    pub(super) fn verb(&self) -> &'static str {
        if self.more_is_worse { "costs" } else { "gives" }
    }

    /// Whether a change by this much is for the worse.
    pub(super) fn is_loss(&self, difference: f64) -> bool {
        (difference > 0.0) == self.more_is_worse
    }

    /// `loss` or `gain`.
    pub(super) fn change(&self, difference: f64) -> &'static str {
        if self.is_loss(difference) { "loss" } else { "gain" }
    }

    /// A difference and its interval.
    pub(super) fn difference_with_interval(&self, figure: &Figure) -> String {
        let Some((low, high)) = figure.interval else { return self.difference(figure.value) };
        // A value near 0 has no more decimals than its interval is worth.
        let model = figure.value.abs().max((high - low) / 2.0);
        let amount = |value| signed(self.amount_like(value, model));
        format!("{} [{}, {}]", amount(figure.value), amount(low), amount(high))
    }
}

/// With a sign, whichever it is.
fn signed(amount: String) -> String {
    if amount.starts_with('-') { amount } else { format!("+{amount}") }
}

/// A response's name as a noun: without its unit, with blanks.
pub(super) fn noun(response: &str, unit: &str) -> String {
    // "page_faults" is a noun with its unit; "cpu_s" is not.
    let bare = match unit {
        "faults" => response,
        unit => response.strip_suffix(unit).and_then(|r| r.strip_suffix('_')).unwrap_or(response),
    };
    match bare {
        "cpu" => "CPU time".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Three significant digits at least, all digits before the point, thousands apart.
pub(super) fn number(value: f64) -> String {
    number_like(value, value)
}

/// As `number`, with the decimals of another number.
fn number_like(value: f64, model: f64) -> String {
    let decimals = match model.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 || size == 0.0 => 2,
        size if size >= 0.099_95 => 3,
        _ => 4,
    };
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign =
        if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) { "-" } else { "" };
    format!("{sign}{grouped}{rest}")
}

/// Two decimals, or three where a ratio is so near 1 that they matter.
pub(super) fn ratio(value: f64) -> String {
    ratio_like(value, value)
}

/// A ratio and its interval, with equal decimals.
pub(super) fn ratio_with_interval(figure: &Figure) -> String {
    ratio(figure.value) + &interval_of_ratio(figure)
}

/// `2.96 times [2.89, 3.03]`.
pub(super) fn times(figure: &Figure) -> String {
    format!("{} times{}", ratio(figure.value), interval_of_ratio(figure))
}

/// The interval of a ratio with the blank before it, `–` if it says nothing, or nothing.
pub(super) fn interval_of_ratio(figure: &Figure) -> String {
    let end = |end| ratio_like(end, figure.value);
    let text = |(low, high)| match usable(low, high) {
        Some((low, high)) => format!(" {}", render::format::interval(low, high, end)),
        None => " –".to_owned(),
    };
    figure.interval.map_or_else(String::new, text)
}

fn ratio_like(value: f64, model: f64) -> String {
    let decimals = if (model - 1.0).abs() < 0.05 { 3 } else { 2 };
    format!("{value:.decimals$}")
}

/// A probability, never 0.
pub(super) fn probability(p: f64) -> String {
    match p {
        p if p < 1e-4 => "p < 0.0001".to_owned(),
        p if p < 0.0995 => format!("p = {p:.4}"),
        p => format!("p = {p:.2}"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `87.0 %`.
pub(super) fn percent(value: f64) -> String {
    // Not "-0.0".
    let value = if value.abs() < 0.05 { 0.0 } else { value };
    format!("{value:.1} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_rounded() {
        let written: Vec<String> = [4814.33, 65.75, -727.3, 0.0, 0.012_34, 1_234_567.0, -0.00001]
            .into_iter()
            .map(number)
            .collect();
        assert_eq!(written, ["4,814", "65.8", "-727", "0.00", "0.0123", "1,234,567", "0.0000"]);
    }

    #[test]
    fn ratios_near_one_have_a_third_decimal() {
        let figure = |value| Figure { value, interval: Some((0.9547, 2.0)), f: None, p: None };
        assert_eq!(ratio_with_interval(&figure(0.97369)), "0.974 [0.955, 2.000]");
        assert_eq!(ratio_with_interval(&figure(2.9632)), "2.96 [0.95, 2.00]");
    }

    #[test]
    fn names_become_nouns() {
        assert_eq!(noun("cpu_s", "s"), "CPU time");
        assert_eq!(noun("page_faults", "faults"), "page faults");
        assert_eq!(noun("elapsed_ns", "ns"), "elapsed");
    }
}
