//! Quantities, ratios and their intervals as text.

use analysis::attribution::{Attribution, Figure};
use render::format::{self, duration, grouped, signed};

use crate::comparison::usable;

pub(crate) struct Words {
    /// `page faults`, `CPU time`.
    pub(super) noun: String,
    unit: String,
    more_is_worse: bool,
}

impl Words {
    pub(crate) fn new(attribution: &Attribution) -> Words {
        let unit = attribution.measured.unit.as_str();
        Words {
            noun: noun(&attribution.response, unit),
            unit: unit.to_owned(),
            more_is_worse: !attribution.measured.more_is_better(),
        }
    }

    pub(crate) fn quantity(&self, value: f64) -> String {
        let amount = self.amount(value);
        match self.unit.as_str() {
            "ns" => amount,
            "faults" | "" => format!("{amount} {}", self.noun),
            unit => format!("{amount} {unit}"),
        }
    }

    /// As `quantity`, without the unit.
    pub(crate) fn amount(&self, value: f64) -> String {
        self.amount_like(value, value)
    }

    fn amount_like(&self, value: f64, model: f64) -> String {
        if self.unit == "ns" { duration(value.trunc()) } else { number_like(value, model) }
    }

    pub(super) fn price(&self, value: f64) -> String {
        let is_time = matches!(self.unit.as_str(), "s" | "ms" | "us");
        format::quantity(value, if is_time { &self.unit } else { "ns" })
    }

    pub(super) fn difference(&self, value: f64) -> String {
        signed(self.amount(value))
    }

    /// A level costs time, but gives a rate.
    pub(super) fn verb(&self) -> &'static str {
        if self.more_is_worse { "costs" } else { "gives" }
    }

    pub(super) fn is_loss(&self, difference: f64) -> bool {
        (difference > 0.0) == self.more_is_worse
    }

    pub(super) fn change(&self, difference: f64) -> &'static str {
        if self.is_loss(difference) { "loss" } else { "gain" }
    }

    pub(super) fn difference_with_interval(&self, figure: &Figure) -> String {
        let Some((low, high)) = figure.interval else { return self.difference(figure.value) };
        // A value near 0 has no more decimals than its interval supports.
        let model = figure.value.abs().max((high - low) / 2.0);
        let amount = |value| signed(self.amount_like(value, model));
        format!("{} {}", amount(figure.value), format::interval(low, high, amount))
    }
}

/// The name of a response without its unit, unless that is its noun (`page_faults`).
pub(super) fn noun(response: &str, unit: &str) -> String {
    let bare = match unit {
        "faults" => response,
        unit => response.strip_suffix(unit).and_then(|r| r.strip_suffix('_')).unwrap_or(response),
    };
    match bare {
        "cpu" => "CPU time".to_owned(),
        other => other.replace('_', " "),
    }
}

/// A number with grouped thousands and the decimals that give `model` three significant digits.
pub(super) fn number_like(value: f64, model: f64) -> String {
    let decimals = match model.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 || size == 0.0 => 2,
        size if size >= 0.099_95 => 3,
        _ => 4,
    };
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_zero = text.bytes().all(|byte| b"0.".contains(&byte));
    let sign = if value < 0.0 && !is_zero { "-" } else { "" };
    format!("{sign}{}{rest}", whole.parse().map_or_else(|_| whole.to_owned(), grouped))
}

/// Whether an effect differs significantly from none.
pub(super) fn counts(figure: &Figure, none: f64) -> bool {
    figure.interval.is_none_or(|(low, high)| none < low || none > high)
}

/// Two decimals, or three near 1.
pub(super) fn ratio(value: f64) -> String {
    ratio_like(value, value)
}

/// `2.96 times [2.89, 3.03]`.
pub(super) fn times(figure: &Figure) -> String {
    format!("{} times{}", ratio(figure.value), interval_of_ratio(figure))
}

/// `, 2.96 times`, unless there was nothing before.
pub(super) fn times_of(before: f64, after: f64) -> String {
    if before > 0.0 { format!(", {} times", ratio(after / before)) } else { String::new() }
}

/// The interval of a ratio after a blank, `–` if it is too wide, or nothing.
pub(super) fn interval_of_ratio(figure: &Figure) -> String {
    let end = |end| ratio_like(end, figure.value);
    let text = |(low, high)| match usable(low, high) {
        Some((low, high)) => format!(" {}", format::interval(low, high, end)),
        None => " –".to_owned(),
    };
    figure.interval.map_or_else(String::new, text)
}

fn ratio_like(value: f64, model: f64) -> String {
    let decimals = if (model - 1.0).abs() < 0.05 { 3 } else { 2 };
    format!("{value:.decimals$}")
}

pub(super) fn percent(value: f64) -> String {
    // Avoids "-0.0".
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
            .map(|value| number_like(value, value))
            .collect();
        assert_eq!(written, ["4,814", "65.8", "-727", "0.00", "0.0123", "1,234,567", "0.0000"]);
    }

    #[test]
    fn ratios_near_one_have_a_third_decimal() {
        let figure = |value| Figure { value, interval: Some((0.9547, 2.0)), f: None, p: None };
        let with_interval = |it: Figure| ratio(it.value) + &interval_of_ratio(&it);
        assert_eq!(with_interval(figure(0.97369)), "0.974 [0.955, 2.000]");
        assert_eq!(with_interval(figure(2.9632)), "2.96 [0.95, 2.00]");
    }

    #[test]
    fn names_become_nouns() {
        assert_eq!(noun("cpu_s", "s"), "CPU time");
        assert_eq!(noun("page_faults", "faults"), "page faults");
        assert_eq!(noun("elapsed_ns", "ns"), "elapsed");
    }
}
