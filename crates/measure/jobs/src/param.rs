//! The parameters of jobs: numbers with limits, choices, and texts.

use model::units::{format_duration, format_size, parse_duration_ns, parse_size_bytes};

/// A parameter of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name.
    pub name: &'static str,
    /// Permitted values.
    pub value: Value,
}

/// The permitted values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(Number),
    /// One of these names; the first is the default.
    Choice(&'static [&'static str]),
    /// Any text without NUL; empty by default.
    Text,
}

/// The range and default of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Notation.
    pub kind: Kind,
    /// Default value.
    pub default: u64,
    /// Smallest permitted value.
    pub least: u64,
    /// Largest permitted value.
    pub most: u64,
}

/// How the value of a parameter is written and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size such as `2M`, stored in bytes.
    Size,
    /// A number.
    Count,
    /// A duration such as `100ms`, stored in ns.
    Time,
    /// A fraction such as `0.99`, stored in thousandths.
    Thousandths,
}

impl Param {
    /// A number with default, least and largest value.
    pub const fn number(
        name: &'static str,
        kind: Kind,
        (default, least, most): (u64, u64, u64),
    ) -> Self {
        Self { name, value: Value::Number(Number { kind, default, least, most }) }
    }

    /// One of these names; the first is the default.
    pub const fn choice(name: &'static str, names: &'static [&'static str]) -> Self {
        Self { name, value: Value::Choice(names) }
    }

    /// Any text without NUL.
    pub const fn text(name: &'static str) -> Self {
        Self { name, value: Value::Text }
    }
}

impl Kind {
    /// Reads a value. Fails when the text is not of this kind, with what is expected.
    pub fn parse(self, text: &str) -> Result<u64, String> {
        match self {
            Self::Size => parse_size_bytes(text),
            Self::Time => parse_duration_ns(text),
            Self::Count => text.parse().map_err(|_| format!("{text:?} is not a whole number")),
            Self::Thousandths => match text.parse::<f64>() {
                Ok(value) if value.is_finite() && (0.0..1e12).contains(&value) => {
                    Ok((value * 1000.0).round() as u64)
                }
                _ => Err(format!("{text:?} is not a number such as 0.99")),
            },
        }
    }

    /// The value as a user would type it.
    pub fn format(self, value: u64) -> String {
        match self {
            Self::Size => format_size(value),
            Self::Time => format_duration(value),
            Self::Count => value.to_string(),
            Self::Thousandths => format!("{}", value as f64 / 1000.0),
        }
    }
}
