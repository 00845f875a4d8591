//! The parameters of jobs: numbers with limits, and choices.

use model::units::{format_duration, format_size, parse_duration_ns, parse_size_bytes};

/// A parameter of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it can be.
    pub value: Value,
}

/// What a parameter can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number that can be set.
    Number(Number),
    /// One of these names; the first one unless another is chosen.
    Choice(&'static [&'static str]),
}

/// A number that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// How it is written.
    pub kind: Kind,
    /// Its value if none is given.
    pub default: u64,
    /// The smallest that is allowed.
    pub least: u64,
    /// The largest that is allowed.
    pub most: u64,
}

/// How the value of a parameter is written and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size such as `2M`, kept in bytes.
    Size,
    /// A number.
    Count,
    /// A time such as `100ms`, kept in ns.
    Time,
    /// A fraction such as `0.99`, kept in thousandths.
    Thousandths,
}

impl Param {
    pub(crate) const fn number(
        name: &'static str,
        kind: Kind,
        (default, least, most): (u64, u64, u64),
    ) -> Self {
        Self { name, value: Value::Number(Number { kind, default, least, most }) }
    }

    pub(crate) const fn choice(name: &'static str, names: &'static [&'static str]) -> Self {
        Self { name, value: Value::Choice(names) }
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

    /// A value as it would be typed.
    pub fn format(self, value: u64) -> String {
        match self {
            Self::Size => format_size(value),
            Self::Time => format_duration(value),
            Self::Count => value.to_string(),
            Self::Thousandths => format!("{}", value as f64 / 1000.0),
        }
    }
}
